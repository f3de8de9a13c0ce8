//! Lists of refs, which may be very long.

use axum::body::Body;
use holdfast_app::repository::fetch::Opened;
use holdfast_git::protocol::upload::LsRefs;
use holdfast_git::protocol::{Version, advertisement};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::io::ReaderStream;

use super::door::Service;
use crate::Context;

/// What is said of the refs of a repository.
pub enum RefList {
    UploadPack(Version),
    ReceivePack,
    LsRefs(LsRefs),
}

/// Lists of repositories with at most this many refs are sent as a whole.
const MAX_BUFFERED_REFS: usize = 500;
/// What is between the list and the client.
const BUFFER_SIZE: usize = 64 << 10;

impl RefList {
    async fn write(&self, opened: &Opened, output: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
        match self {
            // The client knows this answer without the line in front of it.
            Self::UploadPack(Version::V2) => {}
            Self::UploadPack(_) => output.write_all(&advertisement::service(Service::UploadPack.name())).await?,
            Self::ReceivePack => output.write_all(&advertisement::service(Service::ReceivePack.name())).await?,
            Self::LsRefs(_) => {}
        }
        match self {
            Self::UploadPack(version) => opened.advertise_upload(*version, true, output).await,
            Self::ReceivePack => opened.advertise_receive(output).await,
            Self::LsRefs(request) => opened.list_refs(request, output).await,
        }
    }

    /// Returns the list as the body of a response. A long one is made as fast as the client takes it, and one client gets
    /// only so many of them at once.
    pub async fn into_body(self, context: &Context, opened: Opened) -> Body {
        let is_short = matches!(self, Self::UploadPack(Version::V2));
        if is_short || opened.refs.len() <= MAX_BUFFERED_REFS {
            let mut list = Vec::new();
            self.write(&opened, &mut list).await.expect("memory can be written to");
            return Body::from(list);
        }
        let permit = context.ref_lists.acquire(opened.client).await;
        let (mut ours, theirs) = tokio::io::duplex(BUFFER_SIZE);
        tokio::spawn(async move {
            let _permit = permit;
            // Fails only if the client is gone.
            self.write(&opened, &mut ours).await.ok();
        });
        Body::from_stream(ReaderStream::with_capacity(theirs, BUFFER_SIZE))
    }
}
