//! The result of a search for projects and groups.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::namespaces::group::Group;
use holdfast_app::projects::project::Project;
use holdfast_domain::page::Page;

use super::row::{ProjectRow, rows};
use crate::layout::Layout;
use crate::views::{Pages, links};

#[derive(Template)]
#[template(path = "projects/search.html")]
pub struct SearchPage {
    pub layout: Layout,
    pub text: String,
    pub projects: Vec<ProjectRow>,
    pub groups: Vec<FoundGroup>,
    /// The address of the list with all groups that match, if there are more.
    pub more_groups: Option<String>,
    /// None before anything was searched.
    pub pages: Option<Pages>,
}

/// A group as a link.
#[derive(Clone, Debug)]
pub struct FoundGroup {
    pub name: String,
    pub path: String,
    pub url: String,
}

impl SearchPage {
    /// Creates the page that asks for a text.
    pub fn empty(mut layout: Layout) -> Self {
        "Search".clone_into(&mut layout.title);
        Self { layout, text: String::new(), projects: Vec::new(), groups: Vec::new(), more_groups: None, pages: None }
    }
}

/// Builds the page with the projects and groups that match a text.
pub fn search_page(
    layout: Layout,
    text: &str,
    projects: &Page<Project>,
    groups: &Page<Group>,
    now: DateTime<Utc>,
) -> SearchPage {
    let mut page = SearchPage::empty(layout);
    page.layout.title = format!("{text} · Search");
    text.clone_into(&mut page.text);
    let group = |group: &Group| FoundGroup {
        name: group.name.clone(),
        path: group.path.clone(),
        url: links::group(&group.path),
    };
    page.projects = rows(&projects.items, now);
    page.groups = groups.items.iter().map(group).collect();
    page.more_groups = groups.has_next.then(|| format!("/groups{}", links::query(&[("search", text)])));
    page.pages = Some(Pages::new(projects, "/search", &[("q", text)]));
    page
}
