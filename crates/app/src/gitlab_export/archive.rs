//! Reads the archive of an export: a tar file that is compressed with gzip.
//!
//! No name in the archive becomes a path. Known members are recognized by their names, all others are skipped. Long names
//! and other extensions of the format are not needed to recognize a member, so that they are skipped as well.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::MultiGzDecoder;
use tar::EntryType;

use super::records::Attributes;

/// Maximum size of all members together, when they are unpacked. Arbitrary.
const MAX_UNPACKED_BYTES: u64 = 64 << 30;
/// How much larger than the archive its members may be, so that a small archive takes little time. Texts are compressed to
/// a tenth of their size, seldom to a fiftieth.
const MAX_COMPRESSION: u64 = 100;
/// The size that all members together may always have. Arbitrary.
const MIN_UNPACKED_BYTES: u64 = 64 << 20;
/// Maximum number of members. Arbitrary: uploads are members of their own.
const MAX_MEMBERS: u64 = 1_000_000;
/// Maximum size of one line, which is an issue or a merge request with its notes. Arbitrary.
const MAX_LINE_BYTES: u64 = 32 << 20;
/// Maximum size of the attributes of the project. Arbitrary.
const MAX_ATTRIBUTES_BYTES: u64 = 16 << 20;
/// Maximum size of a line in the header of a bundle: the name of a ref, or an option.
const MAX_BUNDLE_LINE_BYTES: u64 = 8 << 10;
/// Maximum number of relations, so that a report stays small. GitLab exports about 60.
const MAX_RELATIONS: usize = 200;

/// Why an archive cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{0}")]
    Invalid(String),
    #[error("reading the archive failed: {0}")]
    Io(#[from] std::io::Error),
}

pub type Result<T> = std::result::Result<T, ArchiveError>;

fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(ArchiveError::Invalid(text.into()))
}

/// A part of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// The file with the version of the format.
    Version,
    /// The attributes of the project.
    Attributes,
    /// The bundle of git that contains the repository.
    Bundle,
    /// A relation, with one record in each line.
    Relation(String),
    /// A part that is not imported, by the name that the report gives it.
    NotImported(&'static str),
    /// A member that is neither imported nor reported, such as the version of GitLab.
    Ignored,
}

impl Member {
    fn from_name(name: &str) -> Self {
        let is_word = |name: &str| {
            (1..=60).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        match name {
            "VERSION" => return Self::Version,
            "tree/project.json" => return Self::Attributes,
            "project.bundle" => return Self::Bundle,
            "GITLAB_VERSION" | "GITLAB_REVISION" | "" => return Self::Ignored,
            "project.wiki.bundle" => return Self::NotImported("wiki"),
            "project.design.bundle" => return Self::NotImported("designs"),
            _ => {}
        }
        let relation = name.strip_prefix("tree/project/").and_then(|name| name.strip_suffix(".ndjson"));
        match (relation, name.split_once('/').map(|(directory, _)| directory)) {
            (Some(relation), _) if is_word(relation) => Self::Relation(relation.to_owned()),
            (_, Some("uploads")) => Self::NotImported("uploads"),
            (_, Some("lfs-objects")) => Self::NotImported("lfs_objects"),
            (_, Some("snippets")) => Self::NotImported("snippet_repositories"),
            _ => Self::NotImported("other_files"),
        }
    }
}

/// Reads at most as many bytes as an archive may have, and ends with an error when the reading is canceled.
struct BoundedReader<'a, R> {
    inner: R,
    left: u64,
    canceled: &'a AtomicBool,
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.canceled.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("the import was stopped"));
        }
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                "it is too large when it is unpacked: more than 64 GiB, or than a hundred times its size",
            )
        })?;
        Ok(count)
    }
}

