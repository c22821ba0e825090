//! `[server]`: where the API is served, and with which certificate.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use crate::file_path::file_path;
use crate::problem::Problem;
use crate::settings::{Server, ServerTls};
use crate::walk::{Item, KeyPath, Reader, Section, section};

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9640);

pub(crate) fn read(reader: &mut Reader<'_>, item: Option<Item<'_>>, folder: &Path) -> Server {
    let mut section = section(reader, item, "server");
    let listen = section.take("listen").and_then(|item| {
        let path = KeyPath::Key(&section.path, "listen");
        let text = reader.string(&item, path)?;
        let address = text.parse::<SocketAddr>().ok();
        if address.is_none() {
            reader.report(&item.span(), path, Problem::BadAddress);
        }
        address
    });
    let tls = section
        .take("tls")
        .and_then(|item| tls(reader, item, KeyPath::Key(&section.path, "tls"), folder));
    section.finish(reader);
    Server { listen: listen.unwrap_or(DEFAULT_LISTEN), tls }
}

/// Both files, or none: one alone is no use.
fn tls(
    reader: &mut Reader<'_>,
    item: Item<'_>,
    path: KeyPath<'_>,
    folder: &Path,
) -> Option<ServerTls> {
    let span = item.span();
    let mut section = Section::new(path, reader.table(item, path, None)?);
    let mut file = |key: &'static str, example: &'static str| {
        let Some(item) = section.take(key) else {
            reader.report(&span, path, Problem::MissingKey { key, example });
            return None;
        };
        file_path(reader, &item, KeyPath::Key(&path, key), folder)
    };
    let certificate = file("certificate", "certificate = \"probehost.pem\"");
    let key = file("key", "key = \"probehost-key.pem\"");
    section.finish(reader);
    Some(ServerTls { certificate: certificate?, key: key? })
}
