//! Presents tags and their release notes.

use holdfast_app::repository::refs::tag::Tag;
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{self, CommitBody, TaggedCommit};

/// A tag in a list, or a new tag.
#[derive(Serialize, ToSchema)]
pub struct TagBody {
    pub name: String,
    pub message: Option<String>,
    /// Null if the tag does not point to a commit.
    pub commit: Option<TaggedCommit>,
    pub release: Option<ReleaseBody>,
}

/// A single tag. The parents of its commit are named `parent_ids` here.
#[derive(Serialize, ToSchema)]
pub struct ShownTag {
    pub name: String,
    pub message: Option<String>,
    /// Null if the tag does not point to a commit.
    pub commit: Option<CommitBody>,
    pub release: Option<ReleaseBody>,
}

#[derive(Serialize, ToSchema)]
pub struct ReleaseBody {
    pub tag_name: String,
    pub description: String,
}

pub fn present_tag(tag: Tag) -> TagBody {
    let release = release(&tag);
    TagBody { name: tag.name, message: tag.message, commit: tag.commit.map(commit::tagged_commit), release }
}

pub fn detail(tag: Tag) -> ShownTag {
    let release = release(&tag);
    ShownTag { name: tag.name, message: tag.message, commit: tag.commit.map(commit::commit), release }
}

fn release(tag: &Tag) -> Option<ReleaseBody> {
    let description = tag.release.clone()?;
    Some(ReleaseBody { tag_name: tag.name.clone(), description })
}

#[derive(Serialize, ToSchema)]
pub struct RemovedTag {
    pub tag_name: String,
}
