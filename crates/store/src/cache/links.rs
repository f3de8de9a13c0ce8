//! Links the files of packs from `packs/` into cached repositories.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use holdfast_domain::ids::PackId;
use holdfast_git::index_pack::IndexedPack;
use holdfast_git::pack_file::PackFile;
use holdfast_git::{BareRepository, Quarantine, add_path};

use super::{Cache, CachedRepository, Error, Result, dir_stamp};
use crate::repository::pack::Pack;

impl Cache {
    /// Removes packs that are not listed anymore. Git must not find their objects, since a push could come to depend on
    /// them.
    pub(super) fn remove_unlisted(&self, bare: &BareRepository, listed: &[Pack]) -> Result<()> {
        let stems: HashSet<String> = listed.iter().map(pack_file_stem).collect();
        let mut unlisted = Vec::new();
        let directory = bare.pack_dir();
        for file in std::fs::read_dir(&directory).map_err(add_path(&directory))? {
            let path = file?.path();
            let is_listed = path.file_stem().and_then(|name| name.to_str()).is_some_and(|name| stems.contains(name));
            unlisted.extend(Some(path).filter(|_| !is_listed));
        }
        // The index goes first: git finds a pack by its index.
        unlisted.sort_by_key(|path| path.extension() != Some(PackFile::Index.extension().as_ref()));
        for path in unlisted {
            std::fs::remove_file(&path).map_err(add_path(&path))?;
            self.remove_if_unlinked(&self.slot.packs_dir().join(path.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }

    pub(super) fn link(&self, bare: &BareRepository, pack: &Pack) -> Result<()> {
        for file in PackFile::LINK_ORDER.into_iter().filter(|file| pack.sizes.get(*file) > 0) {
            let path = link_path(bare, pack, file);
            match std::fs::hard_link(self.slot.pack_path(pack, file), &path) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(add_path(&path)(error).into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn install_pack(&self, bare: &BareRepository, pack: &Pack, files: &IndexedPack) -> Result<()> {
        dir_stamp::add_files_keeping_stamp(bare, || {
            self.move_files(pack, files)?;
            self.link(bare, pack)
        })?;
        // Files that were deleted before the directory was stamped leave no trace in the stamp.
        if is_fully_linked(bare, pack) { Ok(()) } else { Err(Error::Missing(pack.id)) }
    }

    fn move_files(&self, pack: &Pack, files: &IndexedPack) -> Result<()> {
        for (file, size) in pack.sizes.files() {
            self.install_file(&files.file_path(file), pack, file, size)?;
        }
        Ok(())
    }

    /// Creates a temporary repository with some packs of a cached one. The packs in `keep_ids` get a `.keep` file.
    pub fn scratch_repository<'a>(
        &self,
        cached: &CachedRepository,
        packs: impl IntoIterator<Item = &'a Pack>,
        keep_ids: &[PackId],
    ) -> Result<Quarantine> {
        let scratch = self.quarantine(None)?;
        for pack in packs {
            for (file, _) in pack.sizes.files() {
                let path = link_path(&cached.bare, pack, file);
                std::fs::hard_link(&path, link_path(scratch.repository(), pack, file)).map_err(add_path(&path))?;
            }
            if keep_ids.contains(&pack.id) {
                let path = link_path(scratch.repository(), pack, PackFile::Pack).with_extension("keep");
                std::fs::write(&path, "").map_err(add_path(&path))?;
            }
        }
        Ok(scratch)
    }

    /// Returns the path of a pack's index in a cached repository.
    pub fn index_path(&self, cached: &CachedRepository, pack: &Pack) -> PathBuf {
        link_path(&cached.bare, pack, PackFile::Index)
    }
}

/// Links the largest commit-graph of the packs as the repository's own, or removes the link if no pack has one.
pub(super) fn link_commit_graph(bare: &BareRepository, packs: &[Pack]) -> std::io::Result<()> {
    let graph_path = bare.commit_graph_path();
    let with_graph = packs.iter().filter(|pack| pack.sizes.commit_graph > 0);
    let Some(pack) = with_graph.max_by_key(|pack| pack.sizes.commit_graph) else {
        return match std::fs::remove_file(&graph_path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(add_path(&graph_path)(error)),
            _ => Ok(()),
        };
    };
    let pack_graph = link_path(bare, pack, PackFile::CommitGraph);
    let inode = |path: &Path| std::fs::metadata(path).map(|file| file.ino());
    if inode(&graph_path).ok() == Some(inode(&pack_graph).map_err(add_path(&pack_graph))?) {
        return Ok(());
    }
    let temporary = graph_path.with_extension("new");
    std::fs::remove_file(&temporary).ok();
    std::fs::hard_link(&pack_graph, &temporary).map_err(add_path(&temporary))?;
    std::fs::rename(temporary, &graph_path).map_err(add_path(&graph_path))
}

/// Returns whether all files of a pack are linked. Single files may have been deleted from outside.
pub(super) fn is_fully_linked(bare: &BareRepository, pack: &Pack) -> bool {
    pack.sizes.files().all(|(file, _)| link_path(bare, pack, file).exists())
}

fn link_path(bare: &BareRepository, pack: &Pack, file: PackFile) -> PathBuf {
    bare.pack_dir().join(format!("{}.{}", pack_file_stem(pack), file.extension()))
}

/// Returns the file name of a pack without extension. It contains the checksum, since after a point-in-time recovery of
/// the database the same id is assigned to another pack.
pub fn pack_file_stem(pack: &Pack) -> String {
    format!("pack-{}-{}", pack.checksum, pack.id)
}
