//! Tables as Parquet files, and back.
use std::fs::File;
use std::io;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnDescPtr, Type};
use serde_json::{Value, json};
use tidegate_report::Tidy;
use tidegate_report::tidy::{Column, Values};

/// The key of the metadata that has each column's unit and meaning.
const COLUMNS: &str = "tidegate.columns";
/// The key of the metadata that has the version of the writer.
const VERSION: &str = "tidegate.version";

/// The Parquet file `name` with the columns of `table`.
pub(super) fn file(table: &Tidy, name: &str) -> super::ResultFile {
    super::ResultFile { name: name.into(), bytes: written(table, &[]) }
}

/// `tidy` as a Parquet file in memory; `notes` go into its metadata.
pub(crate) fn written(tidy: &Tidy, notes: &[(&str, String)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), tidy, notes).expect("columns in memory have a schema");
    writer.add(tidy).expect("columns of one length in memory make a file");
    writer.finish().expect("memory takes what is written")
}

/// A file under construction, to which tables of the same columns are added one after the other.
pub(crate) struct Writer<W: std::io::Write + Send> {
    inner: SerializedFileWriter<W>,
}

impl<W: std::io::Write + Send> Writer<W> {
    /// A file in `out` with the columns of `tidy`, whose rows are not added yet.
    pub fn new(out: W, tidy: &Tidy, notes: &[(&str, String)]) -> Result<Writer<W>, ParquetError> {
        let fields = tidy.columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("tidegate").with_fields(fields).build()?;
        let meanings =
            tidy.columns.iter().map(|c| json!({ "name": c.name, "unit": c.unit, "what": c.what }));
        let mut metadata = vec![
            KeyValue::new(VERSION.into(), env!("CARGO_PKG_VERSION").to_string()),
            KeyValue::new(COLUMNS.into(), Value::from_iter(meanings).to_string()),
        ];
        let own = |(key, value): &(&str, String)| KeyValue::new(key.to_string(), value.clone());
        metadata.extend(notes.iter().map(own));
        let properties = WriterProperties::builder()
            .set_created_by(format!("tidegate {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(metadata))
            .build();
        let inner = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Writer { inner })
    }

    /// Adds the rows of `tidy` as a group of rows of their own.
    pub fn add(&mut self, tidy: &Tidy) -> Result<(), ParquetError> {
        let mut rows = self.inner.next_row_group()?;
        for column in &tidy.columns {
            if let Some(mut writer) = rows.next_column()? {
                write(column, &mut writer)?;
                writer.close()?;
            }
        }
        rows.close().map(drop)
    }

    /// Ends the file; what it was written to.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.inner.into_inner()
    }
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let physical = match column.values {
        Values::Text(_) => Physical::BYTE_ARRAY,
        Values::Whole(_) => Physical::INT64,
        Values::Number(_) => Physical::DOUBLE,
    };
    let mut field =
        Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
    if physical == Physical::BYTE_ARRAY {
        field = field
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8);
    }
    field.build().map(Arc::new)
}

fn write(column: &Column, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
    match &column.values {
        Values::Text(all) => {
            let texts: Vec<ByteArray> =
                all.iter().flatten().map(|text| ByteArray::from(text.as_ref())).collect();
            writer.typed::<ByteArrayType>().write_batch(&texts, Some(&levels(all)), None)?
        }
        Values::Whole(all) => {
            writer.typed::<Int64Type>().write_batch(&present(all), Some(&levels(all)), None)?
        }
        Values::Number(all) => {
            writer.typed::<DoubleType>().write_batch(&present(all), Some(&levels(all)), None)?
        }
    };
    Ok(())
}

fn present<T: Copy>(values: &[Option<T>]) -> Vec<T> {
    values.iter().flatten().copied().collect()
}

/// Per row whether there is a value, as the format has it.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| value.is_some() as i16).collect()
}

/// The table in a file that [`written`] made.
///
/// # Errors
/// It is no Parquet file, or has columns of other types.
pub(crate) fn read(bytes: Vec<u8>) -> Result<Tidy, ParquetError> {
    let pieces = Pieces::new(bytes::Bytes::from(bytes))?;
    let mut table = pieces.columns().clone();
    for piece in pieces {
        table.append(piece?);
    }
    Ok(table)
}

/// The table in a Parquet file of ours that is too large to be read at once: its columns without
/// rows, and the rows piece by piece.
///
/// # Errors
/// It is no Parquet file, has columns of other types, or the disk refuses.
pub fn pieces(file: File) -> io::Result<(Tidy, impl Iterator<Item = io::Result<Tidy>>)> {
    let pieces = Pieces::new(file).map_err(io::Error::other)?;
    Ok((pieces.columns().clone(), pieces.map(|piece| piece.map_err(io::Error::other))))
}

/// A table that is read piece by piece, as [`Writer::add`] wrote it.
struct Pieces<R: ChunkReader + 'static> {
    file: SerializedFileReader<R>,
    columns: Tidy,
    next: usize,
}

