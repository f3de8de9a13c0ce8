//! Creates archives of commits with `git archive`, which applies the attributes `export-ignore` and `export-subst`.

use gix::ObjectId;

pub use crate::archive_name::ArchiveName;
use crate::process::Command;
use crate::{BareRepository, Git};

/// The format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveFormat {
    TarGz,
    /// Compressed by the caller: git creates a tar archive for it.
    TarBz2,
    Tar,
    Zip,
}

impl ArchiveFormat {
    pub const ALL: [Self; 4] = [Self::TarGz, Self::TarBz2, Self::Tar, Self::Zip];

    pub fn suffix(self) -> &'static str {
        match self {
            Self::TarGz => "tar.gz",
            Self::TarBz2 => "tar.bz2",
            Self::Tar => "tar",
            Self::Zip => "zip",
        }
    }
}

/// Prepares the command that writes an archive to stdout.
pub fn command(
    git: &Git,
    repository: &BareRepository,
    commit: ObjectId,
    format: ArchiveFormat,
    name: &ArchiveName,
) -> Command {
    let format = match format {
        ArchiveFormat::TarGz => "--format=tar.gz",
        ArchiveFormat::Tar | ArchiveFormat::TarBz2 => "--format=tar",
        ArchiveFormat::Zip => "--format=zip",
    };
    git.command(repository, "archive").arg(format).arg_prefix(name).arg_oid(commit)
}
