//! Downloads packs into the cache, from the object store or, if small, from the database.

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
use holdfast_git::pack_file::PackFile;
use holdfast_git::{BareRepository, add_path, is_storage_full};

use super::links::is_fully_linked;
use super::{Cache, Error, Result};
use crate::repository::pack::{self, Pack};
use crate::{Database, Objects};

/// Maximum number of packs of one repository that are downloaded concurrently. Arbitrary.
const MAX_CONCURRENT_PACKS: usize = 8;
/// Large packs are downloaded in ranges of this size, several concurrently: one stream from a bucket is slower than the
/// network.
const RANGE_BYTES: u64 = 16 << 20;
const MAX_CONCURRENT_RANGES: usize = 4;
/// Bytes that are collected before they are written to disk, each time on a blocking thread.
const WRITE_CHUNK_SIZE: usize = 256 << 10;

/// A file of a pack and its offset in the object.
struct Part {
    file: File,
    begin: u64,
    size: u64,
}

/// How often a pack is downloaded that is evicted before it is linked. Arbitrary.
const MAX_ATTEMPTS: usize = 100;

impl Cache {
    /// Downloads and links the packs that a cached repository lacks, and returns their number.
    pub(super) async fn download_missing(
        &self,
        database: &Database,
        objects: &Objects,
        bare: &BareRepository,
        packs: &[Pack],
    ) -> Result<usize> {
        let missing: Vec<Result<&Pack>> = packs.iter().filter(|pack| !is_fully_linked(bare, pack)).map(Ok).collect();
        let count = missing.len();
        let ensure_pack = |pack| self.ensure_pack(database, objects, bare, pack);
        stream::iter(missing).try_for_each_concurrent(MAX_CONCURRENT_PACKS, ensure_pack).await?;
        Ok(count)
    }

    async fn ensure_pack(
        &self,
        database: &Database,
        objects: &Objects,
        bare: &BareRepository,
        pack: &Pack,
    ) -> Result<()> {
        for _ in 0..MAX_ATTEMPTS {
            if is_fully_linked(bare, pack) {
                return Ok(());
            }
            self.download(database, objects, pack).await?;
            match self.link(bare, pack) {
                // The pack was evicted between download and link.
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                linked => linked?,
            }
        }
        Err(Error::Missing(pack.id))
    }

