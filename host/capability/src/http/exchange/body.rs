//! The body of an answer, piece by piece.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use http_body::Body as _;
use hyper::body::Incoming;

use super::super::error::Failure;
use super::super::types::ErrorKind;
use crate::tls::Certificate;

/// How a failure in the answer is put.
const INCOMPLETE: &str = "before its answer was complete";

/// What has to be polled so that bytes come. Dropping it closes the connection.
pub(super) type Connection = Pin<Box<dyn Future<Output = Result<(), hyper::Error>> + Send>>;

/// A body that is yet to be read.
pub(crate) struct Body {
    peer: String,
    certificate: Option<Certificate>,
    /// None: it is closed.
    connection: Option<Connection>,
    /// None: there is no more of it.
    incoming: Option<Incoming>,
    /// Most bytes in all.
    limit: usize,
    /// Bytes that came.
    came: usize,
    /// Those of them that nobody has taken.
    waiting: Bytes,
}

impl Body {
    pub(super) fn new(
        peer: &str,
        connection: Option<Connection>,
        incoming: Incoming,
        limit: usize,
    ) -> Self {
        let incoming = Some(incoming);
        Self { connection, incoming, limit, ..Self::none(peer) }
    }

    /// One that is not wanted.
    pub(super) fn none(peer: &str) -> Self {
        Self {
            peer: peer.to_owned(),
            certificate: None,
            connection: None,
            incoming: None,
            limit: 0,
            came: 0,
            waiting: Bytes::new(),
        }
    }

    /// From a server that showed this.
    pub(super) fn behind(self, certificate: Option<Certificate>) -> Self {
        Self { certificate, ..self }
    }

    pub(in super::super) fn certificate(&self) -> Option<Certificate> {
        self.certificate
    }

    /// Who sends it, for people.
    pub(in super::super) fn peer(&self) -> &str {
        &self.peer
    }

    /// How many bytes came so far.
    pub(in super::super) fn came(&self) -> usize {
        self.came
    }

    /// All that is left of it.
    pub(in super::super) async fn rest(mut self) -> Result<Vec<u8>, Failure> {
        let size = self.incoming.as_ref().map_or(0, |incoming| incoming.size_hint().lower());
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > self.limit {
            return Err(self.too_large().with_certificate(self.certificate));
        }
        let mut bytes = Vec::with_capacity(size);
        while let Some(piece) = self.next(usize::MAX).await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    /// The next bytes, at least one and at most `most`, which is at least 1; none when there are no
    /// more.
    pub(in super::super) async fn next(&mut self, most: usize) -> Result<Option<Bytes>, Failure> {
        while self.waiting.is_empty() {
            match self.frame().await {
                Ok(Some(data)) => self.waiting = data,
                end => {
                    // Whatever it is, nothing comes after it.
                    (self.incoming, self.connection) = (None, None);
                    return end.map_err(|failure| failure.with_certificate(self.certificate));
                }
            }
        }
        Ok(Some(self.waiting.split_to(self.waiting.len().min(most))))
    }

    async fn frame(&mut self) -> Result<Option<Bytes>, Failure> {
        let Self { connection, incoming, peer, .. } = self;
        let Some(incoming) = incoming else { return Ok(None) };
        loop {
            let frame = poll_fn(|cx| {
                // What breaks the connection comes out of the body too.
                if connection.as_mut().is_some_and(|open| open.as_mut().poll(cx).is_ready()) {
                    *connection = None;
                }
                match Pin::new(&mut *incoming).poll_frame(cx) {
                    Poll::Pending if connection.is_none() => Poll::Ready(Some(Err(None))),
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(Some))),
                }
            });
            let frame = match frame.await {
                None => return Ok(None),
                Some(Err(None)) => return Err(Failure::closed(peer, INCOMPLETE)),
                Some(Err(Some(error))) => return Err(Failure::exchange(peer, INCOMPLETE, &error)),
                Some(Ok(frame)) => frame,
            };
            // Trailers are of no interest.
            let Ok(data) = frame.into_data() else { continue };
            self.came += data.len();
            if self.came > self.limit {
                return Err(self.too_large());
            }
            return Ok(Some(data));
        }
    }

    fn too_large(&self) -> Failure {
        let Self { peer, limit, .. } = self;
        Failure::new(
            ErrorKind::TooLarge,
            format_args!("the answer of {peer} has a body of more than {limit} bytes"),
        )
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, limit, came, .. } = self;
        f.debug_struct("Body")
            .field("peer", peer)
            .field("limit", limit)
            .field("came", came)
            .finish_non_exhaustive()
    }
}
