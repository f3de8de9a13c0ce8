//! The search for files of a revision by their paths.

use askama::Template;
use holdfast_app::repository::browse::file_search::{FileSearch, MAX_EXAMINED};

use super::path::PathView;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::projects::frame::{ProjectTab, project_frame};

#[derive(Template)]
#[template(path = "repository/find.html")]
pub struct FindPage {
    pub layout: Layout,
    pub path: PathView,
    pub url: String,
    pub filter: String,
    pub files: Vec<FoundFile>,
    pub has_more: bool,
    /// The number of entries that were examined, if the revision has more.
    pub examined: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct FoundFile {
    /// The directory with a slash at its end, or an empty text.
    pub directory: String,
    pub name: String,
    /// None for a path that is not UTF-8, which no address can hold.
    pub url: Option<String>,
}

/// Builds the list of files that match a filter.
pub fn find_page(layout: Layout, search: &FileSearch, abilities: Abilities, filter: String) -> FindPage {
    let (project, revision) = (&search.project, search.revision.as_str());
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("Find a file · {} at {revision}", project.full_path());
    let file = |path: &[u8]| {
        let text = String::from_utf8_lossy(path);
        let (directory, name) = text.rsplit_once('/').map_or(("", &*text), |(directory, name)| (directory, name));
        FoundFile {
            directory: if directory.is_empty() { String::new() } else { format!("{directory}/") },
            name: name.to_owned(),
            url: std::str::from_utf8(path).ok().map(|path| links.blob(revision, path)),
        }
    };
    FindPage {
        layout,
        url: links.find(revision),
        filter,
        files: search.files.iter().map(|entry| file(&entry.path)).collect(),
        has_more: search.has_more,
        examined: search.is_incomplete.then_some(MAX_EXAMINED),
        path: PathView::new(&project.name, &links, revision, ""),
    }
}
