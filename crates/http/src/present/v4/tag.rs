//! Presents tags.

use holdfast_app::repository::refs::tag::Tag;
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{CommitBody, present_commit};
use crate::InstanceUrls;
use crate::present::commit::date;
use crate::present::tag::ReleaseBody;

/// A tag of a project.
#[derive(Serialize, ToSchema)]
pub struct ProjectTagBody {
    pub name: String,
    /// Null if the tag is lightweight.
    pub message: Option<String>,
    /// Id of the tag object, or of the commit of a lightweight tag.
    pub target: String,
    /// Null if the tag does not point to a commit.
    pub commit: Option<CommitBody>,
    pub release: Option<ReleaseBody>,
    /// Whether a rule of protected tags matches the name.
    pub protected: bool,
    /// Null if the tag is lightweight. The date is in the time zone that the tag records.
    pub created_at: Option<String>,
}

pub fn present_tag(tag: Tag, project_path: &str, site: &InstanceUrls) -> ProjectTagBody {
    ProjectTagBody {
        release: tag.release.map(|description| ReleaseBody { tag_name: tag.name.clone(), description }),
        name: tag.name,
        message: tag.message,
        target: tag.target.to_string(),
        commit: tag.commit.map(|commit| present_commit(commit, project_path, site)),
        protected: tag.is_protected,
        created_at: tag.created_at.as_ref().map(date),
    }
}
