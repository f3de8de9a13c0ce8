//! The files in the artifacts of a build. Only the list at the end of the archive and the requested file are read.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use futures_util::{StreamExt, TryStreamExt, stream};
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::projects::upload::sanitize_file_name;
use holdfast_store::ci::artifact::{self, Artifact};
use holdfast_store::ci::build_list;
use holdfast_store::objects::ByteStream;

use super::build::{self, Build};
use super::zip::{self, Compression, ZipEntry};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of files of an archive whose files are listed.
const MAX_ENTRIES: usize = 10_000;
/// Maximum size of the list of files. Enough for that many paths of usual length.
const MAX_LIST_BYTES: u64 = 4 << 20;
/// Maximum size of a file that is read from an archive.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// Maximum number of entries of a directory that are shown.
const MAX_SHOWN: usize = 1_000;
/// Size of the parts of a file that are sent.
const PART_BYTES: usize = 64 << 10;

/// A directory in the artifacts of a build.
pub struct ArtifactDirectory {
    pub project: Project,
    pub build: Build,
    pub content: DirectoryContent,
}

pub enum DirectoryContent {
    /// The build has no artifacts, or they have expired.
    NoArtifacts,
    /// The artifacts are not a zip archive, or have too many files.
    Unreadable,
    Files(Vec<ArtifactEntry>),
}

/// An entry of a directory. Directories come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactEntry {
    pub name: String,
    /// The size of a file. None for a directory.
    pub bytes: Option<u64>,
}

/// Lists a directory in the artifacts of a build; the empty path is the root. Fails if there is no such directory.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: BuildId,
    path: &str,
) -> Result<ArtifactDirectory> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    let build = build::find(app, &mut connection, &project, id).await?;
    let found = artifact::find(&mut connection, id, app.clock.now()).await?;
    drop(connection);
    let content = match found {
        None => DirectoryContent::NoArtifacts,
        Some(artifact) => match read_entries(app, &artifact).await? {
            None => DirectoryContent::Unreadable,
            Some(entries) => {
                let shown = directory(&entries, path.trim_end_matches('/'));
                if shown.is_empty() && !path.is_empty() {
                    return Err(Error::NotFound(Resource::File));
                }
                DirectoryContent::Files(shown)
            }
        },
    };
    Ok(ArtifactDirectory { project, build, content })
}

/// A file in the artifacts of a build.
pub struct ArtifactFile {
    pub file_name: String,
    pub bytes: u64,
    pub content: ByteStream,
}

/// Opens a file in the artifacts of a build. Returns None if the build has no artifacts, and fails if they have no such
/// file.
#[crate::boxed]
pub async fn open(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: BuildId,
    path: &str,
) -> Result<Option<ArtifactFile>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    build::find(app, &mut connection, &project, id).await?;
    let found = artifact::find(&mut connection, id, app.clock.now()).await?;
    drop(connection);
    open_in(app, found, path).await
}

/// Like [`open`], for the build with this name in the newest successful pipeline of a ref. Fails if there is none.
#[crate::boxed]
pub async fn open_latest(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    ref_name: &str,
    name: &str,
    path: &str,
) -> Result<Option<ArtifactFile>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    let id = build_list::find_newest_success(&mut connection, project.id, ref_name, name).await?;
    let id = id.ok_or(Error::NotFound(Resource::Record))?;
    let found = artifact::find(&mut connection, id, app.clock.now()).await?;
    drop(connection);
    open_in(app, found, path).await
}

