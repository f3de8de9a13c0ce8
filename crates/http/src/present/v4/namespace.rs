//! Presents the namespaces of users and groups.

use holdfast_app::namespaces::namespace::{Namespace, PathAvailability};
use holdfast_domain::namespaces::NamespaceKind;
use serde::Serialize;
use utoipa::ToSchema;

use crate::InstanceUrls;
use crate::present::namespace::{NamespaceBody, present_namespace as present_fields};

/// The namespace of a user or a group.
#[derive(Serialize, ToSchema)]
pub struct NamespaceBasic {
    #[serde(flatten)]
    pub namespace: NamespaceBody,
    /// Always null: groups have no parent.
    pub parent_id: Option<i64>,
    /// Null for groups.
    pub avatar_url: Option<String>,
    pub web_url: String,
}

pub fn present_namespace(namespace: Namespace, site: &InstanceUrls) -> NamespaceBasic {
    let path = &namespace.path;
    NamespaceBasic {
        parent_id: None,
        avatar_url: namespace.owner_email.as_deref().map(|email| site.avatar_url(email)),
        web_url: match namespace.kind {
            NamespaceKind::User => site.url(&format!("/{path}")),
            NamespaceKind::Group => site.url(&format!("/groups/{path}")),
        },
        namespace: present_fields(namespace),
    }
}

/// Whether the path of a namespace is taken.
#[derive(Serialize, ToSchema)]
pub struct NamespaceExistence {
    pub exists: bool,
    /// Similar paths that are free. Empty if the path is free.
    pub suggests: Vec<String>,
}

pub fn present_existence(found: PathAvailability) -> NamespaceExistence {
    NamespaceExistence { exists: found.is_taken, suggests: found.suggestion.into_iter().collect() }
}
