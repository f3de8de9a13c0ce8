//! Attributes of users that administrators set.

use holdfast_app::accounts::user::UserChanges;

use crate::params;

params! {
    /// The parameters of both creating and updating a user.
    pub struct Profile {
        nullable skype: String,
        nullable linkedin: String,
        nullable twitter: String,
        nullable website_url: String,
        nullable organization: String,
        nullable bio: String,
        nullable location: String,
        /// Maximum number of projects in the user's own namespace.
        optional projects_limit: i32,
        /// Whether the user is an administrator.
        optional admin: bool,
        /// Whether the user may create groups.
        optional can_create_group: bool,
        /// Whether the user is external: internal projects and groups are invisible to external users.
        optional external: bool,
        /// Name of an external identity provider. Required together with `extern_uid`, the id of the user there.
        nullable provider: String,
        nullable extern_uid: String,
    }
}

impl Profile {
    pub fn into_changes(self) -> UserChanges {
        UserChanges {
            skype: self.skype,
            linkedin: self.linkedin,
            twitter: self.twitter,
            website_url: self.website_url,
            organization: self.organization,
            bio: self.bio,
            location: self.location,
            projects_limit: self.projects_limit,
            admin: self.admin,
            can_create_group: self.can_create_group,
            external: self.external,
            provider: self.provider,
            extern_uid: self.extern_uid,
            ..UserChanges::default()
        }
    }
}
