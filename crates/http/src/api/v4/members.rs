use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::accounts::user;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::namespaces::member::{self as group_member, MemberFilter, Membership};
use holdfast_app::projects::member as project_member;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, Resource};
use holdfast_domain::Violations;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::{GroupAction, ProjectAction};

use super::ApiResult;
use crate::error::ApiError;
use crate::present::v4::member::{MemberDetail, present_member};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct Filter {
        /// Part of the name, username or email address.
        optional query: String,
        /// Only users with these ids.
        list user_ids: i64,
        /// No users with these ids.
        list skip_users: i64,
    }
}

impl Filter {
    fn into_input(self) -> MemberFilter {
        let search = self.query.filter(|term| !term.is_empty());
        MemberFilter { search, only: self.user_ids, skip: self.skip_users }
    }
}

params! {
    struct NewMember {
        /// Id of the user. Required unless `username` is given.
        optional user_id: UserId,
        /// Username of the user.
        optional username: String,
        flatten level: Level,
    }
}

impl NewMember {
    async fn find_user(&self, context: &RequestContext) -> ApiResult<UserId> {
        match (self.user_id, &self.username) {
            (Some(id), _) => Ok(id),
            (None, Some(username)) => Ok(user::show_by_username(context.app(), &context.actor, username).await?.id),
            (None, None) => Err(ApiError::at_least_one_required(&["user_id", "username"])),
        }
    }
}

params! {
    #[derive(Clone, Copy)]
    struct Level {
        /// 10 guest, 20 reporter, 30 developer, 40 maintainer, 50 owner (in groups only).
        required access_level: i64,
        /// First day on which the membership is no longer valid.
        nullable expires_at: NaiveDate,
    }
}

impl Level {
    fn into_membership(self) -> Membership {
        Membership { access_level: self.access_level, expires_at: self.expires_at }
    }
}

/// Returns the error for an unknown access level as an invalid attribute.
pub fn save_error(error: Error) -> ApiError {
    match error {
        Error::Unprocessable(_) => {
            Error::from(Violations::single("access_level", "is not included in the list")).into()
        }
        other => other.into(),
    }
}

params! {
    struct ListOfProject {
        required id: ProjectRef,
        flatten filter: Filter,
    }
}

async fn list_of_project(context: RequestContext, params: ListOfProject) -> ApiResult<PageBody<MemberDetail>> {
    let (app, actor, filter) = (context.app(), &context.actor, params.filter.into_input());
    let page = project_member::list_filtered(app, actor, &params.id, &filter, context.page).await?;
    Ok(PageBody(page.map(|member| present_member(member, context.site()))))
}

async fn list_all_of_project(context: RequestContext, params: ListOfProject) -> ApiResult<PageBody<MemberDetail>> {
    let (app, actor, filter) = (context.app(), &context.actor, params.filter.into_input());
    let page = project_member::list_all(app, actor, &params.id, &filter, context.page).await?;
    Ok(PageBody(page.map(|member| present_member(member, context.site()))))
}

params! {
    struct OneOfProject {
        required id: ProjectRef,
        /// Id of the member.
        required user_id: UserId,
    }
}

