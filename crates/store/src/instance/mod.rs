//! What administrators see of the whole instance. Every query reads a bounded number of rows, however large the tables
//! are.

pub mod account;
pub mod overview;
pub mod owner;
pub mod storage;
