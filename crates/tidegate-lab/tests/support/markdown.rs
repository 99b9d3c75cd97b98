//! Tables of Markdown pages, as they are read.

/// A table: the cells of its header and of its rows.
#[derive(Debug)]
pub struct Table {
    header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Whether its columns are these.
    pub fn has(&self, columns: &[&str]) -> bool {
        self.header == columns
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// Whether its first columns are these.
    pub fn begins_with(&self, columns: &[&str]) -> bool {
        self.header.get(..columns.len()).is_some_and(|first| first == columns)
    }
}

/// Every table of `page`, in order.
pub fn tables(page: &str) -> Vec<Table> {
    let mut tables = vec![];
    let mut lines = page.lines();
    while let Some(line) = lines.by_ref().find(|line| line.starts_with('|')) {
        let header = cells(line);
        let rows = lines.by_ref().take_while(|line| line.starts_with('|'));
        // The first is the line below the header.
        tables.push(Table { header, rows: rows.skip(1).map(cells).collect() });
    }
    tables
}

/// The cells of a row, without the marks of code.
pub fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|').map(|cell| cell.trim().replace('`', "")).collect()
}
