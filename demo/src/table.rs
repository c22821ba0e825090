//! The table of what was started and what probehost should say of it.

use std::fmt::Write as _;

use crate::managed::{ID, Place, Runtime};
use crate::roster::placed;

/// One line for each member and the managed server, in columns.
pub(crate) fn render(base_port: u16, place: &Place, runtime: &Runtime) -> String {
    let mut rows =
        vec![["TARGET", "URL", "WHAT IT DOES", "WHAT PROBEHOST SAYS"].map(str::to_owned)];
    rows.extend(placed(base_port).map(|(member, port)| {
        let url = format!("{}://127.0.0.1:{port}", member.scheme());
        [member.id.to_owned(), url, member.does.to_owned(), member.expected.to_owned()]
    }));
    let does = match runtime {
        Runtime::Container(_) => "an MCP server in a container, to be killed",
        Runtime::Command(_) => "an MCP server as a process, to be killed",
    };
    let says = "healthy; restarted when it is down";
    rows.push([ID, &place.url(), does, says].map(str::to_owned));
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
        let place = Place { program: "/bin/demo-mcp".into(), dir: "/demo".into(), port: 9710 };
        let table = render(9701, &place, &Runtime::Command(String::new()));
        let column = |line: &str, word: &str| line.find(word);
        let mut lines = table.lines();
        let says = lines.next().and_then(|line| column(line, "WHAT PROBEHOST SAYS"));
        assert_eq!(lines.next().and_then(|line| line.rfind("healthy")), says);
        assert_eq!(table.lines().count(), 11);
        assert!(table.contains("  https://127.0.0.1:9708  "));
        let last = table.lines().last().unwrap();
        assert!(last.starts_with("mcp  ") && last.contains("as a process"), "{last}");
        assert_eq!(last.find("healthy; restarted"), says);
    }
}
