//! Downloads packs from where they are stored, for checks that must not rely on the local cache.

use std::path::Path;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use holdfast_git::pack_file::PackSizes;
use holdfast_store::objects::ByteStream;
use holdfast_store::repository::pack::{self, Pack};
use tokio::io::AsyncWriteExt;

use crate::{App, Result};

/// Returns the files of a pack as one stream, or `None` if they do not exist.
pub(super) async fn open_content(app: &App, pack: &Pack) -> Result<Option<ByteStream>> {
    match &pack.object_key {
        Some(key) => Ok(app.objects.get(key).await?),
        None => {
            let bytes = pack::find_content(&mut *app.database.connection().await?, pack.id).await?;
            Ok(bytes.map(|bytes| futures_util::stream::once(async { Ok(Bytes::from(bytes)) }).boxed()))
        }
    }
}

/// Splits the stream into the files of a pack. Returns false if it has fewer bytes than it should.
pub(super) async fn write_files(mut content: ByteStream, sizes: PackSizes, stem: &Path) -> Result<bool> {
    let mut buffered = Bytes::new();
    for (pack_file, size) in sizes.files() {
        let mut file = tokio::fs::File::create(stem.with_extension(pack_file.extension())).await?;
        let mut remaining = size;
        while remaining > 0 {
            if buffered.is_empty() {
                match content.try_next().await? {
                    Some(bytes) => buffered = bytes,
                    None => return Ok(false),
                }
            }
            let chunk = buffered.split_to(buffered.len().min(usize::try_from(remaining).unwrap_or(usize::MAX)));
            file.write_all(&chunk).await?;
            remaining -= chunk.len() as u64;
        }
        file.flush().await?;
    }
    Ok(true)
}
