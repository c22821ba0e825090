//! The clock of the engine: a thread that advances its epoch, by which computing guests are stopped.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use wasmtime::EngineWeak;

use crate::options::TICK;

/// Advances an engine's epoch every [`TICK`], from a thread of its own: a runtime whose workers
/// are all busy with guests could not. Dropping it ends the thread and waits for that.
#[derive(Debug)]
pub(crate) struct Ticker {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread. It ends by itself when the engine is gone.
    pub(crate) fn start(engine: EngineWeak) -> std::io::Result<Self> {
        let (stop, stopped) = sync_channel::<()>(0);
        let thread = Builder::new().name("probehost-epoch".into()).spawn(move || {
            while matches!(stopped.recv_timeout(TICK), Err(RecvTimeoutError::Timeout)) {
                match engine.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => return,
                }
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // The thread waits on this channel; without a sender it ends at once.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing that could panic, and nothing is to be done if it did.
            let _ = thread.join();
        }
    }
}
