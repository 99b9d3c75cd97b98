//! Tables of comma-separated values.

/// A table of comma-separated values.
pub(super) fn written(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(vec![]);
    let _ = writer.write_record(columns);
    for row in rows {
        let _ = writer.write_record(row);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Six digits behind the point, and no more of them than there are.
pub(super) fn number(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}
