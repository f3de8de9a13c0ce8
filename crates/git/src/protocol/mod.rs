//! The parts of git's wire protocol that this server implements itself instead of leaving them to git.

pub mod advertisement;
pub mod archive;
pub mod receive;
pub mod upload;

/// The value of the `agent` capability.
pub const AGENT: &str = concat!("holdfast/", env!("CARGO_PKG_VERSION"));

/// The protocol version that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V0,
    V1,
    V2,
}

impl Version {
    /// Parses the header `Git-Protocol` or the variable `GIT_PROTOCOL`: a list separated by colons, in which the
    /// highest version counts.
    pub fn from_header(text: &str) -> Self {
        let versions = text.split(':').filter_map(|word| match word {
            "version=2" => Some(Self::V2),
            "version=1" => Some(Self::V1),
            _ => None,
        });
        versions.max().unwrap_or(Self::V0)
    }

    /// Returns the value of `GIT_PROTOCOL` for a git process.
    pub fn as_env_value(self) -> &'static str {
        match self {
            Self::V0 => "version=0",
            Self::V1 => "version=1",
            Self::V2 => "version=2",
        }
    }
}
