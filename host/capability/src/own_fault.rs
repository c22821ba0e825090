//! Faults of this machine, which are none of what is probed.

use std::io;

/// Whether an error means that this machine lacks what a call takes.
pub(crate) fn is_own_fault(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EMFILE
                | libc::ENFILE
                | libc::ENOBUFS
                | libc::ENOMEM
                | libc::EADDRNOTAVAIL
                | libc::EPERM
                | libc::EACCES
        )
    )
}
