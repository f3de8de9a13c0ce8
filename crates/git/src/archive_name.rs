//! Names of archives, which become a part of an argument of git.

use gix::ObjectId;

/// The name of an archive and of the top-level directory in it. Contains only letters, digits, dots, dashes and
/// underscores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveName(String);

/// Maximum number of characters before the commit id. Arbitrary.
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
