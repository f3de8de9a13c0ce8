//! The namespace of a project and its owner, as they are loaded with the project. Namespaces themselves are in
//! [`crate::namespaces::namespace`].

use chrono::{DateTime, Utc};
use holdfast_domain::Visibility;
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::namespaces::NamespaceKind;

use crate::accounts::user::UserSummary;

/// The namespace of a project.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ProjectNamespace {
    #[sqlx(try_from = "i64", rename = "namespace_id")]
    pub id: NamespaceId,
    #[sqlx(try_from = "String", rename = "namespace_kind")]
    pub kind: NamespaceKind,
    #[sqlx(rename = "namespace_name")]
    pub name: String,
    #[sqlx(rename = "namespace_path")]
    pub path: String,
    #[sqlx(rename = "namespace_description")]
    pub description: String,
    #[sqlx(rename = "namespace_owner_id")]
    pub owner_id: Option<i64>,
    #[sqlx(try_from = "i16", rename = "namespace_visibility_level")]
    pub visibility: Visibility,
    #[sqlx(rename = "namespace_share_with_group_lock")]
    pub share_with_group_lock: bool,
    #[sqlx(rename = "namespace_created_at")]
    pub created_at: DateTime<Utc>,
    #[sqlx(rename = "namespace_updated_at")]
    pub updated_at: DateTime<Utc>,
}

/// The user who owns the namespace of a project.
#[derive(Clone, Debug)]
pub struct Owner {
    pub summary: UserSummary,
    pub created_at: DateTime<Utc>,
}

#[derive(Clone, Debug, sqlx::FromRow)]
pub(super) struct OwnerColumns {
    owner_username: Option<String>,
    pub owner_name: Option<String>,
    owner_email: Option<String>,
    owner_state: Option<String>,
    owner_created_at: Option<DateTime<Utc>>,
}

impl OwnerColumns {
    pub fn into_owner(self, id: UserId) -> Option<Owner> {
        let summary = UserSummary {
            id,
            username: self.owner_username?,
            name: self.owner_name?,
            email: self.owner_email?,
            state: self.owner_state?.try_into().ok()?,
        };
        Some(Owner { summary, created_at: self.owner_created_at? })
    }
}
