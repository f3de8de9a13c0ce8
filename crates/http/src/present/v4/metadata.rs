//! Presents the version of the server.

use serde::Serialize;
use utoipa::ToSchema;

/// The version of the API that clients compare their requirements with. Clients cut it at the dash and read the rest as a
/// semantic version.
const API_VERSION: &str = "17.10.0-holdfast";

#[derive(Serialize, ToSchema)]
pub struct VersionBody {
    pub version: &'static str,
    /// The version of this program.
    pub revision: &'static str,
}

pub const fn version() -> VersionBody {
    VersionBody { version: API_VERSION, revision: env!("CARGO_PKG_VERSION") }
}

#[derive(Serialize, ToSchema)]
pub struct MetadataBody {
    #[serde(flatten)]
    pub version: VersionBody,
    pub kas: KubernetesAgentServer,
    pub enterprise: bool,
}

/// A service that other servers have. The names of its fields are those that clients expect.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesAgentServer {
    pub enabled: bool,
    pub external_url: Option<String>,
    pub external_k8s_proxy_url: Option<String>,
    pub version: Option<String>,
}

pub const fn metadata() -> MetadataBody {
    let kas = KubernetesAgentServer { enabled: false, external_url: None, external_k8s_proxy_url: None, version: None };
    MetadataBody { version: version(), kas, enterprise: false }
}
