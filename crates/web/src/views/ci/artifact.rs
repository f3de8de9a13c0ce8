//! The files in the artifacts of a build.

use askama::Template;
use holdfast_app::ci::artifact_files::{ArtifactDirectory, ArtifactEntry, DirectoryContent};

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::words;

#[derive(Template)]
#[template(path = "ci/artifacts.html")]
pub struct ArtifactsPage {
    pub layout: Layout,
    pub build_name: String,
    pub build_id: i64,
    pub build_url: String,
    pub download_url: String,
    pub has_artifacts: bool,
    /// The directories on the way to the shown one, which is the last one, with their addresses.
    pub path: Vec<(String, String)>,
    /// None if the archive cannot be read.
    pub entries: Option<Vec<EntryRow>>,
}

#[derive(Clone, Debug)]
pub struct EntryRow {
    pub name: String,
    pub url: String,
    /// The size of a file. None for a directory.
    pub size: Option<String>,
}

/// Builds the page of a directory in the artifacts of a build.
pub fn artifacts_page(layout: Layout, abilities: Abilities, found: &ArtifactDirectory, path: &str) -> ArtifactsPage {
    let ArtifactDirectory { project, build, content } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Pipelines);
    layout.title = format!("Artifacts · {} · #{} · {}", build.name, build.id, project.full_path());
    let path = path.trim_matches('/');
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
    let row = |entry: &ArtifactEntry| EntryRow {
        name: entry.name.clone(),
        url: match entry.bytes {
            Some(_) => links.artifact_file(build.id, &below(&entry.name)),
            None => links.artifact_directory(build.id, &below(&entry.name)),
        },
        size: entry.bytes.map(words::size),
    };
    ArtifactsPage {
        layout,
        build_name: build.name.clone(),
        build_id: build.id.get(),
        build_url: links.build(build.id),
        download_url: links.artifacts(build.id),
        has_artifacts: !matches!(content, DirectoryContent::NoArtifacts),
        path: (0..parts.len())
            .filter_map(|index| Some((parts.get(index)?, parts.get(..=index)?.join("/"))))
            .map(|(name, path)| ((*name).to_owned(), links.artifact_directory(build.id, &path)))
            .collect(),
        entries: match content {
            DirectoryContent::Files(entries) => Some(entries.iter().map(row).collect()),
            DirectoryContent::NoArtifacts | DirectoryContent::Unreadable => None,
        },
    }
}
