//! Presents the namespaces in which the current user may create projects.

use holdfast_app::namespaces::namespace::Namespace;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub struct NamespaceBody {
    pub id: i64,
    pub name: String,
    pub path: String,
    /// `user` or `group`.
    pub kind: &'static str,
    pub full_path: String,
}

pub fn present_namespace(namespace: Namespace) -> NamespaceBody {
    NamespaceBody {
        id: namespace.id.get(),
        name: namespace.name,
        full_path: namespace.path.clone(),
        path: namespace.path,
        kind: namespace.kind.as_str(),
    }
}
