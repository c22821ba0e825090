//! Server-sent events: the data of each event, as soon as it is whole.

/// The events of a stream that comes in pieces. Comments, names and ids are of no interest, and
/// neither is an event with empty data, by which servers prime a stream.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The line that has not ended.
    line: Vec<u8>,
    /// Whether any line has.
    begun: bool,
    /// The last byte was a carriage return: a line feed would be a part of the same end.
    returned: bool,
    data: Option<String>,
}

impl Events {
    /// The data of the events that end in this piece, in order.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<String> {
        let mut whole = Vec::new();
        for byte in piece {
            let returned = std::mem::take(&mut self.returned);
            // Lines may end with a line feed, a carriage return, or both.
            match byte {
                b'\n' if returned => {}
                b'\n' | b'\r' => {
                    self.returned = *byte == b'\r';
                    whole.extend(self.end_line());
                }
                byte => self.line.push(*byte),
            }
        }
        whole
    }

    /// The data of the last event, which no empty line follows. By the letter it does not count; but
    /// a server that closes right after its answer has answered all the same.
    pub(crate) fn finish(mut self) -> Option<String> {
        let last = self.end_line();
        last.or_else(|| self.event())
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        // A mark of the byte order may come first.
        let first = !std::mem::replace(&mut self.begun, true);
        let line = line.strip_prefix('\u{feff}').filter(|_| first).unwrap_or(&line);
        if line.is_empty() {
            return self.event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            }
        }
        None
    }

    fn event(&mut self) -> Option<String> {
        self.data.take().filter(|data| !data.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M2: what servers write, and what the standard allows.
    #[test]
    fn events_are_found() {
        let rows: [(&str, &[&str]); 10] = [
            ("", &[]),
            ("data: {\"a\":1}\n\n", &["{\"a\":1}"]),
            ("event: message\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", &["1", "2"]),
            ("id: 7\ndata: \n\ndata: 1\n\n", &["1"]),
            ("retry: 3000\nid: x\ndata:\n\nevent: message\nid: y\ndata:1\n\n", &["1"]),
            (": ping\n\ndata: 1\n\n: ping\n\n", &["1"]),
            ("data: {\ndata: \"a\": 1\ndata: }\n\n", &["{\n\"a\": 1\n}"]),
            ("data: 1\rdata: 2\r\r", &["1\n2"]),
            ("data: 1", &["1"]),
            ("\u{feff}data:  1\n\n\n\n", &[" 1"]),
        ];
        for (body, expected) in rows {
            // However it is cut into pieces.
            for size in 1..=body.len().max(1) {
                let mut events = Events::default();
                let pieces = body.as_bytes().chunks(size);
                let mut found: Vec<_> = pieces.flat_map(|piece| events.push(piece)).collect();
                found.extend(events.finish());
                assert_eq!(found, expected, "{body:?} by {size}");
            }
        }
    }

    /// M2: an event is there as soon as its empty line has begun, however that ends.
    #[test]
    fn an_event_is_not_waited_for() {
        for text in ["data: 1\n\n", "data: 1\r\r", "data: 1\r\n\r"] {
            let mut events = Events::default();
            assert_eq!(events.push(text.as_bytes()), ["1"], "{text:?}");
            assert_eq!(events.push(b"\n: more\n"), [""; 0], "{text:?}");
        }
    }
}
