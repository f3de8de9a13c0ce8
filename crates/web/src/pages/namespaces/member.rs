//! The members of a group: the list, and the forms that add, change and remove members.

use holdfast_app::Error;
use holdfast_app::namespaces::member::{self, MembershipInput, NewMemberInput};
use holdfast_app::namespaces::member_overview::{self, GroupMembers};
use holdfast_domain::Violations;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::GroupAction;
use holdfast_http_core::{Access, params};

use super::address::{GroupPathParams, ensure_group_address};
use super::membership::{MembershipParams, NewMemberParams};
use crate::abilities::GroupAbilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::namespaces::member_form::{group_member_page, membership_values};
use crate::views::namespaces::member_list::{GroupMembersPage, group_members_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Group(GroupAction::ReadMembers);
    let manage = Access::Group(GroupAction::ManageMembers);
    pages.get("/groups/:group/members", read, Cost::Normal, "Members", list).api("GET /groups/:id/members");
    pages.post("/groups/:group/members", manage, Cost::Cheap, "Add a member", add).api("POST /groups/:id/members");
    pages
        .post("/groups/:group/members/leave", read, Cost::Cheap, "Leave", leave)
        .api("DELETE /groups/:id/members/:user_id");
    pages
        .get("/groups/:group/members/:user_id/edit", manage, Cost::Cheap, "Membership", edit)
        .api("GET /groups/:id/members/:user_id");
    pages
        .post("/groups/:group/members/:user_id", manage, Cost::Cheap, "Save a membership", update)
        .api("PUT /groups/:id/members/:user_id");
    pages
        .post("/groups/:group/members/:user_id/delete", manage, Cost::Cheap, "Remove a member", delete)
        .api("DELETE /groups/:id/members/:user_id");
}

async fn load(context: &RequestContext, path: &GroupPathParams) -> Result<GroupMembers, Error> {
    member_overview::show(context.app(), &context.actor, &path.reference(), context.page).await
}

/// Builds the list. `input` and `violations` are those of a form that was rejected.
fn page(
    context: &RequestContext,
    found: &GroupMembers,
    input: &NewMemberInput,
    violations: &Violations,
) -> GroupMembersPage {
    let abilities = GroupAbilities::new(&found.group, found.level, &context.actor);
    let layout = context.layout_with_id(found.group.id.get());
    let viewer = context.actor.current_user().ok().map(|user| &user.account.summary);
    group_members_page(layout, found, abilities, viewer, (input, violations), context.now())
}

async fn list(context: RequestContext, path: GroupPathParams) -> PageResult {
    let found = load(&context, &path).await?;
    ensure_group_address(&context, &found.group)?;
    respond::html(&page(&context, &found, &NewMemberInput::default(), &Violations::default()))
}

params! {
    struct AddMember {
        flatten path: GroupPathParams,
        flatten member: NewMemberParams,
    }
}

async fn add(context: RequestContext, AddMember { path, member: params }: AddMember) -> PageResult {
    let input = NewMemberInput::from(params);
    match member::add_by_username(context.app(), &context.actor, &path.reference(), &input).await {
        Ok(_) => Ok(respond::see_other(path.page("members")).with_flash(FlashCode::MemberAdded)),
        Err(Error::Invalid(violations)) => {
            respond::rejected(&page(&context, &load(&context, &path).await?, &input, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

params! {
    struct OneMember {
        flatten path: GroupPathParams,
        required user_id: UserId,
    }
}

async fn edit(context: RequestContext, OneMember { path, user_id }: OneMember) -> PageResult {
    let found = member_overview::show_member(context.app(), &context.actor, &path.reference(), user_id).await?;
    ensure_group_address(&context, &found.group)?;
    let abilities = GroupAbilities::new(&found.group, found.level, &context.actor);
    let values = membership_values(&found.member);
    let layout = context.layout_with_record(found.group.id.get(), ":user_id", user_id);
    respond::html(&group_member_page(layout, &found, abilities, &values, &Violations::default()))
}

params! {
    struct UpdateMember {
        flatten path: GroupPathParams,
        required user_id: UserId,
        flatten membership: MembershipParams,
    }
}

async fn update(context: RequestContext, UpdateMember { path, user_id, membership }: UpdateMember) -> PageResult {
    let (reference, input) = (path.reference(), MembershipInput::from(membership));
    match member::save_form(context.app(), &context.actor, &reference, user_id, &input).await {
        Ok(_) => Ok(respond::see_other(path.page("members")).with_flash(FlashCode::MemberSaved)),
        Err(Error::Invalid(violations)) => {
            let found = member_overview::show_member(context.app(), &context.actor, &reference, user_id).await?;
            let abilities = GroupAbilities::new(&found.group, found.level, &context.actor);
            let layout = context.layout_with_record(found.group.id.get(), ":user_id", user_id);
            respond::rejected(&group_member_page(layout, &found, abilities, &input, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, OneMember { path, user_id }: OneMember) -> PageResult {
    member::delete(context.app(), &context.actor, &path.reference(), user_id).await?;
    let is_self = context.actor.user_id() == Some(user_id);
    // Who has removed their own membership may not see the group any more.
    let next = if is_self { "/".to_owned() } else { path.page("members") };
    Ok(respond::see_other(next).with_flash(FlashCode::MemberRemoved))
}

params! {
    struct LeaveGroup {
        flatten path: GroupPathParams,
        /// The name of the user to whom the form was shown.
        optional username: String,
    }
}

async fn leave(context: RequestContext, LeaveGroup { path, username }: LeaveGroup) -> PageResult {
    let username = username.unwrap_or_default();
    match member::leave(context.app(), &context.actor, &path.reference(), &username).await? {
        // The group may be hidden now.
        true => Ok(respond::see_other("/").with_flash(FlashCode::MembershipLeft)),
        false => Ok(respond::see_other(path.page("members")).with_flash(FlashCode::MembershipKept)),
    }
}
