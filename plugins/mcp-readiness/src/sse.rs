//! Server-sent events: the data of each event in a stream that has ended.

/// The data of every event that has some, in order. Comments, names and ids are of no interest, and
/// neither is an event with empty data, by which servers prime a stream.
pub(crate) fn events(body: &str) -> Vec<String> {
    // A mark of the byte order may come first.
    let body = body.strip_prefix('\u{feff}').unwrap_or(body);
    let mut events = Vec::new();
    let mut data: Option<String> = None;
    for line in lines(body) {
        if line.is_empty() {
            events.extend(data.take());
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut data {
                None => data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            }
        }
    }
    // By the letter, an event that is not followed by an empty line does not count. A server that
    // closes right after its answer has answered all the same.
    events.extend(data);
    events.retain(|event| !event.trim().is_empty());
    events
}

/// Lines may end with a line feed, a carriage return, or both.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
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
            assert_eq!(events(body), expected, "{body:?}");
        }
    }
}
