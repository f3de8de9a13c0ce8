//! Access to PostgreSQL and to the object store.
//!
//! - One file per aggregate holds all of its SQL.
//! - Functions that take a connection take it first, so that calls compose in the transaction of the caller.
//! - Lookups return an `Option`. Permissions and validation belong to the callers.

pub mod accounts;
pub mod activity;
pub mod authentication;
pub mod backup;
pub mod cache;
pub mod ci;
mod connection_pool;
pub mod database;
pub mod error;
pub mod fault_injection;
pub mod hooks;
pub mod instance;
pub mod live;
pub mod merge_requests;
pub mod migrate;
pub mod namespaces;
pub mod objects;
pub mod page;
pub mod planning;
pub mod projects;
pub mod repository;
mod search;
pub mod server_info;
mod text;
mod transaction;
pub mod worker;

pub use cache::Cache;
pub use connection_pool::{Connection, PoolUsage, PooledConnection};
pub use database::{Database, Options};
pub use error::{Error, Result};
pub use objects::Objects;
pub use transaction::{Transaction, commit};
