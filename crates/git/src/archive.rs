//! The files of a commit in one file. Git makes it, so what attributes say of archives holds.

use gix::ObjectId;

use crate::program::Command;
use crate::{Bare, Git};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    TarGz,
    /// Made of what git makes of `Tar`.
    TarBz2,
    Tar,
    Zip,
}

/// The name of an archive and of the directory that everything in it lies in: letters, digits, dots, dashes and lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

const LONGEST: usize = 200;

impl Name {
    /// All else becomes a dash.
    pub fn new(project: &str, revision: &str, commit: ObjectId) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
        let named = format!("{project}-{revision}").chars().map(plain).take(LONGEST).collect::<String>();
        Self(format!("{}-{commit}", named.trim_start_matches(['.', '-'])))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Format {
    pub fn suffix(self) -> &'static str {
        match self {
            Self::TarGz => "tar.gz",
            Self::TarBz2 => "tar.bz2",
            Self::Tar => "tar",
            Self::Zip => "zip",
        }
    }
}

/// Writes it.
pub fn command(git: &Git, bare: &Bare, commit: ObjectId, format: Format, name: &Name) -> Command {
    let format = match format {
        Format::TarGz => "--format=tar.gz",
        Format::Tar | Format::TarBz2 => "--format=tar",
        Format::Zip => "--format=zip",
    };
    git.command(bare, "archive").word(format).directory_prefix(name).id(commit)
}
