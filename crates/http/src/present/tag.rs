use holdfast_app::repository::tag::Tag;
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{self, TaggedCommit};

#[derive(Serialize, ToSchema)]
pub struct TagBody {
    pub name: String,
    pub message: Option<String>,
    pub commit: TaggedCommit,
    pub release: Option<ReleaseBody>,
}

#[derive(Serialize, ToSchema)]
pub struct ReleaseBody {
    pub tag_name: String,
    pub description: String,
}

pub fn tag(tag: Tag) -> TagBody {
    let release = tag.release.map(|description| ReleaseBody { tag_name: tag.name.clone(), description });
    TagBody { name: tag.name, message: tag.message, commit: commit::tagged(tag.commit), release }
}
