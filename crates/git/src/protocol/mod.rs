//! The wire protocol, as far as it is spoken here and not by git itself.

pub mod advertisement;
pub mod archive;
pub mod receive;
pub mod upload;

/// What is told of this program to its peers.
pub const AGENT: &str = concat!("holdfast/", env!("CARGO_PKG_VERSION"));

/// The version a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V0,
    V1,
    V2,
}

impl Version {
    /// From the header `Git-Protocol` or the variable `GIT_PROTOCOL`: words between colons, of which the highest counts.
    pub fn asked(text: &str) -> Self {
        let versions = text.split(':').filter_map(|word| match word {
            "version=2" => Some(Self::V2),
            "version=1" => Some(Self::V1),
            _ => None,
        });
        versions.max().unwrap_or(Self::V0)
    }

    /// For the environment of git.
    pub fn variable(self) -> &'static str {
        match self {
            Self::V0 => "version=0",
            Self::V1 => "version=1",
            Self::V2 => "version=2",
        }
    }
}
