//! The contributors to the default branch.

use askama::Template;
use chrono::DateTime;
use holdfast_app::repository::browse::contributor::{Contributor, ProjectContributors};

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, Person, ProjectLinks};
use crate::words::Time;

#[derive(Template)]
#[template(path = "repository/contributors.html")]
pub struct ContributorsPage {
    pub layout: Layout,
    pub branch: String,
    pub contributors: Vec<ContributorRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct ContributorRow {
    pub person: Person,
    pub commits: i64,
    /// The length of the bar, in percent of the longest one on the page.
    pub bar: i64,
    pub additions: i64,
    pub deletions: i64,
    pub newest: Time,
}

/// Builds the list of contributors.
pub fn contributors_page(layout: Layout, found: &ProjectContributors, abilities: Abilities) -> ContributorsPage {
    let (project, contributors) = (&found.project, &found.contributors);
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("Contributors · {}", project.full_path());
    let most = contributors.items.iter().map(|it| it.commits).max().unwrap_or(0).max(1);
    let row = |contributor: &Contributor| ContributorRow {
        person: Person::from_signature(&contributor.name, &contributor.email),
        commits: contributor.commits,
        bar: (contributor.commits.saturating_mul(100) / most).clamp(1, 100),
        additions: contributor.additions,
        deletions: contributor.deletions,
        newest: Time::date(DateTime::from_timestamp(contributor.newest, 0).unwrap_or_default()),
    };
    ContributorsPage {
        layout,
        branch: project.repository.default_branch().unwrap_or_default().to_owned(),
        contributors: contributors.items.iter().map(row).collect(),
        pages: Pages::new(contributors, &links.contributors(), &[]),
    }
}
