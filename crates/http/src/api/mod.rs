pub mod v3;