impl<R: ChunkReader + 'static> Pieces<R> {
    /// The table in `source`.
    ///
    /// # Errors
    /// As [`read`].
    pub fn new(source: R) -> Result<Pieces<R>, ParquetError> {
        let file = SerializedFileReader::new(source)?;
        let meanings = meanings(&file);
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let column = |(at, described): (usize, &ColumnDescPtr)| {
            let name = described.name().to_string();
            let values = match described.physical_type() {
                Physical::BYTE_ARRAY => Values::Text(vec![]),
                Physical::INT64 => Values::Whole(vec![]),
                Physical::DOUBLE => Values::Number(vec![]),
                other => {
                    return Err(ParquetError::General(format!("column {name} is of type {other}")));
                }
            };
            let (unit, what) = meanings.get(at).cloned().unwrap_or_default();
            Ok(Column { name, unit, what, values })
        };
        let columns = schema.columns().iter().enumerate().map(column);
        let columns = Tidy { columns: columns.collect::<Result<_, _>>()? };
        Ok(Pieces { file, columns, next: 0 })
    }

    /// The table without its rows.
    pub fn columns(&self) -> &Tidy {
        &self.columns
    }

    fn piece(&self, at: usize) -> Result<Tidy, ParquetError> {
        let group = self.file.get_row_group(at)?;
        let mut table = self.columns.clone();
        for (at, column) in table.columns.iter_mut().enumerate() {
            read_column(group.get_column_reader(at)?, &mut column.values)?;
        }
        Ok(table)
    }
}

impl<R: ChunkReader + 'static> Iterator for Pieces<R> {
    type Item = Result<Tidy, ParquetError>;

    fn next(&mut self) -> Option<Result<Tidy, ParquetError>> {
        let at = (self.next < self.file.num_row_groups()).then_some(self.next)?;
        self.next += 1;
        Some(self.piece(at))
    }
}

/// Unit and meaning of each column.
fn meanings<R: ChunkReader + 'static>(file: &SerializedFileReader<R>) -> Vec<(String, String)> {
    let notes = file.metadata().file_metadata().key_value_metadata();
    let text = notes.into_iter().flatten().find(|note| note.key == COLUMNS);
    let parsed = text.and_then(|note| serde_json::from_str(note.value.as_deref()?).ok());
    let Some(Value::Array(all)) = parsed else { return vec![] };
    let of = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_string();
    all.iter().map(|entry| (of(entry, "unit"), of(entry, "what"))).collect()
}

fn read_column(reader: ColumnReader, values: &mut Values) -> Result<(), ParquetError> {
    match (reader, values) {
        (ColumnReader::ByteArrayColumnReader(reader), Values::Text(all)) => {
            let text = |bytes: &ByteArray| bytes.as_utf8().map(Arc::<str>::from);
            append(reader, all, text)
        }
        (ColumnReader::Int64ColumnReader(reader), Values::Whole(all)) => {
            append(reader, all, |value| Ok(*value))
        }
        (ColumnReader::DoubleColumnReader(reader), Values::Number(all)) => {
            append(reader, all, |value| Ok(*value))
        }
        _ => Err(ParquetError::General("a column has another type than its schema says".into())),
    }
}

fn append<D: DataType, T>(
    mut reader: ColumnReaderImpl<D>,
    all: &mut Vec<Option<T>>,
    convert: impl Fn(&D::T) -> Result<T, ParquetError>,
) -> Result<(), ParquetError> {
    loop {
        let (mut levels, mut values) = (vec![], vec![]);
        let (rows, ..) = reader.read_records(1 << 16, Some(&mut levels), None, &mut values)?;
        if rows == 0 {
            return Ok(());
        }
        let mut present = values.iter();
        for level in levels {
            let value = if level == 0 { None } else { present.next() };
            all.push(value.map(&convert).transpose()?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let text = |t: &str| Some(Arc::<str>::from(t));
        let tidy = Tidy {
            columns: vec![
                Column::new("a", "", "texts", Values::Text(vec![text("x"), None, text("é")])),
                Column::new("b", "B", "counts", Values::Whole(vec![None, Some(-7), Some(9)])),
                Column::new("c", "s", "times", Values::Number(vec![Some(0.1), Some(2e9), None])),
            ],
        };
        assert_eq!(read(written(&tidy, &[])).unwrap(), tidy);
        let mut writer = Writer::new(Vec::new(), &tidy, &[("note", "n".into())]).unwrap();
        writer.add(&tidy).unwrap();
        writer.add(&tidy).unwrap();
        let twice = read(writer.finish().unwrap()).unwrap();
        assert_eq!(twice.rows(), 6);
        assert_eq!(twice.column("c").unwrap().number(4), Some(2e9));
        assert!(read(b"PAR1 and nothing else".to_vec()).is_err());
    }
}
