//! A project as one row of a list.

use chrono::{DateTime, Utc};
use holdfast_app::projects::project::Project;

use crate::views::visibility::VisibilityView;
use crate::views::{ProjectLinks, person};
use crate::words::Time;

#[derive(Clone, Debug)]
pub struct ProjectRow {
    pub url: String,
    pub namespace: String,
    pub name: String,
    pub initials: String,
    /// The class of the square's color.
    pub color: &'static str,
    pub description: Option<String>,
    pub visibility: VisibilityView,
    pub is_archived: bool,
    pub star_count: i64,
    pub fork_count: i64,
    pub last_activity: Time,
}

/// Builds the rows of a list of projects.
pub fn rows(projects: &[Project], now: DateTime<Utc>) -> Vec<ProjectRow> {
    projects.iter().map(|project| row(project, now)).collect()
}

fn row(project: &Project, now: DateTime<Utc>) -> ProjectRow {
    let full_path = project.full_path();
    ProjectRow {
        url: ProjectLinks::new(&full_path).home().to_owned(),
        namespace: project.namespace.name.clone(),
        name: project.name.clone(),
        initials: person::initials(&project.name).chars().take(1).collect(),
        color: person::color(&full_path),
        description: project.description.clone().filter(|text| !text.trim().is_empty()),
        visibility: project.visibility.into(),
        is_archived: project.archived,
        star_count: project.star_count.into(),
        fork_count: project.forks_count.into(),
        last_activity: Time::age(project.last_activity_at, now),
    }
}
