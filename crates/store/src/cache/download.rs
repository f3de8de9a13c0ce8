use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use holdfast_domain::ids::PackId;
use holdfast_git::index_pack::PARTS;
use tokio::io::AsyncWriteExt;

use super::{Cache, Error, Result};
use crate::objects::Content;
use crate::repository::pack::{self, Pack};
use crate::{Database, Objects};

impl Cache {
    /// Brings a pack here, unless it is; once, however many ask for it.
    pub(super) async fn download(&self, database: &Database, objects: &Objects, pack: &Pack) -> Result<()> {
        let flight = self.flight(pack.id);
        let _alone = flight.lock().await;
        let is_here = PARTS.iter().zip(pack.sizes).all(|(part, size)| size == 0 || self.slot.pack(pack, part).exists());
        let fetch = async {
            match is_here {
                true => Ok(()),
                false => {
                    let content = content(database, objects, pack).await?.ok_or(Error::Missing(pack.id))?;
                    self.store(pack, content).await
                }
            }
        };
        let fetched = fetch.await;
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner).remove(&pack.id);
        fetched
    }

    fn flight(&self, id: PackId) -> Arc<tokio::sync::Mutex<()>> {
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().clone()
    }

    /// One behind the other, each under its name only once it is whole.
    async fn store(&self, pack: &Pack, mut content: Content) -> Result<()> {
        std::fs::create_dir_all(self.slot.incoming())?;
        std::fs::create_dir_all(self.slot.packs())?;
        let directory = tempfile::Builder::new().prefix("download-").tempdir_in(self.slot.incoming())?;
        let mut left = Bytes::new();
        for (part, size) in PARTS.iter().zip(pack.sizes) {
            if size == 0 {
                continue;
            }
            let path = directory.path().join(part);
            left = write_part(&path, size, left, &mut content).await?.ok_or(Error::Missing(pack.id))?;
        }
        for (part, size) in PARTS.iter().zip(pack.sizes) {
            if size > 0 {
                self.place(&directory.path().join(part), pack, part, size)?;
            }
        }
        Ok(())
    }

    /// A file that is here already stays: repositories may be linked to it. Either way it is counted once.
    pub(super) fn place(&self, file: &Path, pack: &Pack, part: &str, size: u64) -> Result<()> {
        let place = self.slot.pack(pack, part);
        if !place.exists() {
            std::fs::rename(file, place)?;
            self.used.fetch_add(size, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Gives what came beyond the part; none if the content ends within it.
async fn write_part(path: &Path, size: u64, mut left: Bytes, content: &mut Content) -> Result<Option<Bytes>> {
    let mut file = tokio::fs::File::create(path).await?;
    let mut missing = size;
    while missing > 0 {
        if left.is_empty() {
            match content.try_next().await? {
                Some(bytes) => left = bytes,
                None => return Ok(None),
            }
        }
        let now = left.split_to(left.len().min(usize::try_from(missing).unwrap_or(usize::MAX)));
        file.write_all(&now).await?;
        missing -= now.len() as u64;
    }
    file.flush().await?;
    Ok(Some(left))
}

async fn content(database: &Database, objects: &Objects, pack: &Pack) -> Result<Option<Content>> {
    match &pack.object_key {
        Some(key) => Ok(objects.get(key).await?),
        None => {
            let bytes = pack::content(&mut *database.connection().await?, pack.id).await?;
            Ok(bytes.map(|bytes| futures_util::stream::once(async { Ok(Bytes::from(bytes)) }).boxed()))
        }
    }
}
