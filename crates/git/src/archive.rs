//! Creates archives of commits with `git archive`, which applies the attributes `export-ignore` and `export-subst`.

use gix::ObjectId;

use crate::process::Command;
use crate::{BareRepository, Git};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveFormat {
    TarGz,
    /// Compressed by the caller: git creates a tar archive for it.
    TarBz2,
    Tar,
    Zip,
}

/// The name of an archive and of the top-level directory in it. Contains only letters, digits, dots, dashes and
/// underscores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveName(String);

const MAX_NAME_LENGTH: usize = 200;

impl ArchiveName {
    /// Builds a name. All other characters are replaced by dashes.
    pub fn new(project: &str, revision: &str, commit: ObjectId) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
        let base_name = format!("{project}-{revision}").chars().map(plain).take(MAX_NAME_LENGTH).collect::<String>();
        Self(format!("{}-{commit}", base_name.trim_start_matches(['.', '-'])))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ArchiveFormat {
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
