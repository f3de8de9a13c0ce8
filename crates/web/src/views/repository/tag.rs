//! The list of tags, and the page of a tag with its release.

use askama::Template;
use holdfast_app::repository::refs::tag::{ProjectTag, ProjectTags, Tag};
use holdfast_domain::Violations;

use super::archive_links::{ArchiveLink, archive_links};
use super::commit_line::{CommitLine, title};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::markdown::{self, LinkContext};
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::prose::Prose;
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "repository/tags.html")]
pub struct TagsPage {
    pub layout: Layout,
    pub tags: Vec<TagRow>,
    pub pages: Pages,
    pub abilities: Abilities,
    pub url: String,
    pub delete_url: String,
    pub name: FormField,
    pub target: FormField,
    pub message: FormField,
    pub release_description: FormField,
    /// Whether the form for a new tag is open at first.
    pub is_form_open: bool,
    /// Whether the repository has a commit that a tag can name.
    pub can_create: bool,
}

/// The values of the form for a new tag. They are empty at first.
#[derive(Clone, Debug, Default)]
pub struct TagValues {
    pub name: String,
    pub target: String,
    pub message: String,
    pub release_description: String,
    pub is_open: bool,
}

#[derive(Clone, Debug)]
pub struct TagRow {
    pub name: String,
    pub url: String,
    /// The address of its files. None if the tag points at another kind of object than a commit.
    pub tree_url: Option<String>,
    /// The first line of an annotated tag's message.
    pub message: Option<String>,
    /// None if the tag points at another kind of object.
    pub commit: Option<CommitLine>,
    pub release: Option<Prose>,
}

/// Builds the list of tags.
pub fn tags_page(layout: Layout, found: &ProjectTags, abilities: Abilities, values: TagValues) -> TagsPage {
    let project = &found.project;
    let context = LinkContext::for_texts(&project.full_path());
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("Tags · {}", project.full_path());
    let row = |tag: &Tag| TagRow {
        name: tag.name.clone(),
        url: links.tag(&tag.name),
        tree_url: tag.commit.as_ref().and_then(|_| Some(links.tree(&found.refs.tag(&tag.name)?, ""))),
        message: tag.message.as_deref().map(|message| title(message).to_owned()),
        commit: tag.commit.as_ref().map(|commit| CommitLine::with_date(commit, &links)),
        release: tag.release.as_deref().and_then(|notes| Prose::new(notes, markdown::render(notes, &context))),
    };
    let default_branch = project.repository.default_branch();
    let target = if values.target.is_empty() { default_branch.unwrap_or_default().to_owned() } else { values.target };
    TagsPage {
        layout,
        tags: found.tags.items.iter().map(row).collect(),
        pages: Pages::new(&found.tags, &links.tags(), &[]),
        abilities,
        url: links.tags(),
        delete_url: links.delete_tag(),
        name: FormField::new("name", "Name", values.name),
        target: FormField::new("target", "Create from", target),
        message: FormField::new("message", "Message", values.message),
        release_description: FormField::new("release_description", "Release notes", values.release_description),
        is_form_open: values.is_open,
        can_create: abilities.can_write_code && default_branch.is_some(),
    }
}

#[derive(Template)]
#[template(path = "repository/tag.html")]
pub struct TagPage {
    pub layout: Layout,
    pub abilities: Abilities,
    pub name: String,
    /// The message of an annotated tag.
    pub message: Option<String>,
    pub commit: Option<CommitLine>,
    /// The address of its files. None if the tag points at another kind of object than a commit.
    pub tree_url: Option<String>,
    pub archives: Vec<ArchiveLink>,
    pub release: Option<Prose>,
    pub list_url: String,
    pub delete_url: String,
    pub release_url: String,
    pub errors: Vec<FormError>,
    pub description: FormField,
    /// Whether the form of the release notes is open at first.
    pub is_form_open: bool,
}

/// The values of the form of release notes: those of the release at first.
#[derive(Clone, Debug)]
pub struct ReleaseValues {
    pub description: String,
    pub is_open: bool,
}

impl From<&Tag> for ReleaseValues {
    fn from(tag: &Tag) -> Self {
        Self { description: tag.release.clone().unwrap_or_default(), is_open: false }
    }
}

/// Builds the page of a tag.
pub fn tag_page(
    layout: Layout,
    found: &ProjectTag,
    abilities: Abilities,
    values: ReleaseValues,
    violations: &Violations,
) -> TagPage {
    let (project, tag) = (&found.project, &found.tag);
    let context = LinkContext::for_texts(&project.full_path());
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("{} · Tags · {}", tag.name, project.full_path());
    let revision = found.refs.tag(&tag.name).filter(|_| tag.commit.is_some());
    let description = FormField::new("description", "Release notes", values.description).with_violations(violations);
    TagPage {
        layout,
        abilities,
        name: tag.name.clone(),
        message: tag.message.clone().filter(|message| !message.trim().is_empty()),
        commit: tag.commit.as_ref().map(|commit| CommitLine::with_date(commit, &links)),
        tree_url: revision.as_deref().map(|revision| links.tree(revision, "")),
        archives: revision.map(|revision| archive_links(&links, &revision)).unwrap_or_default(),
        release: tag.release.as_deref().and_then(|notes| Prose::new(notes, markdown::render(notes, &context))),
        list_url: links.tags(),
        delete_url: links.delete_tag(),
        release_url: links.releases(),
        errors: form::errors([&description]),
        description,
        is_form_open: values.is_open,
    }
}
