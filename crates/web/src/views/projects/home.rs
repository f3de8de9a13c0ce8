//! The home page of a project.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::projects::home::{HomeRepository, LatestPipeline, ProjectHome};
use holdfast_app::projects::initial_commit::DEFAULT_BRANCH;
use holdfast_domain::InstanceUrls;
use holdfast_domain::namespaces::NamespaceKind;

use super::frame::{ProjectTab, project_frame};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::namespaces::access_request::{AccessRequestButton, AccessRequestState};
use crate::views::repository::archive_links::{ArchiveLink, archive_links};
use crate::views::repository::commit_line::CommitLine;
use crate::views::repository::file_form::AdditionLinks;
use crate::views::repository::readme::ReadmeView;
use crate::views::repository::ref_switch::{CodeView, RefSwitch};
use crate::views::repository::tree::COMPLETE;
use crate::views::repository::tree_row::{self, TreeRow};
use crate::views::status::StatusView;
use crate::views::visibility::VisibilityView;
use crate::views::{ProjectLinks, links};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "projects/home.html")]
pub struct ProjectHomePage {
    pub layout: Layout,
    pub about: About,
    pub clone: CloneUrls,
    pub abilities: Abilities,
    pub content: HomeContent,
}

/// What the first column shows.
pub enum HomeContent {
    /// The viewer may not read code.
    Hidden,
    /// The repository has no branches and no tags.
    Empty(EmptyRepository),
    /// The repository is empty until its import ends.
    Importing(RunningImport),
    /// The repository has refs, but the default branch does not exist.
    NoDefaultBranch,
    Code(Box<CodeOverview>),
}

/// What a repository without branches and tags offers.
pub struct EmptyRepository {
    /// The address of the form that creates the first file, if the viewer may create the first branch.
    pub new_url: Option<String>,
    /// Why the import of the repository failed.
    pub import_error: Option<String>,
}

/// An import that has not ended.
pub struct RunningImport {
    pub percent: i16,
    /// None if the viewer may not cancel the import.
    pub cancel_url: Option<String>,
}

/// The facts in the side panel.
pub struct About {
    pub name: String,
    pub description: Option<String>,
    pub visibility: VisibilityView,
    pub is_archived: bool,
    pub namespace: String,
    pub namespace_url: String,
    pub is_group: bool,
    pub last_activity: Time,
    pub created: Time,
    pub star_count: i64,
    pub fork_count: i64,
    pub is_starred: bool,
    pub access_request: Option<AccessRequestButton>,
    /// The address of the list of members, if the viewer may see them.
    pub members_url: Option<String>,
    pub star_url: String,
    pub unstar_url: String,
    pub fork_url: String,
    pub forks_url: String,
    pub activity_url: String,
    pub contributors_url: String,
    pub refs: Option<RefCounts>,
    pub pipeline: Option<PipelineFact>,
    pub release: Option<ReleaseFact>,
}

/// The numbers of branches and tags, with the addresses of their lists.
pub struct RefCounts {
    pub branches: String,
    pub branches_url: String,
    pub tags: String,
    pub tags_url: String,
}

/// The newest pipeline of the default branch.
pub struct PipelineFact {
    pub id: i64,
    pub url: String,
    pub status: StatusView,
    pub duration: Option<String>,
    pub created: Time,
}

/// The newest release, or the newest tag of a project without releases.
pub struct ReleaseFact {
    pub tag: String,
    /// The address of the tag, which shows the notes of the release.
    pub url: String,
    pub created: Option<Time>,
}

/// The addresses of the repository for git.
pub struct CloneUrls {
    pub http: String,
    pub ssh: String,
    /// The path of the project, for the commands that push to an empty repository.
    pub directory: String,
}

/// The tip of the default branch with its root directory and README.
pub struct CodeOverview {
    pub refs: RefSwitch,
    pub commit: CommitLine,
    pub entries: Vec<TreeRow>,
    pub tree_url: String,
    /// Whether `entries` is only the beginning of the directory.
    pub has_more_entries: bool,
    pub readme: Option<ReadmeView>,
    pub archives: Vec<ArchiveLink>,
    /// None if the viewer may not add files.
    pub additions: Option<AdditionLinks>,
    pub find_url: String,
    pub commits_url: String,
    /// The address that completes the last commits, if some are missing.
    pub complete_url: Option<String>,
}

/// Builds the home page of a project. `readme_html` is the README as sanitized HTML; without it, the text is shown.
pub fn project_home_page(
    layout: Layout,
    home: &ProjectHome,
    abilities: Abilities,
    site: &InstanceUrls,
    readme_html: Option<String>,
    now: DateTime<Utc>,
) -> ProjectHomePage {
    let project = &home.project;
    let full_path = project.full_path();
    let project_links = ProjectLinks::new(&full_path);
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title.clone_from(&full_path);
    let content = match &home.repository {
        None => HomeContent::Hidden,
        Some(repository) if repository.is_empty() => empty_content(repository, &project_links, abilities),
        Some(repository) => content(repository, &project_links, abilities, readme_html, now),
    };
    ProjectHomePage {
        layout,
        about: about(home, abilities, &project_links, now),
        clone: CloneUrls {
            http: site.url(&project_links.git()),
            ssh: site.ssh_url(&full_path),
            directory: project.path.clone(),
        },
        abilities,
        content,
    }
}

