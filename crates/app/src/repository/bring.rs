//! Packs as they are kept, fetched anew: for when the copy on this node's disk is not to be trusted.

use std::path::Path;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use holdfast_git::index_pack::PARTS;
use holdfast_store::objects::Content;
use holdfast_store::repository::pack::{self, Pack};
use tokio::io::AsyncWriteExt;

use crate::{App, Result};

/// None if there are none.
pub(super) async fn content(app: &App, pack: &Pack) -> Result<Option<Content>> {
    match &pack.object_key {
        Some(key) => Ok(app.objects.get(key).await?),
        None => {
            let bytes = pack::content(&mut *app.database.connection().await?, pack.id).await?;
            Ok(bytes.map(|bytes| futures_util::stream::once(async { Ok(Bytes::from(bytes)) }).boxed()))
        }
    }
}

/// Puts each part under its name; false if there are fewer bytes than there should be.
pub(super) async fn write_parts(mut content: Content, sizes: &[u64], stem: &Path) -> Result<bool> {
    let mut left = Bytes::new();
    for (part, size) in PARTS.iter().zip(sizes).filter(|(_, size)| **size > 0) {
        let mut file = tokio::fs::File::create(stem.with_extension(part)).await?;
        let mut missing = *size;
        while missing > 0 {
            if left.is_empty() {
                match content.try_next().await? {
                    Some(bytes) => left = bytes,
                    None => return Ok(false),
                }
            }
            let now = left.split_to(left.len().min(usize::try_from(missing).unwrap_or(usize::MAX)));
            file.write_all(&now).await?;
            missing -= now.len() as u64;
        }
        file.flush().await?;
    }
    Ok(true)
}
