//! The list of tags with their releases.

use askama::Template;
use holdfast_app::projects::project::Project;
use holdfast_app::repository::refs::ref_address::RefAddresses;
use holdfast_app::repository::refs::tag::Tag;
use holdfast_domain::page::Page;

use super::commit_line::{CommitLine, title};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::prose::Prose;
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "repository/tags.html")]
pub struct TagsPage {
    pub layout: Layout,
    pub tags: Vec<TagRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct TagRow {
    pub name: String,
    /// The address of its files. None if the tag points at another kind of object than a commit.
    pub url: Option<String>,
    /// The first line of an annotated tag's message.
    pub message: Option<String>,
    /// None if the tag points at another kind of object.
    pub commit: Option<CommitLine>,
    pub release: Option<Prose>,
}

/// Builds the list of tags. `render` turns release notes into sanitized HTML; notes that it does not render are shown
/// as text.
pub fn tags_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    tags: &Page<Tag>,
    refs: &RefAddresses,
    render: impl Fn(&str) -> Option<String>,
) -> TagsPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("Tags · {}", project.full_path());
    let row = |tag: &Tag| TagRow {
        name: tag.name.clone(),
        url: tag.commit.as_ref().and_then(|_| Some(links.tree(&refs.tag(&tag.name)?, ""))),
        message: tag.message.as_deref().map(|message| title(message).to_owned()),
        commit: tag.commit.as_ref().map(|commit| CommitLine::with_date(commit, &links)),
        release: tag.release.as_deref().and_then(|notes| Prose::new(notes, render(notes))),
    };
    TagsPage { layout, tags: tags.items.iter().map(row).collect(), pages: Pages::new(tags, &links.tags(), &[]) }
}
