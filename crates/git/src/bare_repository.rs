//! Bare repositories on the disk of this node: cached repositories, quarantines and other temporary ones.
//!
//! Cached repositories contain packs and no refs. [`BareRepository::write_refs`] writes refs into a repository for git
//! commands that need them on disk.

use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{RefTarget, Result, add_path};

/// The directory of a bare repository, and that of the objects it borrows.
#[derive(Clone, Debug)]
pub struct BareRepository {
    directory: PathBuf,
    /// The `objects` directory of the repository that this one borrows from. It decides which files git processes may
    /// read. The file `objects/info/alternates` does not, because some of these processes can write it.
    alternate: Option<PathBuf>,
}

const HEAD: &str = "ref: refs/heads/master\n";
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";

impl BareRepository {
    /// Opens a repository and creates the files that are missing.
    pub fn create_or_open(directory: PathBuf) -> Result<Self> {
        if Self::open_if_complete(directory.clone()).is_none() {
            for part in ["objects/pack", "objects/info", "refs"].map(|part| directory.join(part)) {
                std::fs::create_dir_all(&part).map_err(add_path(&part))?;
            }
            let config = directory.join("config");
            std::fs::write(&config, CONFIG).map_err(add_path(&config))?;
            replace_file(&directory.join("HEAD"), HEAD.as_bytes())?;
        }
        Ok(Self { directory, alternate: None })
    }

    /// Opens a repository, or returns None if it is incomplete, for example because some of its files were deleted.
    pub fn open_if_complete(directory: PathBuf) -> Option<Self> {
        let parts = ["HEAD", "config", "refs", "objects/info", "objects/pack"];
        parts.iter().all(|part| directory.join(part).exists()).then_some(Self { directory, alternate: None })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the `objects` directory of the repository that this one borrows from, if there is one.
    pub(crate) fn borrowed(&self) -> Option<&Path> {
        self.alternate.as_deref()
    }

    pub fn pack_dir(&self) -> PathBuf {
        self.directory.join("objects/pack")
    }

    /// Returns the path of the commit-graph, from which git reads the history without parsing commits.
    pub fn commit_graph_path(&self) -> PathBuf {
        self.directory.join("objects/info/commit-graph")
    }

    /// Writes all refs for git commands that need them on disk. They are in one file, which is replaced atomically.
    pub fn write_refs<'a>(&self, head: &str, refs: impl Iterator<Item = (&'a str, RefTarget)>) -> Result<()> {
        let mut text = b"# pack-refs with: peeled fully-peeled sorted \n".to_vec();
        for (name, target) in refs {
            writeln!(text, "{} {name}", target.id)?;
            if let Some(peeled) = target.peeled {
                writeln!(text, "^{peeled}")?;
            }
        }
        replace_file(&self.directory.join("packed-refs"), &text)?;
        replace_file(&self.directory.join("HEAD"), format!("ref: {head}\n").as_bytes())?;
        Ok(())
    }
}

fn replace_file(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| add_path(path)(error.error))?;
    Ok(())
}

/// A temporary bare repository that receives objects before they are checked. It borrows the objects of the cached
/// repository, and is deleted when it is dropped.
#[derive(Debug)]
pub struct Quarantine {
    repository: BareRepository,
    directory: TempDir,
}

impl Quarantine {
    pub fn new(parent: &Path, alternate: Option<&BareRepository>) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("incoming-").tempdir_in(parent)?;
        let mut repository = BareRepository::create_or_open(directory.path().to_owned())?;
        if let Some(source) = alternate {
            let objects = source.directory.join("objects");
            let mut line = objects.clone().into_os_string().into_encoded_bytes();
            line.push(b'\n');
            let alternates = repository.directory.join("objects/info/alternates");
            std::fs::write(&alternates, line).map_err(add_path(&alternates))?;
            repository.alternate = Some(objects);
        }
        Ok(Self { repository, directory })
    }

    pub fn repository(&self) -> &BareRepository {
        &self.repository
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}
