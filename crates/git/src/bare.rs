//! Bare repositories on this node's disk: a cache, made of nothing but packs. They have no refs unless they are written
//! for a program that cannot do without.

use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Result, Target};

/// The directory of a bare repository, and that of the objects it borrows.
#[derive(Clone, Debug)]
pub struct Bare {
    directory: PathBuf,
    /// The `objects` directory of the repository that this one borrows from. What processes of git may read is decided by
    /// this path and not by the file `objects/info/alternates`, which some of these processes can write.
    borrowed: Option<PathBuf>,
}

const HEAD: &str = "ref: refs/heads/master\n";
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";

impl Bare {
    /// Makes what is missing of it.
    pub fn at(directory: PathBuf) -> Result<Self> {
        if Self::find(directory.clone()).is_none() {
            std::fs::create_dir_all(directory.join("objects/pack"))?;
            std::fs::create_dir_all(directory.join("objects/info"))?;
            std::fs::create_dir_all(directory.join("refs"))?;
            std::fs::write(directory.join("config"), CONFIG)?;
            replace(&directory.join("HEAD"), HEAD.as_bytes())?;
        }
        Ok(Self { directory, borrowed: None })
    }

    /// If it is whole: somebody may have deleted a part.
    pub fn find(directory: PathBuf) -> Option<Self> {
        let parts = ["HEAD", "config", "refs", "objects/info", "objects/pack"];
        parts.iter().all(|part| directory.join(part).exists()).then_some(Self { directory, borrowed: None })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the `objects` directory of the repository that this one borrows from, if there is one.
    pub(crate) fn borrowed(&self) -> Option<&Path> {
        self.borrowed.as_deref()
    }

    pub fn packs(&self) -> PathBuf {
        self.directory.join("objects/pack")
    }

    /// What git knows of the history without reading commits.
    pub fn graph(&self) -> PathBuf {
        self.directory.join("objects/info/commit-graph")
    }

    /// For programs that look for refs on the disk: all of them, in one file that is replaced as a whole.
    pub fn write_refs<'a>(&self, head: &str, refs: impl Iterator<Item = (&'a str, Target)>) -> Result<()> {
        let mut text = b"# pack-refs with: peeled fully-peeled sorted \n".to_vec();
        for (name, target) in refs {
            writeln!(text, "{} {name}", target.id)?;
            if let Some(peeled) = target.peeled {
                writeln!(text, "^{peeled}")?;
            }
        }
        replace(&self.directory.join("packed-refs"), &text)?;
        replace(&self.directory.join("HEAD"), format!("ref: {head}\n").as_bytes())?;
        Ok(())
    }
}

fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

/// Where objects arrive before it is known whether they may stay: a bare repository of its own that borrows what the
/// cached one has. It goes when this is dropped.
#[derive(Debug)]
pub struct Incoming {
    bare: Bare,
    directory: TempDir,
}

impl Incoming {
    pub fn new(parent: &Path, borrows: Option<&Bare>) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("incoming-").tempdir_in(parent)?;
        let mut bare = Bare::at(directory.path().to_owned())?;
        if let Some(lender) = borrows {
            let objects = lender.directory.join("objects");
            let mut line = objects.clone().into_os_string().into_encoded_bytes();
            line.push(b'\n');
            std::fs::write(bare.directory.join("objects/info/alternates"), line)?;
            bare.borrowed = Some(objects);
        }
        Ok(Self { bare, directory })
    }

    pub fn bare(&self) -> &Bare {
        &self.bare
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}
