//! A table of results as an Arrow stream, which data frames of all kinds take without a copy.
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyCapsule, PyDict};
use tidegate_report::Tidy;
use tidegate_report::tidy::{Column, Values};

/// A table of results: a row for each observation, a column for each variable.
///
/// It speaks the Arrow PyCapsule interface: `polars.DataFrame(table)`, `pyarrow.table(table)`,
/// `pandas.DataFrame.from_arrow(table)` and DuckDB's `FROM table` take it without a copy. Every
/// field's metadata has its `unit` and what it is (`description`).
#[pyclass(frozen, module = "tidegate")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// `table` as Arrow has it.
    ///
    /// # Errors
    /// Its columns differ in length.
    pub fn new(table: &Tidy) -> PyResult<Table> {
        Table::of(table, [Ok(table)])
    }

    /// The table with the columns of `like` and the rows of `pieces`, one after the other.
    ///
    /// # Errors
    /// A piece cannot be had, or has other columns.
    pub fn of<T: std::borrow::Borrow<Tidy>>(
        like: &Tidy,
        pieces: impl IntoIterator<Item = PyResult<T>>,
    ) -> PyResult<Table> {
        let fields: Vec<Field> = like.columns.iter().map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        let batch = |piece: PyResult<T>| {
            let piece = piece?;
            let piece = piece.borrow();
            let arrays: Vec<ArrayRef> = piece.columns.iter().map(array).collect();
            let options = RecordBatchOptions::new().with_row_count(Some(piece.rows()));
            RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(wrong)
        };
        let batches = pieces.into_iter().map(batch).collect::<PyResult<_>>()?;
        Ok(Table { schema, batches })
    }
}

#[pymethods]
impl Table {
    /// The columns' names, in order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Each column's unit; empty for texts and pure numbers.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.notes(UNIT).into_py_dict(py)
    }

    /// What each column is, in one line.
    #[getter]
    fn descriptions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.notes(DESCRIPTION).into_py_dict(py)
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        let rows = self.__len__();
        let ending = if rows == 1 { "" } else { "s" };
        let columns = self.columns();
        let more = columns.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown = columns[..columns.len().min(SHOWN)].join(", ");
        format!("<tidegate.Table of {rows} row{ending}: {shown}{more}>")
    }

    /// The table as an Arrow stream in a capsule (Arrow's PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to answer any request with what it has.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let batches = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The table's schema in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema).map_err(wrong)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

impl Table {
    /// Each column's name, and what its metadata has under `key`.
    fn notes(&self, key: &str) -> Vec<(String, String)> {
        let note = |field: &Arc<Field>| {
            (field.name().clone(), field.metadata().get(key).cloned().unwrap_or_default())
        };
        self.schema.fields().iter().map(note).collect()
    }
}

/// How many columns the table's representation names.
const SHOWN: usize = 8;
/// Keys of a field's metadata.
const UNIT: &str = "unit";
const DESCRIPTION: &str = "description";

fn field(column: &Column) -> Field {
    let kind = match column.values {
        Values::Text(_) => DataType::Utf8,
        Values::Whole(_) => DataType::Int64,
        Values::Number(_) => DataType::Float64,
    };
    let notes = [(UNIT, &column.unit), (DESCRIPTION, &column.what)];
    let notes = notes.map(|(key, note)| (key.to_string(), note.clone()));
    Field::new(&column.name, kind, true).with_metadata(HashMap::from(notes))
}

fn array(column: &Column) -> ArrayRef {
    match &column.values {
        Values::Text(all) => Arc::new(StringArray::from_iter(all.iter().map(Option::as_deref))),
        Values::Whole(all) => Arc::new(Int64Array::from_iter(all.iter().copied())),
        Values::Number(all) => Arc::new(Float64Array::from_iter(all.iter().copied())),
    }
}

fn wrong(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
