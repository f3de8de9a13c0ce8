//! A CI runner: claims builds from a server and executes them with a shell, in a sandbox as far as the kernel supports
//! one.
//!
//! The crate `gitlab-runner` implements the core of the protocol: it requests builds, sends the trace, detects
//! cancellation and reports the result. This crate adds registration, the parts of the payload that `gitlab-runner`
//! does not expose (see `local_proxy`), artifacts and caches.

mod archive;
mod artifact;
mod build;
mod cache;
mod configuration;
mod directory;
mod environment;
mod failure;
mod local_proxy;
mod mask;
mod payload;
mod process;
mod registration;
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

/// Version of the runner, which it sends to the server.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
