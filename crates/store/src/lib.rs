//! PostgreSQL and the object store. One file per aggregate holds all of its SQL; every function takes the connection first, so that calls
//! compose in the caller's transaction. Lookups give an `Option`; what is forbidden or invalid is decided elsewhere.

pub mod accounts;
pub mod activity;
pub mod backup;
pub mod cache;
pub mod chaos;
pub mod ci;
pub mod database;
pub mod error;
pub mod facts;
pub mod hooks;
pub mod migrate;
pub mod namespaces;
pub mod objects;
pub mod page;
pub mod planning;
pub mod projects;
pub mod repository;
mod search;
mod text;
pub mod worker;

pub use cache::Cache;
pub use database::{Connection, Database, Options, Transaction, commit};
pub use error::{Error, Result};
pub use objects::Objects;
