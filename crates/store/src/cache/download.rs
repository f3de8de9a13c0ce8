use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::{TryStreamExt, stream};
use holdfast_domain::ids::PackId;
use holdfast_git::index_pack::PARTS;
use holdfast_git::{Bare, is_full};

use super::{Cache, Error, Result, is_linked};
use crate::repository::pack::{self, Pack};
use crate::{Database, Objects};

/// Packs of one repository that come at once.
const PACKS_AT_ONCE: usize = 8;
/// A large one comes in pieces, some at once: one stream from a bucket is slower than the network.
const PIECE: u64 = 16 << 20;
const PIECES_AT_ONCE: usize = 4;
/// Written at a time.
const BUFFER: usize = 256 << 10;

/// A file of a pack, and where in the object it begins.
struct Part {
    file: File,
    begin: u64,
    size: u64,
}

/// So often a pack is brought here that vanishes before it is used.
const ROUNDS: usize = 100;

impl Cache {
    /// Brings those packs here that are not, and links them; how many they were.
    pub(super) async fn complete(
        &self,
        database: &Database,
        objects: &Objects,
        bare: &Bare,
        packs: &[Pack],
    ) -> Result<usize> {
        let missing: Vec<Result<&Pack>> = packs.iter().filter(|pack| !is_linked(bare, pack)).map(Ok).collect();
        let count = missing.len();
        let bring = |pack| self.bring(database, objects, bare, pack);
        stream::iter(missing).try_for_each_concurrent(PACKS_AT_ONCE, bring).await?;
        Ok(count)
    }

    async fn bring(&self, database: &Database, objects: &Objects, bare: &Bare, pack: &Pack) -> Result<()> {
        for _ in 0..ROUNDS {
            if is_linked(bare, pack) {
                return Ok(());
            }
            self.download(database, objects, pack).await?;
            match self.link(bare, pack) {
                // It was evicted before we had it.
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                linked => linked?,
            }
        }
        Err(Error::Missing(pack.id))
    }

