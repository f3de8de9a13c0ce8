//! How a ref was updated.

/// The entry point through which a ref was updated, as the ref log records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefUpdateChannel {
    /// The REST API.
    Api,
    /// The web interface.
    Web,
    /// The command line of the server.
    Cli,
    /// A push over HTTP.
    Http,
    /// A push over SSH.
    Ssh,
    /// A push over SSH with a deploy key.
    DeployKey,
    /// An import from a URL.
    Import,
    /// The recovery of a lost push.
    Recovery,
}

impl RefUpdateChannel {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Web => "web",
            Self::Cli => "cli",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::DeployKey => "deploy_key",
            Self::Import => "import",
            Self::Recovery => "recover",
        }
    }
}
