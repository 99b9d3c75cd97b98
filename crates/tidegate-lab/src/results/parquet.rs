//! A table as a Parquet file, for DuckDB, pandas and their like. The file's metadata has units and
//! meanings of its columns, under the key `tidegate.columns`.
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::json;
use tidegate_report::tidy::{Column, Tidy, Values};

use super::file::File;

/// The Parquet file `name` with the columns of `table`.
pub(super) fn file(table: &Tidy, name: &str) -> File {
    let bytes = bytes(table).expect("columns of one length in memory make a file");
    File { name: name.into(), bytes }
}

fn bytes(table: &Tidy) -> Result<Vec<u8>, ParquetError> {
    let fields = table.columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("tidegate").with_fields(fields).build()?;
    let meanings =
        table.columns.iter().map(|c| json!({ "name": c.name, "unit": c.unit, "what": c.what }));
    let notes = vec![
        KeyValue::new("tidegate.version".into(), env!("CARGO_PKG_VERSION").to_string()),
        KeyValue::new(
            "tidegate.columns".into(),
            serde_json::Value::from_iter(meanings).to_string(),
        ),
    ];
    let properties = WriterProperties::builder()
        .set_created_by(format!("tidegate {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(notes))
        .build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut rows = writer.next_row_group()?;
    for column in &table.columns {
        if let Some(mut writer) = rows.next_column()? {
            write(column, &mut writer)?;
            writer.close()?;
        }
    }
    rows.close()?;
    writer.close()?;
    Ok(bytes)
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
                all.iter().flatten().map(|text| ByteArray::from(&**text)).collect();
            writer.typed::<ByteArrayType>().write_batch(&texts, Some(&levels(all)), None)?;
        }
        Values::Whole(all) => {
            writer.typed::<Int64Type>().write_batch(&present(all), Some(&levels(all)), None)?;
        }
        Values::Number(all) => {
            writer.typed::<DoubleType>().write_batch(&present(all), Some(&levels(all)), None)?;
        }
    }
    Ok(())
}

fn present<T: Clone>(values: &[Option<T>]) -> Vec<T> {
    values.iter().flatten().cloned().collect()
}

/// Per row whether there is a value, as the format has it.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| value.is_some() as i16).collect()
}
