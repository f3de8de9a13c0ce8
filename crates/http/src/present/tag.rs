use holdfast_app::repository::tag::Tag;
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{self, CommitBody};

#[derive(Serialize, ToSchema)]
pub struct TagBody {
    pub name: String,
    pub message: Option<String>,
    pub commit: TaggedCommit,
    pub release: Option<ReleaseBody>,
}

/// The same as in a branch, under one name that differs.
#[derive(Serialize, ToSchema)]
pub struct TaggedCommit {
    pub id: String,
    pub message: String,
    pub parents_ids: Vec<String>,
    pub author_name: String,
    pub author_email: String,
    pub authored_date: String,
    pub committer_name: String,
    pub committer_email: String,
    pub committed_date: String,
}

impl From<CommitBody> for TaggedCommit {
    fn from(body: CommitBody) -> Self {
        Self {
            id: body.id,
            message: body.message,
            parents_ids: body.parent_ids,
            author_name: body.author_name,
            author_email: body.author_email,
            authored_date: body.authored_date,
            committer_name: body.committer_name,
            committer_email: body.committer_email,
            committed_date: body.committed_date,
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct ReleaseBody {
    pub tag_name: String,
    pub description: String,
}

pub fn tag(tag: Tag) -> TagBody {
    let release = tag.release.map(|description| ReleaseBody { tag_name: tag.name.clone(), description });
    TagBody { name: tag.name, message: tag.message, commit: commit::commit(tag.commit).into(), release }
}
