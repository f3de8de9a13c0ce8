//! Searches for projects, users, issues, merge requests and milestones. What has no index in a place is not searched
//! there: issues, merge requests and milestones of all projects, and the content of repositories.

use axum::http::{Method, StatusCode};
use holdfast_app::accounts::user::{self, Filter as UserFilter};
use holdfast_app::merge_requests::list::{self as request_list, MergeRequestFilter};
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::namespaces::member::{self as group_member, Member, MemberFilter};
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::issue_list::{self, IssueFilter};
use holdfast_app::planning::list_filter::{CommonFilter, ListPlace};
use holdfast_app::planning::milestone::{self, Filter as MilestoneFilter, Milestone};
use holdfast_app::projects::list::{self, ListProjects, ListScope, Order, SortKey};
use holdfast_app::projects::project::{Project, ProjectRef};
use holdfast_app::projects::{group, member};
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::page::Page;
use holdfast_domain::policy::GroupAction::Read;
use holdfast_domain::policy::InstanceAction::ListProjects as BrowseProjects;
use holdfast_domain::policy::ProjectAction::ReadIssues;

use super::ApiResult;
use super::issues::list_params::split_words;
use crate::error::ApiError;
use crate::present::v4::issue::present_issue;
use crate::present::v4::merge_request::present_merge_request;
use crate::present::v4::milestone::present_milestone;
use crate::present::v4::project::present_basic as present_project;
use crate::present::v4::search::SearchResult;
use crate::present::v4::user::present_basic as present_user;
use crate::response::PageBody;
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum State { Opened = "opened", Closed = "closed", Merged = "merged", All = "all" }
}

choice! {
    enum SortBy { CreatedAt = "created_at" }
}

choice! {
    enum Direction { Ascending = "asc", Descending = "desc" }
}

params! {
    /// What all searches have in common.
    struct Query {
        /// Text to search for, ignoring case. Issues, merge requests and milestones are searched by title.
        required search: String,
        /// Only issues or merge requests in this state.
        optional state: State,
        /// Sort key, always `created_at`.
        optional order_by: SortBy,
        /// Sort direction, `desc` by default. Milestones and users are not sorted by it.
        optional sort: Direction,
    }
}

impl Query {
    fn is_descending(&self) -> bool {
        self.sort != Some(Direction::Ascending)
    }

    fn projects(self) -> ListProjects {
        let order = Order { sort_key: SortKey::CreatedAt, descending: self.is_descending(), builds_first: false };
        ListProjects { archived: None, visibility: None, search: Some(self.search), order }
    }

    fn common(&self) -> CommonFilter {
        CommonFilter { words: split_words(&self.search), descending: self.is_descending(), ..CommonFilter::default() }
    }

    fn issues(&self) -> ApiResult<IssueFilter> {
        let closed = match self.state {
            None | Some(State::All) => None,
            Some(State::Opened) => Some(false),
            Some(State::Closed) => Some(true),
            Some(State::Merged) => {
                return Err(ApiError::error(StatusCode::BAD_REQUEST, "state does not have a valid value"));
            }
        };
        Ok(IssueFilter { common: self.common(), closed, ..IssueFilter::default() })
    }

    fn merge_requests(&self) -> MergeRequestFilter {
        let states = match self.state {
            None | Some(State::All) => MergeRequestState::ALL.to_vec(),
            Some(State::Opened) => vec![MergeRequestState::Opened, MergeRequestState::Reopened],
            Some(State::Closed) => vec![MergeRequestState::Closed],
            Some(State::Merged) => vec![MergeRequestState::Merged],
        };
        let common = self.common();
        MergeRequestFilter {
            common,
            states,
            source_branch: None,
            target_branch: None,
            draft: None,
            has_reviewer: false,
        }
    }

    fn members(self) -> MemberFilter {
        MemberFilter { search: Some(self.search), ..MemberFilter::default() }
    }
}

fn present_projects(page: Page<Project>, context: &RequestContext) -> PageBody<SearchResult> {
    PageBody(page.map(|it| SearchResult::Project(Box::new(present_project(&it, context.site())))))
}

fn present_issues(page: Page<Issue>, context: &RequestContext) -> PageBody<SearchResult> {
    let today = context.app().today();
    PageBody(page.map(|it| SearchResult::Issue(Box::new(present_issue(it, today, context.site())))))
}

fn present_requests(page: Page<MergeRequest>, context: &RequestContext) -> PageBody<SearchResult> {
    let today = context.app().today();
    PageBody(page.map(|it| SearchResult::MergeRequest(Box::new(present_merge_request(it, today, context.site())))))
}

