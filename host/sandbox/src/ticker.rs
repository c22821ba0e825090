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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use wasmtime::Engine;

    use super::*;

    /// S8: no thread outlives what it is for.
    #[test]
    fn it_ends_with_its_engine() {
        let engine = Engine::default();
        let ticker = Ticker::start(engine.weak()).unwrap();
        drop(engine);
        let began = Instant::now();
        while !ticker.thread.as_ref().unwrap().is_finished() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "the thread goes on without an engine"
            );
            std::thread::sleep(TICK);
        }
    }

    /// S8: dropping it waits for the thread, so the engine has no other holder afterwards.
    #[test]
    fn dropping_it_joins_the_thread() {
        let engine = Engine::default();
        drop(Ticker::start(engine.weak()).unwrap());
        let weak = engine.weak();
        drop(engine);
        assert!(weak.upgrade().is_none());
    }
}