/// Calls a function for each file of an archive of that size, with its content. The function may leave content unread.
pub fn for_each_member(
    archive: impl Read,
    archive_bytes: u64,
    canceled: &AtomicBool,
    mut use_member: impl FnMut(Member, &mut dyn Read) -> Result<()>,
) -> Result<()> {
    let mut compressed = BufReader::new(archive);
    if !compressed.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return invalid("The file is not a GitLab export: it is not compressed with gzip");
    }
    let max_bytes = archive_bytes.saturating_mul(MAX_COMPRESSION).clamp(MIN_UNPACKED_BYTES, MAX_UNPACKED_BYTES);
    let mut unpacked = BoundedReader { inner: MultiGzDecoder::new(compressed), left: max_bytes, canceled };
    let mut archive = tar::Archive::new(&mut unpacked);
    let (mut members, mut relations) = (0, 0);
    let mut known = Vec::new();
    // Raw entries: the extensions of the format are not read into memory, but arrive as entries.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        members += 1;
        if members > MAX_MEMBERS {
            return invalid(format!("The archive has more than {MAX_MEMBERS} members"));
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = name.strip_prefix("./").unwrap_or(&name);
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::Directory
            | EntryType::GNULongName
            | EntryType::GNULongLink
            | EntryType::XHeader
            | EntryType::XGlobalHeader => continue,
            _ => {
                let name = name.escape_debug();
                return invalid(format!("The archive has a member that is neither a file nor a directory: {name}"));
            }
        }
        if name.starts_with('/') || name.split('/').any(|part| part == "..") {
            return invalid(format!("The archive has a name outside of it: {}", name.escape_debug()));
        }
        if name == "project.json" {
            return invalid(
                "The export has the format of GitLab before 12.10: export the project from a later version",
            );
        }
        let member = Member::from_name(name);
        match &member {
            Member::NotImported(_) | Member::Ignored => {}
            member if known.contains(member) => {
                return invalid(format!("The archive has two members with the name {name}"));
            }
            member => {
                relations += usize::from(matches!(member, Member::Relation(_)));
                known.push(member.clone());
            }
        }
        if relations > MAX_RELATIONS {
            return invalid(format!("The archive has more than {MAX_RELATIONS} relations"));
        }
        use_member(member, &mut entry)?;
    }
    // The checksum follows the last member.
    std::io::copy(&mut unpacked, &mut std::io::sink())?;
    for (member, name) in [(Member::Version, "VERSION"), (Member::Attributes, "tree/project.json")] {
        if !known.contains(&member) {
            return invalid(format!("The file is not a GitLab export of a project: it has no {name}"));
        }
    }
    Ok(())
}

/// Parses the attributes of the project.
pub fn read_attributes(content: &mut dyn Read) -> Result<Attributes> {
    let mut bytes = Vec::new();
    content.take(MAX_ATTRIBUTES_BYTES).read_to_end(&mut bytes)?;
    serde_json::from_slice(&bytes).or_else(|error| invalid(format!("tree/project.json is not valid: {error}")))
}

/// The lines of a relation that are not empty.
pub struct Lines<R> {
    relation: &'static str,
    content: BufReader<R>,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub fn new(relation: &'static str, content: R) -> Self {
        Self { relation, content: BufReader::with_capacity(256 << 10, content), line: Vec::new() }
    }

    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            if (&mut self.content).take(MAX_LINE_BYTES).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            if self.line.len() as u64 == MAX_LINE_BYTES {
                return invalid(format!("A line of {} is larger than 32 MiB", self.relation));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(&self.line));
            }
        }
    }
}

/// Counts the lines of a relation that is not imported.
pub fn count_lines(content: &mut dyn Read) -> Result<u64> {
    let (mut buffer, mut count, mut is_blank) = (vec![0; 64 << 10], 0, true);
    loop {
        let read = content.read(&mut buffer)?;
        if read == 0 {
            return Ok(count + u64::from(!is_blank));
        }
        for byte in &buffer[..read] {
            if *byte == b'\n' {
                count += u64::from(!is_blank);
                is_blank = true;
            } else {
                is_blank &= byte.is_ascii_whitespace();
            }
        }
    }
}

/// What a bundle may contain.
#[derive(Clone, Copy, Debug)]
pub struct BundleLimits {
    pub bytes: u64,
    pub refs: usize,
}

impl BundleLimits {
    /// For a bundle that is not stored.
    pub const NONE: Self = Self { bytes: u64::MAX - 1, refs: usize::MAX };
}

/// Copies the bundle. Git must not see a file that is none: it would take the file for a repository, or for a link to one.
pub fn copy_bundle(content: &mut dyn Read, file: &mut impl Write, limits: BundleLimits) -> Result<()> {
    let mut content = BufReader::new(content.take(limits.bytes + 1));
    let mut line = Vec::new();
    for number in 0.. {
        line.clear();
        (&mut content).take(MAX_BUNDLE_LINE_BYTES).read_until(b'\n', &mut line)?;
        let is_bundle = match number {
            0 => matches!(&line[..], b"# v2 git bundle\n" | b"# v3 git bundle\n"),
            _ => line.ends_with(b"\n"),
        };
        if !is_bundle {
            return invalid("project.bundle is not a bundle of git");
        }
        if number > limits.refs {
            return invalid("project.bundle has more refs than this server accepts (git.max_refs)");
        }
        file.write_all(&line)?;
        if line == b"\n" {
            break;
        }
    }
    std::io::copy(&mut content, file)?;
    if content.into_inner().limit() == 0 {
        return invalid("The repository is larger than this server accepts (git.max_pack_bytes)");
    }
    Ok(())
}

/// Parses a line of a relation.
pub fn parse_line<'a, T: serde::Deserialize<'a>>(relation: &str, line: &'a [u8]) -> Result<T> {
    serde_json::from_slice(line).or_else(|error| invalid(format!("A line of {relation} is not valid: {error}")))
}
