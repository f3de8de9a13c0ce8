//! Git over SSH, at the address that a project shows as `ssh_url_to_repo`: a second door to the use cases that the one
//! over HTTP calls. Nobody gets a shell here, a terminal, or a way through to another machine.

mod channel;
mod command;
mod connection;
mod line;
mod refusal;
mod server;
mod service;

use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_app::client::ConnectionLimits;

pub use server::serve;

/// What operators decide about SSH.
#[derive(Clone)]
pub struct Settings {
    /// Connections at once, in all and from one address.
    pub connections: ConnectionLimits,
    /// Connections that have not signed in yet, at once. One address gets at most a quarter of them.
    pub max_unauthenticated: usize,
    /// How long signing in may take.
    pub handshake_timeout: Duration,
    /// How long a connection may be silent while nothing is done for it.
    pub idle_timeout: Duration,
    /// How long what has begun may take when the server is told to stop.
    pub shutdown_grace: Duration,
    /// The address of a project from its full path.
    pub url: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

pub(crate) struct Context {
    pub app: Arc<App>,
    pub settings: Settings,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Ssh(#[from] russh::Error),
    #[error(transparent)]
    App(#[from] holdfast_app::Error),
}

pub type Result<T> = std::result::Result<T, Error>;
