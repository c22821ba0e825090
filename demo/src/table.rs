//! The table of what was started and what probehost should say of it.

use std::fmt::Write as _;

use crate::roster::placed;

/// One line for each member, in columns.
pub(crate) fn render(base_port: u16) -> String {
    let mut rows =
        vec![["TARGET", "URL", "WHAT IT DOES", "WHAT PROBEHOST SAYS"].map(str::to_owned)];
    rows.extend(placed(base_port).map(|(member, port)| {
        let url = format!("{}://127.0.0.1:{port}", member.scheme());
        [member.id.to_owned(), url, member.does.to_owned(), member.expected.to_owned()]
    }));
    let mut widths = [0; 4];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let [id_width, url_width, does_width, _] = widths;
    rows.iter().fold(String::new(), |mut text, [id, url, does, says]| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{id:id_width$}  {url:url_width$}  {does:does_width$}  {says}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let table = render(9701);
        let column = |line: &str, word: &str| line.find(word);
        let mut lines = table.lines();
        let says = lines.next().and_then(|line| column(line, "WHAT PROBEHOST SAYS"));
        assert_eq!(lines.next().and_then(|line| line.rfind("healthy")), says);
        assert_eq!(table.lines().count(), 10);
        assert!(table.contains("  https://127.0.0.1:9708  "));
    }
}