fn present_milestones(page: Page<Milestone>, context: &RequestContext) -> PageBody<SearchResult> {
    let today = context.app().today();
    PageBody(page.map(|it| {
        let path = it.project_path.clone();
        SearchResult::Milestone(Box::new(present_milestone(it, &path, today, context.site())))
    }))
}

fn present_members(page: Page<Member>, context: &RequestContext) -> PageBody<SearchResult> {
    PageBody(page.map(|it| SearchResult::User(Box::new(present_user(&it.user, context.site())))))
}

choice! {
    enum Scope { Projects = "projects", Users = "users" }
}

params! {
    struct SearchAll {
        /// What to search for.
        required scope: Scope,
        flatten query: Query,
    }
}

async fn search_all(context: RequestContext, params: SearchAll) -> ApiResult<PageBody<SearchResult>> {
    match params.scope {
        Scope::Projects => {
            let (scope, input) = (ListScope::Visible, params.query.projects());
            let page = list::list(context.app(), &context.actor, scope, input, context.page).await?;
            Ok(present_projects(page, &context))
        }
        Scope::Users => {
            let filter = UserFilter { search: Some(params.query.search), ..UserFilter::default() };
            let page = user::list(context.app(), &context.actor, filter, context.page).await?;
            Ok(PageBody(page.map(|it| SearchResult::User(Box::new(present_user(&it.summary(), context.site()))))))
        }
    }
}

choice! {
    enum GroupScope {
        Projects = "projects",
        Issues = "issues",
        MergeRequests = "merge_requests",
        Users = "users",
    }
}

params! {
    struct SearchGroup {
        required id: GroupRef,
        /// What to search for.
        required scope: GroupScope,
        flatten query: Query,
    }
}

async fn search_group(context: RequestContext, params: SearchGroup) -> ApiResult<PageBody<SearchResult>> {
    let SearchGroup { id, scope, query } = params;
    let (app, actor, page) = (context.app(), &context.actor, context.page);
    match scope {
        GroupScope::Projects => {
            Ok(present_projects(group::list(app, actor, &id, query.projects(), page).await?, &context))
        }
        GroupScope::Issues => {
            let found = issue_list::list_filtered(app, actor, ListPlace::Group(id), query.issues()?, page).await?;
            Ok(present_issues(found, &context))
        }
        GroupScope::MergeRequests => {
            let (place, filter) = (ListPlace::Group(id), query.merge_requests());
            Ok(present_requests(request_list::list_filtered(app, actor, place, filter, page).await?, &context))
        }
        GroupScope::Users => {
            Ok(present_members(group_member::list_filtered(app, actor, &id, &query.members(), page).await?, &context))
        }
    }
}

choice! {
    enum ProjectScope {
        Issues = "issues",
        MergeRequests = "merge_requests",
        Milestones = "milestones",
        Users = "users",
    }
}

params! {
    struct SearchProject {
        required id: ProjectRef,
        /// What to search for.
        required scope: ProjectScope,
        flatten query: Query,
    }
}

async fn search_project(context: RequestContext, params: SearchProject) -> ApiResult<PageBody<SearchResult>> {
    let SearchProject { id, scope, query } = params;
    let (app, actor, page) = (context.app(), &context.actor, context.page);
    match scope {
        ProjectScope::Issues => {
            let found = issue_list::list_filtered(app, actor, ListPlace::Project(id), query.issues()?, page).await?;
            Ok(present_issues(found, &context))
        }
        ProjectScope::MergeRequests => {
            let (place, filter) = (ListPlace::Project(id), query.merge_requests());
            Ok(present_requests(request_list::list_filtered(app, actor, place, filter, page).await?, &context))
        }
        ProjectScope::Milestones => {
            let filter = MilestoneFilter { search: Some(query.search), ..MilestoneFilter::default() };
            Ok(present_milestones(milestone::list(app, actor, &id, &filter, page).await?, &context))
        }
        ProjectScope::Users => {
            Ok(present_members(member::list_all(app, actor, &id, &query.members(), page).await?, &context))
        }
    }
}

pub fn routes(routes: &mut Routes) {
    let (signed_in, of_group) = (Access::Instance(BrowseProjects), Access::Group(Read));
    let of_project = Access::Project(ReadIssues);
    routes.add(Method::GET, "/search", signed_in, "Search for projects or users", search_all);
    routes.add(Method::GET, "/groups/:id/search", of_group, "Search in the projects of a group", search_group);
    routes.add(Method::GET, "/projects/:id/search", of_project, "Search in a project", search_project);
}