fn empty_content(repository: &HomeRepository, links: &ProjectLinks, abilities: Abilities) -> HomeContent {
    match &repository.import {
        Some(import) if !import.is_finished => HomeContent::Importing(RunningImport {
            percent: import.percent,
            cancel_url: abilities.can_update.then(|| links.cancel_import()),
        }),
        import => HomeContent::Empty(EmptyRepository {
            new_url: abilities.can_create_first_branch.then(|| links.new_file(DEFAULT_BRANCH, "")),
            import_error: import.as_ref().and_then(|import| import.error.clone()),
        }),
    }
}

fn content(
    repository: &HomeRepository,
    project_links: &ProjectLinks,
    abilities: Abilities,
    readme_html: Option<String>,
    now: DateTime<Utc>,
) -> HomeContent {
    let Some(overview) = &repository.overview else { return HomeContent::NoDefaultBranch };
    let revision = overview.default_branch.address.as_str();
    let readme = overview.readme.as_ref().map(|readme| ReadmeView::new(readme, project_links, revision, readme_html));
    let last_commits = &overview.last_commits;
    let entries = tree_row::rows(&overview.entries, last_commits, project_links, revision, now);
    let tree_url = project_links.tree(revision, "");
    HomeContent::Code(Box::new(CodeOverview {
        refs: RefSwitch::new(
            project_links,
            Some(&overview.default_branch),
            CodeView::Tree,
            &overview.default_branch.name,
            "",
        ),
        commit: CommitLine::with_age(&overview.commit, project_links, now),
        complete_url: (!last_commits.is_complete && entries.iter().any(|row| row.last_commit.is_none()))
            .then(|| format!("{tree_url}{}", links::query(&[COMPLETE]))),
        additions: abilities.can_write_code.then(|| AdditionLinks::new(project_links, revision, "")),
        archives: archive_links(project_links, revision),
        find_url: project_links.find(revision),
        commits_url: project_links.commits(revision, ""),
        entries,
        tree_url,
        has_more_entries: overview.has_more_entries,
        readme,
    }))
}

fn about(home: &ProjectHome, abilities: Abilities, project_links: &ProjectLinks, now: DateTime<Utc>) -> About {
    let (project, repository) = (&home.project, home.repository.as_ref());
    let is_group = project.namespace.kind == NamespaceKind::Group;
    About {
        name: project.name.clone(),
        description: project.description.clone().filter(|text| !text.trim().is_empty()),
        visibility: project.visibility.into(),
        is_archived: project.archived,
        namespace: project.namespace.name.clone(),
        namespace_url: links::namespace(&project.namespace.path, is_group),
        is_group,
        last_activity: Time::ago(project.last_activity_at, now),
        created: Time::date(project.created_at),
        star_count: project.star_count.into(),
        fork_count: project.forks_count.into(),
        is_starred: home.is_starred,
        access_request: access_request(home, abilities, project_links),
        members_url: abilities.can_read_members.then(|| project_links.members()),
        star_url: project_links.star(),
        unstar_url: project_links.unstar(),
        fork_url: project_links.fork(),
        forks_url: project_links.forks(),
        activity_url: project_links.activity(),
        contributors_url: project_links.contributors(),
        refs: repository.filter(|repository| !repository.is_empty()).map(|repository| RefCounts {
            branches: words::branches(repository.branch_count),
            branches_url: project_links.branches(),
            tags: words::tags(repository.tag_count),
            tags_url: project_links.tags(),
        }),
        pipeline: repository
            .and_then(|repository| repository.pipeline.as_ref())
            .map(|pipeline| pipeline_fact(pipeline, project_links, now)),
        release: repository.and_then(|repository| release_fact(repository, project_links)),
    }
}

fn access_request(
    home: &ProjectHome,
    abilities: Abilities,
    project_links: &ProjectLinks,
) -> Option<AccessRequestButton> {
    let state = AccessRequestState::new((home.has_requested_access, abilities.can_request_access));
    AccessRequestButton::for_viewer(state, project_links.request_access(), project_links.withdraw_request())
}

fn pipeline_fact(pipeline: &LatestPipeline, project_links: &ProjectLinks, now: DateTime<Utc>) -> PipelineFact {
    PipelineFact {
        id: pipeline.id.get(),
        url: project_links.pipeline(pipeline.id),
        status: pipeline.status.into(),
        duration: pipeline.duration.filter(|_| pipeline.status.is_complete()).map(words::duration),
        created: Time::age(pipeline.created_at, now),
    }
}

fn release_fact(repository: &HomeRepository, project_links: &ProjectLinks) -> Option<ReleaseFact> {
    let (tag, created) = match (&repository.release, &repository.latest_tag) {
        (Some(release), _) => (&release.tag, Some(Time::date(release.created_at))),
        (None, Some(tag)) => (tag, None),
        (None, None) => return None,
    };
    Some(ReleaseFact { tag: tag.clone(), url: project_links.tag(tag), created })
}
