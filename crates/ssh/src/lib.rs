//! Git over SSH: the entry point behind a project's `ssh_url_to_repo`.
//!
//! It calls the same use cases as git over HTTP. Clients get no shell, no terminal and no port forwarding.

mod channel;
mod command;
mod connection;
mod error_message;
mod idle_timeout;
mod server;
mod service;
mod stderr;

use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_app::client::ConnectionLimits;

pub use server::serve;

/// Settings of the SSH server, converted from the configuration file.
#[derive(Clone)]
pub struct Settings {
    /// Maximum number of concurrent connections, in total and per address.
    pub connection_limits: ConnectionLimits,
    /// Maximum number of concurrent connections that are not authenticated yet. One address gets at most a quarter of
    /// them.
    pub max_unauthenticated_connections: usize,
    /// Time a client has to authenticate, and then to send a command on a channel it opened.
    pub handshake_timeout: Duration,
    /// Time a connection may be silent while no command runs, and a client may stall the transfer of a running command.
    pub idle_timeout: Duration,
    /// Time that running commands have to complete after the server begins its shutdown.
    pub shutdown_grace: Duration,
    /// Returns the URL of a project, given its full path.
    pub project_url: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

pub(crate) struct Context {
    pub app: Arc<App>,
    pub settings: Settings,
}

/// The reason why the SSH server or a connection failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Ssh(#[from] russh::Error),
    #[error(transparent)]
    App(#[from] holdfast_app::Error),
}

/// The result of a function of the SSH server.
pub type Result<T> = std::result::Result<T, Error>;