    /// Downloads a pack unless `packs/` contains it. Concurrent calls for the same pack download it once.
    async fn download(&self, database: &Database, objects: &Objects, pack: &Pack) -> Result<()> {
        let lock = self.download_lock(pack.id);
        let _guard = lock.lock().await;
        let is_present = pack.sizes.files().all(|(file, _)| self.slot.pack_path(pack, file).exists());
        let fetched = if is_present { Ok(()) } else { self.download_files(database, objects, pack).await };
        let fetched = match fetched {
            Err(Error::Io(error)) if is_storage_full(&error) => {
                tracing::warn!(%error, "disk is full, evicting all unused cached repositories");
                self.evict_down_to(0);
                self.download_files(database, objects, pack).await
            }
            fetched => fetched,
        };
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner).remove(&pack.id);
        fetched
    }

    fn download_lock(&self, id: PackId) -> Arc<tokio::sync::Mutex<()>> {
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().clone()
    }

    /// Downloads all files of a pack into a temporary directory, and moves them into `packs/` when all are complete.
    async fn download_files(&self, database: &Database, objects: &Objects, pack: &Pack) -> Result<()> {
        let (incoming, packs) = (self.slot.incoming_dir(), self.slot.packs_dir());
        std::fs::create_dir_all(&incoming).map_err(add_path(&incoming))?;
        // The directory was deleted from outside, with all files that `used_bytes` counts.
        if !packs.exists() {
            self.used_bytes.store(0, Ordering::Relaxed);
        }
        std::fs::create_dir_all(&packs).map_err(add_path(&packs))?;
        let directory = tempfile::Builder::new().prefix("download-").tempdir_in(incoming)?;
        let mut begin = 0;
        let mut parts = Vec::new();
        for (file, size) in pack.sizes.files() {
            let path = directory.path().join(file.extension());
            parts.push(Part { file: File::create(&path).map_err(add_path(&path))?, begin, size });
            begin += size;
        }
        let parts: Arc<[Part]> = parts.into();
        match &pack.object_key {
            Some(key) => {
                let fetch = |range| fetch(objects, key, pack, range, &parts);
                stream::iter(split_ranges(pack.bytes()).map(Ok))
                    .try_for_each_concurrent(MAX_CONCURRENT_RANGES, fetch)
                    .await?;
            }
            None => {
                let content = pack::find_content(&mut *database.connection().await?, pack.id).await?;
                let content = content.filter(|content| content.len() as u64 >= pack.bytes());
                write(&parts, 0, content.ok_or(Error::Missing(pack.id))?.into()).await?;
            }
        }
        for (file, size) in pack.sizes.files() {
            self.install_file(&directory.path().join(file.extension()), pack, file, size)?;
        }
        Ok(())
    }

    /// Moves a file of a pack into `packs/` and counts its size. An existing file is kept and not counted again: cached
    /// repositories may be linked to it.
    pub(super) fn install_file(&self, source: &Path, pack: &Pack, file: PackFile, size: u64) -> Result<()> {
        let path = self.slot.pack_path(pack, file);
        if !path.exists() {
            std::fs::rename(source, &path).map_err(add_path(&path))?;
            self.used_bytes.fetch_add(size, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn split_ranges(bytes: u64) -> impl Iterator<Item = Range<u64>> {
    (0..bytes.div_ceil(RANGE_BYTES)).map(move |n| n * RANGE_BYTES..((n + 1) * RANGE_BYTES).min(bytes))
}

/// Downloads one range of an object, and retries once if the object store fails.
async fn fetch(objects: &Objects, key: &str, pack: &Pack, range: Range<u64>, parts: &Arc<[Part]>) -> Result<()> {
    match fetch_once(objects, key, pack, range.clone(), parts).await {
        Err(Error::ObjectStore(error)) => {
            tracing::warn!(%error, key, "downloading pack failed, retrying");
            fetch_once(objects, key, pack, range, parts).await
        }
        fetched => fetched,
    }
}

async fn fetch_once(objects: &Objects, key: &str, pack: &Pack, range: Range<u64>, parts: &Arc<[Part]>) -> Result<()> {
    let found = objects.get_range(key, range.clone()).await?;
    let mut content = found.ok_or(Error::Missing(pack.id))?;
    let mut position = range.start;
    let mut buffer = BytesMut::new();
    loop {
        let next = content.try_next().await?;
        let is_last = next.is_none();
        buffer.extend_from_slice(&next.unwrap_or_default());
        if buffer.len() >= WRITE_CHUNK_SIZE || (is_last && !buffer.is_empty()) {
            let bytes = buffer.split().freeze();
            let offset = position;
            position += bytes.len() as u64;
            write(parts, offset, bytes).await?;
        }
        if is_last {
            return if position == range.end { Ok(()) } else { Err(Error::Missing(pack.id)) };
        }
    }
}

/// Writes bytes at `position` of the object to the files that cover this part of it.
async fn write(parts: &Arc<[Part]>, position: u64, bytes: Bytes) -> Result<()> {
    let parts = parts.clone();
    let write = move || {
        for part in &*parts {
            let begin = position.max(part.begin);
            let end = (position + bytes.len() as u64).min(part.begin + part.size);
            if begin < end {
                let range = [begin, end].map(|offset| usize::try_from(offset - position).unwrap_or(usize::MAX));
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
    fn ranges_cover_every_byte_once() {
        assert_eq!(split_ranges(0).count(), 0);
        assert_eq!(split_ranges(RANGE_BYTES).collect::<Vec<_>>(), std::slice::from_ref(&(0..RANGE_BYTES)));
        assert_eq!(split_ranges(RANGE_BYTES + 1).collect::<Vec<_>>(), [0..RANGE_BYTES, RANGE_BYTES..RANGE_BYTES + 1]);
    }

    #[tokio::test]
    async fn write_splits_bytes_between_files() {
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
