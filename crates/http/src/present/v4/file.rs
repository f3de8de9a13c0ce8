//! Presents files with their content, which is encoded while it is sent.

use std::io;

use axum::http::StatusCode;
use axum::http::header::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use holdfast_app::repository::browse::blame::FileLines;
use holdfast_app::repository::browse::blob::Blob;
use holdfast_app::repository::browse::commit::Commit;
use holdfast_app::repository::browse::file::{ContentDigest, FileAtRevision};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::present::commit::date;
use crate::present::compare::json;
use crate::present::file::write_content;
use crate::response::{ApiResponse, ResponseContext};

/// What is known of a file at a revision, apart from its content.
#[derive(Clone, Serialize, ToSchema)]
pub struct FileFacts {
    pub file_name: String,
    pub file_path: String,
    pub size: u64,
    pub encoding: &'static str,
    /// The revision as the request names it.
    pub r#ref: String,
    pub blob_id: String,
    /// The commit of the revision.
    pub commit_id: String,
    /// The commit that last changed the file.
    pub last_commit_id: Option<String>,
    pub execute_filemode: bool,
}

/// A file with its content in base64, without line breaks.
#[derive(Serialize, ToSchema)]
pub struct RepositoryFile {
    #[serde(flatten)]
    facts: FileFacts,
    content: String,
    /// SHA-256 digest of the content, in hexadecimal digits.
    content_sha256: String,
}

pub fn file_facts(file: &FileAtRevision) -> FileFacts {
    FileFacts {
        file_name: file.path.rsplit('/').next().unwrap_or_default().to_owned(),
        file_path: file.path.clone(),
        size: file.blob.bytes,
        encoding: "base64",
        r#ref: file.revision.clone(),
        blob_id: file.blob.id.to_string(),
        commit_id: file.commit_id.to_string(),
        last_commit_id: file.last_commit_id.map(|id| id.to_string()),
        execute_filemode: file.is_executable,
    }
}

/// Serializes a file while it is read.
pub fn present_file(file: FileAtRevision) -> impl Stream<Item = io::Result<Bytes>> {
    let body = RepositoryFile { facts: file_facts(&file), content: String::new(), content_sha256: String::new() };
    let (content, digest) = ContentDigest::attach_to(file.blob.content);
    let end = move || format!("\",\"content_sha256\":\"{}\"}}", digest.finish());
    write_content(&body, "\",\"content_sha256\":\"\"}", content, end)
}

/// A response with the facts about a file as headers. The digest of the content is not among them, because it is known
/// only after the content has been read.
pub struct WithFileHeaders<A> {
    pub facts: FileFacts,
    pub response: A,
}

impl<A: ApiResponse> ApiResponse for WithFileHeaders<A> {
    const STATUS: StatusCode = A::STATUS;
    const CONTENT_TYPES: &'static [&'static str] = A::CONTENT_TYPES;

    fn schema() -> RefOr<Schema> {
        A::schema()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        A::schemas(into);
    }

    fn respond(self, context: &ResponseContext<'_>) -> Response {
        let mut response = self.response.respond(context);
        response.headers_mut().extend(headers(self.facts));
        response
    }
}

/// Returns the facts as headers. A name that cannot be sent in a header is left out.
fn headers(facts: FileFacts) -> HeaderMap {
    let values = [
        ("x-gitlab-file-name", Some(facts.file_name)),
        ("x-gitlab-file-path", Some(facts.file_path)),
        ("x-gitlab-size", Some(facts.size.to_string())),
        ("x-gitlab-encoding", Some(facts.encoding.to_owned())),
        ("x-gitlab-ref", Some(facts.r#ref)),
        ("x-gitlab-blob-id", Some(facts.blob_id)),
        ("x-gitlab-commit-id", Some(facts.commit_id)),
        ("x-gitlab-last-commit-id", facts.last_commit_id),
        ("x-gitlab-execute-filemode", Some(facts.execute_filemode.to_string())),
    ];
    let header = |(name, value): (&'static str, Option<String>)| {
        Some((HeaderName::from_static(name), HeaderValue::from_bytes(value?.as_bytes()).ok()?))
    };
    values.into_iter().filter_map(header).collect()
}

/// A blob with its content in base64, without line breaks.
#[derive(Serialize, ToSchema)]
pub struct BlobBody {
    size: u64,
    encoding: &'static str,
    sha: String,
    content: String,
}

/// Serializes a blob while it is read.
pub fn present_blob(blob: Blob) -> impl Stream<Item = io::Result<Bytes>> {
    let body = BlobBody { size: blob.bytes, encoding: "base64", sha: blob.id.to_string(), content: String::new() };
    let end = "\"}";
    write_content(&body, end, blob.content, || end.to_owned())
}

/// A file that a request has changed.
#[derive(Serialize, ToSchema)]
pub struct ChangedFileBody {
    pub file_path: String,
    pub branch: String,
}

/// Lines of a file that the same commit changed last.
#[derive(Serialize, ToSchema)]
pub struct BlameBlockBody {
    commit: BlameCommit,
    lines: Vec<String>,
}

/// A commit beside the lines that it changed.
#[derive(Clone, Serialize, ToSchema)]
pub struct BlameCommit {
    id: String,
    parent_ids: Vec<String>,
    /// The beginning of the message.
    message: String,
    authored_date: String,
    author_name: String,
    author_email: String,
    committed_date: String,
    committer_name: String,
    committer_email: String,
}

/// Serializes the lines of a file with their commits, one block at a time: a block repeats what is known of its commit.
pub fn present_blame(file: FileLines) -> BoxStream<'static, io::Result<Bytes>> {
    let commits: Vec<BlameCommit> = file.commits.into_iter().map(blame_commit).collect();
    let mut separator = "";
    let blocks = file.blocks.into_iter().filter_map(move |block| {
        let body = BlameBlockBody { commit: commits.get(block.commit)?.clone(), lines: block.lines };
        Some(Ok(Bytes::from(format!("{}{}", std::mem::replace(&mut separator, ","), json(&body)))))
    });
    let part = |text: &'static [u8]| stream::iter([Ok(Bytes::from_static(text))]);
    part(b"[").chain(stream::iter(blocks)).chain(part(b"]")).boxed()
}

fn blame_commit(commit: Commit) -> BlameCommit {
    BlameCommit {
        id: commit.id.to_string(),
        parent_ids: commit.parents.iter().map(ToString::to_string).collect(),
        message: commit.message,
        authored_date: date(&commit.author.date),
        author_name: commit.author.name,
        author_email: commit.author.email,
        committed_date: date(&commit.committer.date),
        committer_name: commit.committer.name,
        committer_email: commit.committer.email,
    }
}
