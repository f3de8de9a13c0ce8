//! A small runner: takes builds from a server and executes them with a shell, confined as far as the kernel allows.
//!
//! The protocol is spoken by the crate `gitlab-runner`: it asks for builds, sends the trace, learns of cancelling and
//! tells the end. What it does not know (registering, the rest of a job, archives) is here; see [`relay`].

mod archive;
mod artifact;
mod build;
mod cache;
mod configuration;
mod directory;
mod environment;
mod failure;
mod mask;
mod payload;
mod process;
mod registration;
mod relay;
mod run;
pub mod sandbox;
mod script;
mod selection;
mod server;
mod source;
mod trace;

pub use configuration::{Configuration, DEFAULT_FILE, Sandbox};
pub use registration::{Registration, register, unregister};
pub use run::{Options, Signals, run};

/// As the server sees it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
