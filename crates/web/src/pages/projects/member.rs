//! The members of a project: the list, and the forms that add, change and remove direct members.

use holdfast_app::namespaces::member::{MembershipInput, NewMemberInput};
use holdfast_app::projects::member;
use holdfast_app::projects::member_overview::{self, ProjectMembers};
use holdfast_app::{Error, Resource};
use holdfast_domain::Violations;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::namespaces::membership::{MembershipParams, NewMemberParams};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::namespaces::member_form::{membership_values, project_member_page};
use crate::views::projects::member_list::{MemberForms, ProjectMembersPage, project_members_page};

pub fn declare(pages: &mut Pages) {
    const PATH: &str = "/:namespace/:project/settings/members";
    let read = Access::Project(ProjectAction::ReadMembers);
    let manage = Access::Project(ProjectAction::ManageMembers);
    pages.get(PATH, read, Cost::Normal, "Members", list).api("GET /projects/:id/members");
    pages.post(PATH, manage, Cost::Cheap, "Add a member", add).api("POST /projects/:id/members");
    pages
        .post("/:namespace/:project/settings/members/leave", read, Cost::Cheap, "Leave", leave)
        .api("DELETE /projects/:id/members/:user_id");
    pages
        .get("/:namespace/:project/settings/members/:user_id/edit", manage, Cost::Cheap, "Membership", edit)
        .api("GET /projects/:id/members/:user_id");
    pages
        .post("/:namespace/:project/settings/members/:user_id", manage, Cost::Cheap, "Save a membership", update)
        .api("PUT /projects/:id/members/:user_id");
    pages
        .post("/:namespace/:project/settings/members/:user_id/delete", manage, Cost::Cheap, "Remove a member", delete)
        .api("DELETE /projects/:id/members/:user_id");
}

/// Returns the members of the project, with what their page shows.
pub async fn load(context: &RequestContext, path: &ProjectPathParams) -> Result<ProjectMembers, Error> {
    member_overview::show(context.app(), &context.actor, &path.reference(), context.page).await
}

/// Builds the list. A form that was rejected is shown with its values and errors.
pub fn page(context: &RequestContext, found: &ProjectMembers, forms: &MemberForms) -> ProjectMembersPage {
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let viewer = context.actor.current_user().ok().map(|user| &user.account.summary);
    project_members_page(layout, found, abilities, viewer, forms, context.now())
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = load(&context, &path).await?;
    ensure_address(&context, &found.project)?;
    respond::html(&page(&context, &found, &MemberForms::default()))
}

params! {
    struct AddMember {
        flatten path: ProjectPathParams,
        flatten member: NewMemberParams,
    }
}

async fn add(context: RequestContext, AddMember { path, member: params }: AddMember) -> PageResult {
    let input = NewMemberInput::from(params);
    match member::add_by_username(context.app(), &context.actor, &path.reference(), &input).await {
        Ok(_) => Ok(respond::see_other(path.links().members()).with_flash(FlashCode::MemberAdded)),
        Err(Error::Invalid(violations)) => {
            let forms = MemberForms { member: input, member_violations: violations, ..MemberForms::default() };
            respond::rejected(&page(&context, &load(&context, &path).await?, &forms))
        }
        Err(error) => Err(error.into()),
    }
}

params! {
    struct OneMember {
        flatten path: ProjectPathParams,
        required user_id: UserId,
    }
}

async fn edit(context: RequestContext, OneMember { path, user_id }: OneMember) -> PageResult {
    let found = member_overview::show_member(context.app(), &context.actor, &path.reference(), user_id).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let values = membership_values(&found.member);
    let layout = context.layout_with_record(found.project.id.get(), ":user_id", user_id);
    respond::html(&project_member_page(layout, &found, abilities, &values, &Violations::default()))
}

params! {
    struct UpdateMember {
        flatten path: ProjectPathParams,
        required user_id: UserId,
        flatten membership: MembershipParams,
    }
}

async fn update(context: RequestContext, UpdateMember { path, user_id, membership }: UpdateMember) -> PageResult {
    let (reference, input) = (path.reference(), MembershipInput::from(membership));
    match member::save_form(context.app(), &context.actor, &reference, user_id, &input).await {
        Ok(_) => Ok(respond::see_other(path.links().members()).with_flash(FlashCode::MemberSaved)),
        Err(Error::Invalid(violations)) => {
            let found = member_overview::show_member(context.app(), &context.actor, &reference, user_id).await?;
            let abilities = Abilities::new(&found.project, &context.actor);
            let layout = context.layout_with_record(found.project.id.get(), ":user_id", user_id);
            respond::rejected(&project_member_page(layout, &found, abilities, &input, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, OneMember { path, user_id }: OneMember) -> PageResult {
    let deleted = member::delete(context.app(), &context.actor, &path.reference(), user_id).await?;
    deleted.ok_or(Error::NotFound(Resource::Record))?;
    let is_self = context.actor.user_id() == Some(user_id);
    // Users who have removed their own membership may not see the project any more.
    let next = if is_self { "/".to_owned() } else { path.links().members() };
    Ok(respond::see_other(next).with_flash(FlashCode::MemberRemoved))
}

params! {
    struct LeaveProject {
        flatten path: ProjectPathParams,
        /// The name of the user to whom the form was shown.
        optional username: String,
    }
}

async fn leave(context: RequestContext, LeaveProject { path, username }: LeaveProject) -> PageResult {
    let username = username.unwrap_or_default();
    Ok(match member::leave(context.app(), &context.actor, &path.reference(), &username).await? {
        // The project may be hidden now.
        true => respond::see_other("/").with_flash(FlashCode::MembershipLeft),
        false => respond::see_other(path.links().members()).with_flash(FlashCode::MembershipKept),
    })
}
