//! The `process` interface, served by the process capability.

use probehost_capability::process as cap;
use wasmtime::component::Resource;

use super::bindings::probehost::plugin::process as wit;
use crate::state::State;

/// Most programs that a run starts.
const MAX_CHILDREN: u32 = 4;

impl wit::Host for State {
    async fn start(&mut self, command: String) -> Result<Resource<cap::Child>, wit::Error> {
        let Some(granted) = &self.granted else {
            let message = "nothing is granted while a plugin describes itself or plans; start \
                           programs in check";
            return Err(wit::Error { kind: wit::ErrorKind::Denied, message: message.to_owned() });
        };
        if self.children >= MAX_CHILDREN {
            let message = format!("a run starts at most {MAX_CHILDREN} programs");
            return Err(wit::Error { kind: wit::ErrorKind::Denied, message });
        }
        let child = granted.capabilities.processes().start(&granted.run, &command);
        let child = child.map_err(error)?;
        self.children += 1;
        self.table.push(child).map_err(|error| own_fault(&error))
    }
}

impl wit::HostChild for State {
    async fn write(
        &mut self,
        child: Resource<cap::Child>,
        data: Vec<u8>,
    ) -> Result<(), wit::Error> {
        self.compute.call();
        let answer = match self.table.get_mut(&child) {
            Ok(child) => child.write(&data).await.map_err(error),
            Err(error) => Err(own_fault(&error)),
        };
        self.served(answer)
    }

    async fn read_line(
        &mut self,
        child: Resource<cap::Child>,
        limit: u32,
    ) -> Result<Option<Vec<u8>>, wit::Error> {
        self.compute.call();
        let answer = match self.table.get_mut(&child) {
            Ok(child) => child.read_line(limit).await.map_err(error),
            Err(error) => Err(own_fault(&error)),
        };
        self.served(answer)
    }

    async fn read(
        &mut self,
        child: Resource<cap::Child>,
        limit: u32,
    ) -> Result<Option<Vec<u8>>, wit::Error> {
        self.compute.call();
        let answer = match self.table.get_mut(&child) {
            Ok(child) => child.read(limit).await.map_err(error),
            Err(error) => Err(own_fault(&error)),
        };
        self.served(answer)
    }

    async fn close_input(&mut self, child: Resource<cap::Child>) {
        if let Ok(child) = self.table.get_mut(&child) {
            child.close_input();
        }
    }

    async fn wait(&mut self, child: Resource<cap::Child>) -> Result<wit::Exit, wit::Error> {
        self.compute.call();
        let answer = match self.table.get_mut(&child) {
            Ok(child) => child.wait().await.map_err(error),
            Err(error) => Err(own_fault(&error)),
        };
        let cap::Exit { code, signal } = self.served(answer)?;
        Ok(wit::Exit { code, signal })
    }

    async fn drop(&mut self, child: Resource<cap::Child>) -> wasmtime::Result<()> {
        // Dropping it kills the program.
        self.table.delete(child)?;
        Ok(())
    }
}

impl State {
    /// A call has returned, maybe because the deadline came.
    fn served<T>(&mut self, answer: Result<T, wit::Error>) -> Result<T, wit::Error> {
        self.compute.returned();
        if matches!(&answer, Err(error) if error.kind == wit::ErrorKind::Timeout) {
            self.cut_at_deadline();
        }
        answer
    }
}

fn error(error: cap::Error) -> wit::Error {
    let cap::Error { kind, message } = error;
    let kind = match kind {
        cap::ErrorKind::Denied => wit::ErrorKind::Denied,
        cap::ErrorKind::Unknown => wit::ErrorKind::Unknown,
        cap::ErrorKind::Start => wit::ErrorKind::Start,
        cap::ErrorKind::Ended => wit::ErrorKind::Ended,
        cap::ErrorKind::Timeout => wit::ErrorKind::Timeout,
        cap::ErrorKind::TooLarge => wit::ErrorKind::TooLarge,
        cap::ErrorKind::Host => wit::ErrorKind::Host,
    };
    wit::Error { kind, message }
}

/// The table of handles refused.
fn own_fault(error: &wasmtime::component::ResourceTableError) -> wit::Error {
    wit::Error {
        kind: wit::ErrorKind::Host,
        message: format!("no handle for the program: {error}"),
    }
}
