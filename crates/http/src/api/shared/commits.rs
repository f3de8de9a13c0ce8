//! Parameters that name a commit, comment on it or change files.

use axum::http::StatusCode;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::commit_comment::{self, CommitComment, CreateComment, DiffLine};
use holdfast_app::repository::edit::file_changes::FileChange;
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, Type};

use super::ApiResult;
use super::files::decode;
use crate::error::ApiError;
use crate::params::{FromValue, ParamError};
use crate::{RequestContext, choice, params};

params! {
    pub struct OneCommit {
        required id: ProjectRef,
        /// Id of the commit, branch or tag, with slashes as %2F.
        required sha: String,
    }
}

params! {
    pub struct CherryPick {
        flatten commit: OneCommit,
        /// Name of the branch that gets the changes of the commit.
        required branch: String,
    }
}

/// Reads a change of a file. `last_commit_id` is the commit by which the client knows the file.
pub fn read_change(value: &Value, last_commit_id: Option<String>) -> Result<FileChange, ParamError> {
    let text = |name: &str| match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => String::from_value(value).map(Some),
    };
    let path = |name: &str, missing| text(name)?.filter(|path| !path.is_empty()).ok_or(ParamError::Explained(missing));
    let file_path = || path("file_path", "has a change without file_path");
    let encoding = text("encoding")?;
    let not_decoded =
        ParamError::Explained("has a change whose content is not what its encoding says (text or base64)");
    let content = match text("content")? {
        Some(content) => Some(decode(content, encoding.as_deref()).ok_or(not_decoded)?),
        None => None,
    };
    let required = content.clone().ok_or(ParamError::Explained("has a change without content"));
    Ok(match text("action")?.as_deref() {
        Some("create") => FileChange::Create { path: file_path()?, content: required? },
        Some("update") => FileChange::Update { path: file_path()?, content: required?, last_commit_id },
        Some("delete") => FileChange::Delete { path: file_path()?, last_commit_id },
        Some("move") => {
            let from = path("previous_path", "has a move without previous_path")?;
            FileChange::Move { from, to: file_path()?, content }
        }
        _ => return Err(ParamError::Explained("has a change whose action is none of create, update, delete and move")),
    })
}

/// Returns the schema of a change of a file.
pub fn change_schema() -> ObjectBuilder {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("action", text().enum_values(Some(["create", "update", "delete", "move"])))
        .property("file_path", text())
        .property("previous_path", text())
        .property("content", text())
        .property("encoding", text().enum_values(Some(["text", "base64"])))
        .required("action")
        .required("file_path")
}

choice! {
    /// The side of a diff.
    pub enum LineType {
        New = "new",
        Old = "old",
    }
}

params! {
    pub struct CreateCommentParams {
        flatten commit: OneCommit,
        required note: String,
        /// Path of a file that the commit changes.
        optional path: String,
        /// Number of the line in the new file. Required with a path.
        optional line: i32,
        /// Whether the commit added the line (`new`, the default) or removed it (`old`).
        optional line_type: LineType,
    }
}

pub async fn create_comment(context: &RequestContext, params: CreateCommentParams) -> ApiResult<CommitComment> {
    if params.path.is_some() && params.line.is_none() {
        return Err(ApiError::error(StatusCode::BAD_REQUEST, "line is missing"));
    }
    let is_removed = params.line_type == Some(LineType::Old);
    let line = params.line.map(|number| DiffLine { number, is_removed });
    let input = CreateComment { body: params.note, path: params.path, line };
    let OneCommit { id, sha } = params.commit;
    Ok(commit_comment::create(context.app(), &context.actor, &id, &sha, input).await?)
}