async fn show_of_project(context: RequestContext, params: OneOfProject) -> ApiResult<Body<MemberDetail>> {
    let member = project_member::show(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(Body(present_member(member, context.site())))
}

async fn show_any_of_project(context: RequestContext, params: OneOfProject) -> ApiResult<Body<MemberDetail>> {
    let member = project_member::show_any(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(Body(present_member(member, context.site())))
}

params! {
    struct AddToProject {
        required id: ProjectRef,
        flatten member: NewMember,
    }
}

async fn add_to_project(context: RequestContext, params: AddToProject) -> ApiResult<Created<MemberDetail>> {
    let (user, membership) = (params.member.find_user(&context).await?, params.member.level.into_membership());
    let added = project_member::add(context.app(), &context.actor, &params.id, user, membership).await;
    Ok(Created(present_member(added.map_err(save_error)?, context.site())))
}

params! {
    struct UpdateOfProject {
        required id: ProjectRef,
        /// Id of the member.
        required user_id: UserId,
        flatten level: Level,
    }
}

async fn update_of_project(context: RequestContext, params: UpdateOfProject) -> ApiResult<Body<MemberDetail>> {
    let (user, membership) = (params.user_id, params.level.into_membership());
    let updated = project_member::update(context.app(), &context.actor, &params.id, user, membership).await;
    Ok(Body(present_member(updated.map_err(save_error)?, context.site())))
}

async fn remove_from_project(context: RequestContext, params: OneOfProject) -> ApiResult<NoContent> {
    let removed = project_member::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    removed.ok_or(Error::NotFound(Resource::Member(params.user_id.get())))?;
    Ok(NoContent)
}

params! {
    struct ListOfGroup {
        required id: GroupRef,
        flatten filter: Filter,
    }
}

async fn list_of_group(context: RequestContext, params: ListOfGroup) -> ApiResult<PageBody<MemberDetail>> {
    let (app, actor, filter) = (context.app(), &context.actor, params.filter.into_input());
    let page = group_member::list_filtered(app, actor, &params.id, &filter, context.page).await?;
    Ok(PageBody(page.map(|member| present_member(member, context.site()))))
}

params! {
    struct OneOfGroup {
        required id: GroupRef,
        /// Id of the member.
        required user_id: UserId,
    }
}

async fn show_of_group(context: RequestContext, params: OneOfGroup) -> ApiResult<Body<MemberDetail>> {
    let member = group_member::show(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(Body(present_member(member, context.site())))
}

params! {
    struct AddToGroup {
        required id: GroupRef,
        flatten member: NewMember,
    }
}

async fn add_to_group(context: RequestContext, params: AddToGroup) -> ApiResult<Created<MemberDetail>> {
    let (user, membership) = (params.member.find_user(&context).await?, params.member.level.into_membership());
    let added = group_member::create(context.app(), &context.actor, &params.id, user, membership).await;
    Ok(Created(present_member(added.map_err(save_error)?, context.site())))
}

params! {
    struct UpdateOfGroup {
        required id: GroupRef,
        /// Id of the member.
        required user_id: UserId,
        flatten level: Level,
    }
}

async fn update_of_group(context: RequestContext, params: UpdateOfGroup) -> ApiResult<Body<MemberDetail>> {
    let (user, membership) = (params.user_id, params.level.into_membership());
    let updated = group_member::update(context.app(), &context.actor, &params.id, user, membership).await;
    Ok(Body(present_member(updated.map_err(save_error)?, context.site())))
}

async fn remove_from_group(context: RequestContext, params: OneOfGroup) -> ApiResult<NoContent> {
    group_member::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const OF_PROJECT: &str = "/projects/:id/members";
    const ALL_OF_PROJECT: &str = "/projects/:id/members/all";
    const ANY_OF_PROJECT: &str = "/projects/:id/members/all/:user_id";
    const ONE_OF_PROJECT: &str = "/projects/:id/members/:user_id";
    let (read, manage) = (Access::Project(ProjectAction::ReadMembers), Access::Project(ProjectAction::ManageMembers));
    routes.add(Method::GET, OF_PROJECT, read, "List the direct members of a project", list_of_project);
    let summary = "List the members of a project, with those of its group and of the groups that it is shared with";
    routes.add(Method::GET, ALL_OF_PROJECT, read, summary, list_all_of_project);
    let summary = "Get a member of a project, of its group or of a group that it is shared with";
    routes.add(Method::GET, ANY_OF_PROJECT, read, summary, show_any_of_project);
    routes.add(Method::GET, ONE_OF_PROJECT, read, "Get a direct member of a project", show_of_project);
    routes.add(Method::POST, OF_PROJECT, manage, "Add a member to a project", add_to_project);
    routes.add(Method::PUT, ONE_OF_PROJECT, manage, "Update a member of a project", update_of_project);
    routes.add(Method::DELETE, ONE_OF_PROJECT, manage, "Remove a member of a project", remove_from_project);

    const OF_GROUP: &str = "/groups/:id/members";
    const ALL_OF_GROUP: &str = "/groups/:id/members/all";
    const ANY_OF_GROUP: &str = "/groups/:id/members/all/:user_id";
    const ONE_OF_GROUP: &str = "/groups/:id/members/:user_id";
    let (read, manage) = (Access::Group(GroupAction::ReadMembers), Access::Group(GroupAction::ManageMembers));
    routes.add(Method::GET, OF_GROUP, read, "List the members of a group", list_of_group);
    // Groups have no parent, so nobody is a member by another group.
    routes.add(Method::GET, ALL_OF_GROUP, read, "List all members of a group", list_of_group);
    routes.add(Method::GET, ANY_OF_GROUP, read, "Get any member of a group", show_of_group);
    routes.add(Method::GET, ONE_OF_GROUP, read, "Get a member of a group", show_of_group);
    routes.add(Method::POST, OF_GROUP, manage, "Add a member to a group", add_to_group);
    routes.add(Method::PUT, ONE_OF_GROUP, manage, "Update a member of a group", update_of_group);
    routes.add(Method::DELETE, ONE_OF_GROUP, manage, "Remove a member of a group", remove_from_group);
}
