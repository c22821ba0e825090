//! A table of text for the terminal.

/// Rows of cells, each column as wide as its widest cell.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let width = cell.chars().count();
                match widths.get_mut(column) {
                    Some(widest) => *widest = width.max(*widest),
                    None => widths.push(width),
                }
            }
        }
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A time span for people: `0.4 s`, `12 s`, `5 min`, `3 h`, `2 d`.
pub(crate) fn span(seconds: f64) -> String {
    match seconds {
        below if below < 10.0 => format!("{below:.1} s"),
        below if below < 120.0 => format!("{below:.0} s"),
        below if below < 7200.0 => format!("{:.0} min", below / 60.0),
        below if below < 172_800.0 => format!("{:.0} h", below / 3600.0),
        long => format!("{:.0} d", long / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["TARGET", "STATUS", ""]);
        table.row(["größer".to_owned(), "healthy".to_owned(), String::new()]);
        table.row(["b".to_owned(), "unknown".to_owned(), "why".to_owned()]);
        let text = "TARGET  STATUS\ngrößer  healthy\nb       unknown  why\n";
        assert_eq!(table.to_string(), text);
    }

    #[test]
    fn spans() {
        let text = [0.04, 9.9, 100.0, 300.0, 7200.0, 864_000.0].map(span);
        assert_eq!(text, ["0.0 s", "9.9 s", "100 s", "5 min", "2 h", "10 d"]);
    }
}
