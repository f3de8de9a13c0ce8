//! What all pages of a merge request show: its title, state, branches and tabs.

use chrono::{DateTime, Utc};
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_app::merge_requests::page::{RequestPage, SourceProject};
use holdfast_domain::ids::UserId;
use holdfast_domain::merge_requests::{MergeRequestState, is_work_in_progress};

use crate::abilities::Abilities;
use crate::icons::{self, Icon};
use crate::layout::{Layout, Tab};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Person, ProjectLinks};
use crate::words::{self, Time};

/// The state of a merge request as an icon with a word.
#[derive(Clone, Copy, Debug)]
pub struct RequestState {
    pub icon: Icon,
    /// The class of the color.
    pub color: &'static str,
    pub text: &'static str,
}

impl From<MergeRequestState> for RequestState {
    fn from(state: MergeRequestState) -> Self {
        match state {
            MergeRequestState::Opened | MergeRequestState::Reopened => {
                Self { icon: icons::MERGE_REQUEST, color: "ok", text: "open" }
            }
            MergeRequestState::Merged => Self { icon: icons::PASSED, color: "violet", text: "merged" },
            MergeRequestState::Closed => Self { icon: icons::CANCELED, color: "off", text: "closed" },
        }
    }
}

impl RequestState {
    /// Returns the icon with the word as its name, for places where the word is not beside it.
    pub const fn named_icon(&self) -> Icon {
        self.icon.named(self.text)
    }
}

/// A page of a merge request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTab {
    Overview,
    Commits,
    Changes,
    Pipelines,
    Versions,
}

/// The head of a page of a merge request.
#[derive(Clone, Debug)]
pub struct RequestHead {
    pub iid: i64,
    pub title: String,
    pub state: RequestState,
    pub is_open: bool,
    pub is_draft: bool,
    pub author: Person,
    pub source: Branch,
    pub target: Branch,
    pub created: Time,
    pub tabs: Vec<Tab>,
    pub controls: Option<HeadControls>,
    /// The number of comments of the viewer's review with their noun, and its address, on pages that do not show it.
    pub review: Option<(String, String)>,
}

/// A branch, with its address if it exists and the viewer may read it.
#[derive(Clone, Debug)]
pub struct Branch {
    pub name: String,
    pub url: Option<String>,
}

/// The addresses of the actions for viewers who may edit the merge request.
#[derive(Clone, Debug)]
pub struct HeadControls {
    pub edit: String,
    /// The address that closes it, if it is open.
    pub close: Option<String>,
    /// The address that reopens it, if it is closed.
    pub reopen: Option<String>,
}

/// Who looks at a merge request.
#[derive(Clone, Copy, Debug)]
pub struct RequestViewer {
    pub abilities: Abilities,
    /// None for an anonymous viewer.
    pub user: Option<UserId>,
    pub can_edit: bool,
    pub can_resolve: bool,
    pub now: DateTime<Utc>,
}

/// Builds the frame and the head of a page of a merge request.
pub fn request_frame(
    layout: Layout,
    page: &RequestPage,
    viewer: RequestViewer,
    current: RequestTab,
) -> (Layout, RequestHead) {
    let RequestPage { project, request, versions, source, refs, draft_count } = page;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, viewer.abilities, ProjectTab::MergeRequests);
    layout.title = format!("{} · !{} · {}", request.title, request.iid, project.full_path());
    let branch = |name: &str| {
        let url = refs.branch(name).map(|address| links.tree(&address, ""));
        Branch { name: name.to_owned(), url }
    };
    let is_open = request.state.is_open();
    let action = |name| links.merge_request_page(request.iid, name);
    let tab = |tab: RequestTab, label, url, count: Option<i64>| Tab {
        label,
        url,
        is_current: tab == current,
        count: count.filter(|count| *count > 0),
    };
    let files = page.newest().and_then(|version| version.comparison).map(|comparison| comparison.files.into());
    let version_count = i64::try_from(versions.len()).unwrap_or(i64::MAX);
    let mut tabs = vec![
        tab(RequestTab::Overview, "Overview", links.merge_request(request.iid), Some(request.notes_count.into())),
        tab(RequestTab::Commits, "Commits", action("commits"), None),
        tab(RequestTab::Changes, "Changes", action("changes"), files),
        tab(RequestTab::Versions, "Versions", action("versions"), Some(version_count)),
    ];
    if viewer.abilities.can_read_builds {
        tabs.push(tab(RequestTab::Pipelines, "Pipelines", action("pipelines"), None));
    }
    let head = RequestHead {
        iid: request.iid,
        title: request.title.clone(),
        state: request.state.into(),
        is_open,
        is_draft: is_open && is_work_in_progress(&request.title),
        author: Person::from_user(&request.author),
        source: match source {
            SourceProject::Same => branch(&request.source_branch),
            source => fork_branch(request, source),
        },
        target: branch(&request.target_branch),
        created: Time::ago(request.created_at, viewer.now),
        tabs,
        controls: (viewer.can_edit && !project.archived).then(|| HeadControls {
            edit: action("edit"),
            close: is_open.then(|| action("close")),
            reopen: (request.state == MergeRequestState::Closed).then(|| action("reopen")),
        }),
        review: (*draft_count > 0 && current != RequestTab::Changes)
            .then(|| (words::comments(*draft_count), format!("{}#review", action("changes")))),
    };
    (layout, head)
}

/// Returns the branch of another project, with the address of the project if the viewer may read its code.
fn fork_branch(request: &MergeRequest, source: &SourceProject) -> Branch {
    let branch = &request.source_branch;
    match source {
        SourceProject::Fork(path) => {
            Branch { name: format!("{path}:{branch}"), url: Some(ProjectLinks::new(path).home().to_owned()) }
        }
        SourceProject::Hidden => Branch { name: format!("{branch} of another project"), url: None },
        SourceProject::Deleted => Branch { name: format!("{branch} of a deleted project"), url: None },
        SourceProject::Same => Branch { name: branch.clone(), url: None },
    }
}
