//! Presents a file with its content, which is encoded while it is sent.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream;
use futures_util::{Stream, StreamExt};
use holdfast_app::repository::browse::file::FileAtRevision;
use serde::Serialize;
use utoipa::ToSchema;

/// A file with its content in base64, without line breaks.
#[derive(Serialize, ToSchema)]
pub struct FileBody {
    file_name: String,
    file_path: String,
    size: u64,
    encoding: &'static str,
    r#ref: String,
    blob_id: String,
    commit_id: String,
    last_commit_id: String,
    content: String,
}

/// A file that a request has changed.
#[derive(Serialize, ToSchema)]
pub struct ChangedFile {
    pub file_path: String,
    pub branch_name: String,
    /// The same as `branch_name`, for clients of later versions.
    pub branch: String,
}

/// Serializes a file while it is read.
pub fn present_file(file: FileAtRevision) -> impl Stream<Item = io::Result<Bytes>> {
    let body = FileBody {
        file_name: file.path.rsplit('/').next().unwrap_or_default().to_owned(),
        file_path: file.path,
        size: file.blob.bytes,
        encoding: "base64",
        r#ref: file.revision,
        blob_id: file.blob.id.to_string(),
        commit_id: file.commit_id.to_string(),
        last_commit_id: file.last_commit_id.unwrap_or(file.commit_id).to_string(),
        content: String::new(),
    };
    let end = "\"}";
    write_content(&body, end, file.blob.content, || end.to_owned())
}

/// Serializes an object with a content that is encoded while it is read. `empty_end` is the end of the object after an
/// empty content, and `end` returns the one that is sent when the content has been read.
pub(super) fn write_content<O: Serialize, S: Stream<Item = io::Result<Bytes>>, E: FnOnce() -> String>(
    object: &O,
    empty_end: &str,
    content: S,
    end: E,
) -> impl Stream<Item = io::Result<Bytes>> + use<O, S, E> {
    let json = serde_json::to_string(object).expect("the value has only fields that JSON can represent");
    let head = json.strip_suffix(empty_end).unwrap_or(&json).to_owned();
    let head = stream::iter([Ok(Bytes::from(head))]);
    let end = stream::iter(std::iter::once_with(move || Ok(Bytes::from(end()))));
    head.chain(encode(content)).chain(end)
}

/// Encodes the chunks of a content. Bytes that do not fill a group of three are encoded with the next chunk.
fn encode<S: Stream<Item = io::Result<Bytes>>>(content: S) -> impl Stream<Item = io::Result<Bytes>> {
    let chunks = content.map(Some).chain(stream::iter([None]));
    chunks.scan(Vec::new(), |remainder: &mut Vec<u8>, chunk| {
        let encoded = match chunk {
            Some(Ok(chunk)) => {
                remainder.extend_from_slice(&chunk);
                let rest = remainder.split_off(remainder.len() - remainder.len() % 3);
                Ok(std::mem::replace(remainder, rest))
            }
            Some(Err(error)) => Err(error),
            None => Ok(std::mem::take(remainder)),
        };
        std::future::ready(Some(encoded.map(|bytes| Bytes::from(STANDARD.encode(bytes)))))
    })
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn chunks_of_any_size_are_encoded_as_one_text() {
        let content: Vec<u8> = (0..=255).collect();
        for size in [1, 2, 3, 4, 100, 256] {
            let chunks = content.chunks(size).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect::<Vec<_>>();
            let encoded = encode(stream::iter(chunks)).map(|part| part.unwrap_or_default());
            let parts = encoded.collect::<Vec<Bytes>>().now_or_never().unwrap_or_default();
            assert_eq!(parts.concat(), STANDARD.encode(&content).as_bytes(), "{size}");
        }
    }
}