    /// Unless it is here; once, however many ask for it.
    async fn download(&self, database: &Database, objects: &Objects, pack: &Pack) -> Result<()> {
        let flight = self.flight(pack.id);
        let _alone = flight.lock().await;
        let is_here = PARTS.iter().zip(pack.sizes).all(|(part, size)| size == 0 || self.slot.pack(pack, part).exists());
        let fetched = if is_here { Ok(()) } else { self.store(database, objects, pack).await };
        let fetched = match fetched {
            Err(Error::Io(error)) if is_full(&error) => {
                tracing::warn!(%error, "the disk is full: all copies that are not in use are evicted");
                self.evict_down_to(0);
                self.store(database, objects, pack).await
            }
            fetched => fetched,
        };
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner).remove(&pack.id);
        fetched
    }

    fn flight(&self, id: PackId) -> Arc<tokio::sync::Mutex<()>> {
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().clone()
    }

    /// Each file is under its name only once all of them are whole.
    async fn store(&self, database: &Database, objects: &Objects, pack: &Pack) -> Result<()> {
        std::fs::create_dir_all(self.slot.incoming())?;
        // Somebody has deleted it, with all that was counted.
        if !self.slot.packs().exists() {
            self.used.store(0, Ordering::Relaxed);
        }
        std::fs::create_dir_all(self.slot.packs())?;
        let directory = tempfile::Builder::new().prefix("download-").tempdir_in(self.slot.incoming())?;
        let mut begin = 0;
        let mut parts = Vec::new();
        for (part, size) in PARTS.iter().zip(pack.sizes).filter(|(_, size)| *size > 0) {
            parts.push(Part { file: File::create(directory.path().join(part))?, begin, size });
            begin += size;
        }
        let parts: Arc<[Part]> = parts.into();
        match &pack.object_key {
            Some(key) => {
                let fetch = |piece| fetch(objects, key, pack, piece, &parts);
                stream::iter(pieces(pack.bytes()).map(Ok)).try_for_each_concurrent(PIECES_AT_ONCE, fetch).await?;
            }
            None => {
                let content = pack::content(&mut *database.connection().await?, pack.id).await?;
                let content = content.filter(|content| content.len() as u64 >= pack.bytes());
                write(&parts, 0, content.ok_or(Error::Missing(pack.id))?.into()).await?;
            }
        }
        for (part, size) in PARTS.iter().zip(pack.sizes).filter(|(_, size)| *size > 0) {
            self.place(&directory.path().join(part), pack, part, size)?;
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

fn pieces(bytes: u64) -> impl Iterator<Item = Range<u64>> {
    (0..bytes.div_ceil(PIECE)).map(move |n| n * PIECE..((n + 1) * PIECE).min(bytes))
}

/// A second time if the first one breaks off.
async fn fetch(objects: &Objects, key: &str, pack: &Pack, piece: Range<u64>, parts: &Arc<[Part]>) -> Result<()> {
    match fetch_once(objects, key, pack, piece.clone(), parts).await {
        Err(Error::ObjectStore(error)) => {
            tracing::warn!(%error, key, "a pack broke off on its way");
            fetch_once(objects, key, pack, piece, parts).await
        }
        fetched => fetched,
    }
}

async fn fetch_once(objects: &Objects, key: &str, pack: &Pack, piece: Range<u64>, parts: &Arc<[Part]>) -> Result<()> {
    let found = objects.get_range(key, piece.clone()).await?;
    let mut content = found.ok_or(Error::Missing(pack.id))?;
    let mut position = piece.start;
    let mut buffer = BytesMut::new();
    loop {
        let next = content.try_next().await?;
        let is_last = next.is_none();
        buffer.extend_from_slice(&next.unwrap_or_default());
        if buffer.len() >= BUFFER || (is_last && !buffer.is_empty()) {
            let bytes = buffer.split().freeze();
            let at = position;
            position += bytes.len() as u64;
            write(parts, at, bytes).await?;
        }
        if is_last {
            return if position == piece.end { Ok(()) } else { Err(Error::Missing(pack.id)) };
        }
    }
}

/// What stands at that place of the object goes to its place in the files.
async fn write(parts: &Arc<[Part]>, position: u64, bytes: Bytes) -> Result<()> {
    let parts = parts.clone();
    let write = move || {
        for part in &*parts {
            let begin = position.max(part.begin);
            let end = (position + bytes.len() as u64).min(part.begin + part.size);
            if begin < end {
                let range = [begin, end].map(|place| usize::try_from(place - position).unwrap_or(usize::MAX));
                part.file.write_all_at(&bytes[range[0]..range[1]], begin - part.begin)?;
            }
        }
        Ok::<_, io::Error>(())
    };
    Ok(tokio::task::spawn_blocking(write).await.map_err(io::Error::other)??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_everything_once() {
        assert_eq!(pieces(0).count(), 0);
        assert_eq!(pieces(PIECE).collect::<Vec<_>>(), std::slice::from_ref(&(0..PIECE)));
        assert_eq!(pieces(PIECE + 1).collect::<Vec<_>>(), [0..PIECE, PIECE..PIECE + 1]);
    }

    #[tokio::test]
    async fn what_crosses_files_is_divided() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let part = |name: &str, begin, size| Part { file: File::create(path(name)).unwrap(), begin, size };
        let parts: Arc<[Part]> = [part("a", 0, 3), part("b", 3, 2), part("c", 5, 4)].into();
        write(&parts, 2, Bytes::from_static(b"cdefg")).await.unwrap();
        write(&parts, 7, Bytes::from_static(b"hi")).await.unwrap();
        write(&parts, 0, Bytes::from_static(b"ab")).await.unwrap();
        for (name, content) in [("a", "abc"), ("b", "de"), ("c", "fghi")] {
            assert_eq!(std::fs::read_to_string(path(name)).unwrap(), content);
        }
    }
}
