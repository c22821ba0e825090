//! HTTP/1.1 requests as they arrived, and responses as they will be sent.

use std::time::Duration;

/// One request, as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, as sent.
    pub method: String,
    /// The request target: the path with its query, or whatever the client put there.
    pub path: String,
    /// The version, such as `HTTP/1.1`.
    pub version: String,
    /// Header names in lower case with their values, in the order of arrival.
    pub headers: Vec<(String, String)>,
    /// The body. Only the bytes that the headers announce belong to it; others are strays.
    pub body: Vec<u8>,
    /// The number of its connection in the order of acceptance, from 0.
    pub connection: usize,
}

/// How a request's body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyLength {
    /// By this many bytes; 0 without a header that says otherwise.
    Bytes(usize),
    /// By chunks.
    Chunked,
}

impl Request {
    /// The first header of this name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Reads a head, from the request line to the empty line. `None`: this is no HTTP/1 request.
    pub(super) fn parse(head: &[u8], connection: usize) -> Option<Self> {
        let text = std::str::from_utf8(head).ok()?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, path, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        let headers = lines.take_while(|line| !line.is_empty()).map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        Some(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            version: version.to_owned(),
            headers: headers.collect::<Option<_>>()?,
            body: Vec::new(),
            connection,
        })
    }

    pub(super) fn body_length(&self) -> BodyLength {
        if self.header("transfer-encoding").is_some() {
            return BodyLength::Chunked;
        }
        let announced = self.header("content-length").and_then(|value| value.parse().ok());
        BodyLength::Bytes(announced.unwrap_or(0))
    }

    pub(super) fn wants_close(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// What an HTTP upstream answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    delay: Duration,
    close: bool,
}

impl Response {
    /// This status, with no headers of its own and an empty body.
    pub fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), delay: Duration::ZERO, close: false }
    }

    /// A redirect to this place.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::new(status).header("location", location)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body. An answer to HEAD announces its length and leaves it out, as HTTP wants.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Waits before the first byte is sent.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Closes the connection after this response.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn delay(&self) -> Duration {
        self.delay
    }

    pub(super) fn closes(&self) -> bool {
        self.close
    }

    /// The bytes of the answer to a request with this method.
    pub(super) fn encode(&self, method: &str) -> Vec<u8> {
        // A reason phrase may be empty; the space before it may not be left out.
        let mut head = format!("HTTP/1.1 {} \r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let named =
            |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let bodiless = self.status < 200 || self.status == 204 || self.status == 304;
        if !bodiless && !named("content-length") && !named("transfer-encoding") {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        if self.close {
            head.push_str("connection: close\r\n");
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        if !bodiless && method != "HEAD" {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_head() {
        let head = b"HEAD /a?b=c HTTP/1.1\r\nHost: x:1\r\nX-Odd:  spaced \r\n\r\n";
        let request = Request::parse(head, 3).expect("a request");
        assert_eq!((request.method.as_str(), request.path.as_str()), ("HEAD", "/a?b=c"));
        assert_eq!(request.header("X-ODD"), Some("spaced"));
        assert_eq!(request.connection, 3);
        assert_eq!(request.body_length(), BodyLength::Bytes(0));
    }

    #[test]
    fn refuses_what_is_no_request() {
        for head in [
            &b"SSH-2.0-x\r\n\r\n"[..],
            b"GET /\r\n\r\n",
            b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
            b"\xff\r\n\r\n",
        ] {
            assert_eq!(Request::parse(head, 0), None, "{head:?}");
        }
    }

    #[test]
    fn an_answer_to_head_announces_its_body_and_leaves_it_out() {
        let response = Response::new(200).body("four");
        assert_eq!(response.encode("HEAD"), b"HTTP/1.1 200 \r\ncontent-length: 4\r\n\r\n");
        assert_eq!(response.encode("GET"), b"HTTP/1.1 200 \r\ncontent-length: 4\r\n\r\nfour");
        assert_eq!(Response::new(304).body("four").encode("GET"), b"HTTP/1.1 304 \r\n\r\n");
    }
}
