//! Runs statements that were captured from the server, with the values that it sent. A benchmark case captures and
//! posts them, so the reference always runs the same statements as the server.

use std::sync::{Arc, RwLock};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
#[expect(clippy::disallowed_types, reason = "what is run was in PostgreSQL's log already, with its values bound")]
use sqlx::AssertSqlSafe;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgPool, PgTypeInfo, Postgres};
use sqlx::{Either, Encode, Executor, Row as _, SqlSafeStr, SqlStr, Statement, Type, TypeInfo, ValueRef};

use crate::row::Row;

#[derive(Deserialize)]
struct Request {
    sql: String,
    /// The values in PostgreSQL's text format; `None` is null.
    values: Vec<Option<String>>,
    /// Whether the connection keeps the prepared statement.
    persistent: bool,
    /// The number of rows in the response, which may be less than the statement returns.
    rows: usize,
}

struct Captured {
    sql: SqlStr,
    values: Vec<Value>,
    persistent: bool,
    rows: usize,
}

/// A value of any type, in PostgreSQL's binary format.
struct Value {
    kind: PgTypeInfo,
    bytes: Option<Vec<u8>>,
}

impl Type<Postgres> for Value {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("text")
    }
}

impl Encode<'_, Postgres> for Value {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let Some(bytes) = &self.bytes else { return Ok(IsNull::Yes) };
        buffer.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(self.kind.clone())
    }
}

#[derive(Clone)]
struct Context {
    pool: PgPool,
    statements: Arc<RwLock<Vec<Arc<Captured>>>>,
}

type JsonResult<T> = Result<Json<T>, (StatusCode, String)>;

pub fn routes(pool: PgPool) -> Router {
    Router::new()
        .route("/captured", post(add))
        .route("/captured/{number}", get(run))
        .with_state(Context { pool, statements: Arc::default() })
}

/// Adds a statement, and returns the number under which it can be run.
async fn add(State(context): State<Context>, Json(request): Json<Request>) -> JsonResult<usize> {
    let captured = prepare(&context.pool, request).await.map_err(failed)?;
    let mut statements = context.statements.write().map_err(failed)?;
    statements.push(Arc::new(captured));
    Ok(Json(statements.len() - 1))
}

async fn prepare(pool: &PgPool, request: Request) -> Result<Captured, BoxDynError> {
    let sql = trusted(request.sql);
    let statement = pool.prepare(sql.clone()).await?;
    let Some(Either::Left(kinds)) = statement.parameters() else { return Err("no types of the parameters".into()) };
    let mut values = Vec::new();
    for (kind, text) in kinds.iter().zip(request.values) {
        // PostgreSQL converts the text back into a value of the type.
        let convert = format!("select $1::text::{}", kind.name());
        let row = sqlx::query(trusted(convert)).bind(text).fetch_one(pool).await?;
        let value = row.try_get_raw(0)?;
        let bytes = if value.is_null() { None } else { Some(value.as_bytes()?.to_vec()) };
        values.push(Value { kind: kind.clone(), bytes });
    }
    Ok(Captured { sql, values, persistent: request.persistent, rows: request.rows })
}

fn trusted(sql: String) -> SqlStr {
    AssertSqlSafe(Arc::<str>::from(sql)).into_sql_str()
}

async fn run(State(context): State<Context>, Path(number): Path<usize>) -> JsonResult<Vec<Row>> {
    let found = context.statements.read().map_err(failed)?.get(number).cloned();
    let captured = found.ok_or((StatusCode::NOT_FOUND, String::new()))?;
    let mut query = sqlx::query(captured.sql.clone()).persistent(captured.persistent);
    for value in &captured.values {
        query = query.bind(value);
    }
    let mut rows = query.fetch_all(&context.pool).await.map_err(failed)?;
    rows.truncate(captured.rows);
    Ok(Json(rows.into_iter().map(Row).collect()))
}

fn failed(error: impl ToString) -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}