async fn open_in(app: &App, found: Option<Artifact>, path: &str) -> Result<Option<ArtifactFile>> {
    let Some(artifact) = found else { return Ok(None) };
    let entries = read_entries(app, &artifact).await?.unwrap_or_default();
    let entry = entries.into_iter().find(|entry| entry.path == path && !path.ends_with('/'));
    let entry = entry.ok_or(Error::NotFound(Resource::File))?;
    // A file that is not compressed is as long as its content in the archive.
    let bytes = if entry.compression == Compression::None { entry.compressed_bytes } else { entry.bytes };
    if bytes > MAX_FILE_BYTES || entry.compression == Compression::Unknown {
        let text = "The file is too large or has an unknown format. Download the whole archive.";
        return Err(Error::Rejected(text.to_owned()));
    }
    let header_end = entry.header_start.saturating_add(zip::LOCAL_HEADER_BYTES);
    let header = read_range(app, &artifact, entry.header_start..header_end).await?;
    let header_bytes = zip::local_header_bytes(&header).ok_or_else(malformed)?;
    let start = entry.header_start.saturating_add(header_bytes);
    let end = start.saturating_add(entry.compressed_bytes);
    if end > artifact_bytes(&artifact) {
        return Err(malformed());
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let content = match start == end {
        true => stream::empty().boxed(),
        false => {
            let found = app.objects.get_range(&artifact.object_key, start..end).await?;
            let content = found.ok_or(Error::NotFound(Resource::Record))?.map_err(std::io::Error::other).boxed();
            if entry.compression == Compression::Deflate { inflate(content, bytes) } else { content }
        }
    };
    Ok(Some(ArtifactFile { file_name: sanitize_file_name(name), bytes, content }))
}

fn malformed() -> Error {
    Error::Rejected("The archive is malformed. Download it instead.".to_owned())
}

fn artifact_bytes(artifact: &Artifact) -> u64 {
    u64::try_from(artifact.bytes).unwrap_or(0)
}

async fn read_range(app: &App, artifact: &Artifact, range: Range<u64>) -> Result<Vec<u8>> {
    if range.is_empty() || range.end > artifact_bytes(artifact) {
        return Ok(Vec::new());
    }
    let found = app.objects.get_range(&artifact.object_key, range).await?;
    let mut parts = found.ok_or(Error::NotFound(Resource::Record))?;
    let mut content = Vec::new();
    while let Some(part) = parts.try_next().await? {
        content.extend_from_slice(&part);
    }
    Ok(content)
}

/// Reads the list of files of an archive. Returns None if it is malformed or too long.
async fn read_entries(app: &App, artifact: &Artifact) -> Result<Option<Vec<ZipEntry>>> {
    let bytes = artifact_bytes(artifact);
    let end = read_range(app, artifact, bytes.saturating_sub(zip::MAX_END_BYTES)..bytes).await?;
    let position = zip::find_list(&end, bytes);
    let is_short = |entries: u64| usize::try_from(entries).is_ok_and(|count| count <= MAX_ENTRIES);
    let Some(position) = position.filter(|it| it.bytes <= MAX_LIST_BYTES && is_short(it.entries)) else {
        return Ok(None);
    };
    let list = read_range(app, artifact, position.start..position.start.saturating_add(position.bytes)).await?;
    Ok(zip::read_list(&list, MAX_ENTRIES))
}

/// Returns the entries of a directory. Paths that no address can have, because browsers change them, are left out.
fn directory(entries: &[ZipEntry], path: &str) -> Vec<ArtifactEntry> {
    let mut files = BTreeMap::new();
    let mut directories = BTreeMap::new();
    for entry in entries {
        let has_address = |path: &str| path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        let is_directory = entry.path.ends_with('/');
        if !has_address(entry.path.trim_end_matches('/')) {
            continue;
        }
        let below = match path {
            "" => Some(entry.path.as_str()),
            _ => entry.path.strip_prefix(path).and_then(|rest| rest.strip_prefix('/')),
        };
        match below.filter(|below| !below.is_empty()).map(|below| below.split_once('/')) {
            None => {}
            Some(Some((name, _))) => drop(directories.insert(name.to_owned(), None)),
            Some(None) if is_directory => {}
            Some(None) => drop(files.insert(below.unwrap_or_default().to_owned(), Some(entry.bytes))),
        }
    }
    let all = directories.into_iter().chain(files);
    all.take(MAX_SHOWN).map(|(name, bytes)| ArtifactEntry { name, bytes }).collect()
}

/// Decompresses a file. Fails if it is longer than the archive says, so that a small archive cannot make a large
/// response.
fn inflate(content: ByteStream, bytes: u64) -> ByteStream {
    let state = (content, Decompress::new(false), Bytes::new(), false);
    let next = move |(mut content, mut decompress, mut input, mut is_over): (ByteStream, Decompress, Bytes, bool)| async move {
        loop {
            if is_over {
                return None;
            }
            let mut output = Vec::with_capacity(PART_BYTES);
            let before = decompress.total_in();
            let status = match decompress.decompress_vec(&input, &mut output, FlushDecompress::None) {
                Ok(status) => status,
                Err(error) => return Some((Err(std::io::Error::other(error)), (content, decompress, input, true))),
            };
            let used = usize::try_from(decompress.total_in() - before).unwrap_or(input.len()).min(input.len());
            input = input.slice(used..);
            is_over = status == Status::StreamEnd;
            if decompress.total_out() > bytes {
                let error = std::io::Error::other("a file of the archive is longer than its list says");
                return Some((Err(error), (content, decompress, input, true)));
            }
            if !output.is_empty() {
                return Some((Ok(Bytes::from(output)), (content, decompress, input, is_over)));
            }
            if input.is_empty() && !is_over {
                match content.next().await {
                    Some(Ok(part)) => input = part,
                    Some(Err(error)) => return Some((Err(error), (content, decompress, input, true))),
                    None => is_over = true,
                }
            }
        }
    };
    stream::unfold(state, next).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> ZipEntry {
        let compression = Compression::None;
        ZipEntry { path: path.to_owned(), compression, compressed_bytes: 1, bytes: 1, header_start: 0 }
    }

    #[test]
    fn directories_are_derived_from_paths() {
        let entries: Vec<ZipEntry> =
            ["a/", "a/b/c.txt", "a/d.txt", "e.txt", "../x", "/y", "a//z", "ab/f"].map(entry).into();
        let names = |path| directory(&entries, path).into_iter().map(|it| (it.name, it.bytes)).collect::<Vec<_>>();
        let expected = [("a", None), ("ab", None), ("e.txt", Some(1))].map(|(name, bytes)| (name.to_owned(), bytes));
        assert_eq!(names(""), expected);
        assert_eq!(names("a"), [("b".to_owned(), None), ("d.txt".to_owned(), Some(1))]);
        assert!(names("e.txt").is_empty() && names("..").is_empty());
    }

    #[tokio::test]
    async fn a_file_is_not_longer_than_its_list_says() {
        use std::io::Write as _;
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&[b'x'; 1_000_000]).unwrap();
        let compressed = Bytes::from(encoder.finish().unwrap());
        let read = async |bytes| {
            let content =
                stream::iter(compressed.chunks(100).map(|it| Ok(Bytes::copy_from_slice(it))).collect::<Vec<_>>());
            inflate(content.boxed(), bytes).try_fold(0, async |sum, part| Ok(sum + part.len())).await
        };
        assert_eq!(read(1_000_000).await.unwrap(), 1_000_000);
        assert!(read(999_999).await.is_err());
    }
}
