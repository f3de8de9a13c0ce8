//! Responses that list refs. Long lists are streamed, because a repository can have very many refs.

use axum::body::Body;
use holdfast_app::repository::open_repository::OpenRepository;
use holdfast_git::ObjectId;
use holdfast_git::protocol::upload::LsRefsRequest;
use holdfast_git::protocol::{Version, advertisement};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::io::ReaderStream;

use super::auth::Service;
use crate::Context;

/// A response that lists the refs of a repository.
pub enum RefListResponse {
    UploadPack(Version),
    ReceivePack,
    /// The refs that a request asks for, and the heads of merge requests among them.
    LsRefs(LsRefsRequest, Vec<(String, ObjectId)>),
}

/// Lists of repositories with at most this many refs are sent from memory. Arbitrary.
const MAX_BUFFERED_REFS: usize = 500;
/// Size of the buffer between a streamed list and the client.
const BUFFER_SIZE: usize = 64 << 10;

impl RefListResponse {
    async fn write(&self, repository: &OpenRepository, output: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
        match self {
            // Clients of protocol version 2 need no service header.
            Self::UploadPack(Version::V2) => {}
            Self::UploadPack(_) => output.write_all(&advertisement::service_header(Service::UploadPack.name())).await?,
            Self::ReceivePack => output.write_all(&advertisement::service_header(Service::ReceivePack.name())).await?,
            Self::LsRefs(..) => {}
        }
        match self {
            Self::UploadPack(version) => repository.advertise_upload_pack(*version, true, output).await,
            Self::ReceivePack => repository.advertise_receive_pack(output).await,
            Self::LsRefs(request, merge_request_heads) => {
                repository.list_refs(request, merge_request_heads, output).await
            }
        }
    }

    /// Returns the list as a response body. A long list is produced at the rate at which the client reads it, and needs
    /// a permit.
    pub async fn into_body(self, context: &Context, repository: OpenRepository) -> Body {
        let is_short = matches!(self, Self::UploadPack(Version::V2));
        let merge_request_head_count =
            if let Self::LsRefs(_, merge_request_heads) = &self { merge_request_heads.len() } else { 0 };
        if is_short || repository.refs.len() + merge_request_head_count <= MAX_BUFFERED_REFS {
            let mut list = Vec::new();
            self.write(&repository, &mut list).await.expect("writing to a vector does not fail");
            return Body::from(list);
        }
        let permit = context.ref_list_permits.acquire(repository.client).await;
        let (mut writer, reader) = tokio::io::duplex(BUFFER_SIZE);
        tokio::spawn(async move {
            let _permit = permit;
            // Writing fails only if the client has disconnected.
            self.write(&repository, &mut writer).await.ok();
        });
        Body::from_stream(ReaderStream::with_capacity(reader, BUFFER_SIZE))
    }
}
