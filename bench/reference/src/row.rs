//! A row as JSON, whatever its columns.

use chrono::{DateTime, NaiveDate, Utc};
use serde::ser::{Error, Serialize, SerializeMap, Serializer};
use sqlx::postgres::PgRow;
use sqlx::types::JsonRawValue;
use sqlx::{Column, Row as _, TypeInfo};

pub struct Row(pub PgRow);

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for column in self.0.columns() {
            macro_rules! entry {
                ($type:ty) => {{
                    let value: Option<$type> = self.0.try_get(column.ordinal()).map_err(S::Error::custom)?;
                    map.serialize_entry(column.name(), &value)?
                }};
            }
            match column.type_info().name() {
                "BOOL" => entry!(bool),
                "INT2" => entry!(i16),
                "INT4" => entry!(i32),
                "INT8" => entry!(i64),
                "TEXT[]" => entry!(Vec<String>),
                "TEXT" => entry!(&str),
                "DATE" => entry!(NaiveDate),
                "TIMESTAMPTZ" => entry!(DateTime<Utc>),
                "JSON" | "JSONB" => entry!(&JsonRawValue),
                other => return Err(S::Error::custom(format!("{}: no JSON for {other}", column.name()))),
            }
        }
        map.end()
    }
}
