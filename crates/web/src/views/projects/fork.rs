//! The forks of a project, and the form that creates one.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::projects::fork::{ForkTargets, ProjectForks};

use super::frame::{ProjectTab, project_frame};
use super::row::{ProjectRow, rows};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "projects/forks.html")]
pub struct ForksPage {
    pub layout: Layout,
    pub forks: Vec<ProjectRow>,
    pub pages: Pages,
    /// The address of the form that creates a fork, if the viewer may.
    pub fork_url: Option<String>,
}

/// Builds the list of forks.
pub fn forks_page(layout: Layout, found: &ProjectForks, abilities: Abilities, now: DateTime<Utc>) -> ForksPage {
    let links = ProjectLinks::new(&found.project.full_path());
    let mut layout = project_frame(layout, &found.project, abilities, ProjectTab::Code);
    layout.title = format!("Forks · {}", found.project.full_path());
    ForksPage {
        layout,
        forks: rows(&found.forks.items, now),
        pages: Pages::new(&found.forks, &links.forks(), &[]),
        fork_url: abilities.can_fork.then(|| links.fork()),
    }
}

#[derive(Template)]
#[template(path = "projects/fork.html")]
pub struct ForkPage {
    pub layout: Layout,
    pub full_path: String,
    pub url: String,
    pub home_url: String,
    pub targets: Vec<ForkTarget>,
    pub error: Option<String>,
}

/// A namespace in which the fork can be created.
pub struct ForkTarget {
    pub id: i64,
    pub path: String,
    pub is_selected: bool,
}

/// Why a fork was rejected, with the namespace that was chosen.
pub struct ForkError {
    pub text: String,
    pub namespace: String,
}

/// Builds the form that creates a fork.
pub fn fork_page(layout: Layout, targets: &ForkTargets, abilities: Abilities, error: Option<ForkError>) -> ForkPage {
    let project = &targets.project;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("New fork of {}", project.full_path());
    let chosen = error.as_ref().map(|error| error.namespace.as_str());
    let target = |namespace: &holdfast_app::namespaces::namespace::Namespace| ForkTarget {
        id: namespace.id.get(),
        path: namespace.path.clone(),
        is_selected: chosen == Some(namespace.id.to_string().as_str()),
    };
    ForkPage {
        layout,
        full_path: project.full_path(),
        url: links.fork(),
        home_url: links.home().to_owned(),
        targets: targets.namespaces.iter().map(target).collect(),
        error: error.map(|error| error.text),
    }
}
