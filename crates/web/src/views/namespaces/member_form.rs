//! The form that changes or ends a membership in a group or in a project.

use askama::Template;
use holdfast_app::namespaces::member::{Member, MembershipInput};
use holdfast_app::namespaces::member_overview::GroupMember;
use holdfast_app::projects::member_overview::ProjectMember;
use holdfast_domain::{AccessLevel, Violations};

use super::frame::{GroupTab, group_frame};
use super::level::{LevelOption, level_options};
use crate::abilities::{Abilities, GroupAbilities};
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{ProjectLinks, links};

#[derive(Template)]
#[template(path = "namespaces/member_form.html")]
pub struct MemberFormPage {
    pub layout: Layout,
    pub name: String,
    pub username: String,
    /// The address that the form is sent to. The member is removed below it.
    pub action: String,
    pub members_url: String,
    pub errors: Vec<FormError>,
    pub levels: Vec<LevelOption>,
    pub expires_at: FormField,
    /// Whether the member is the user of an access token.
    pub is_bot: bool,
    /// Whether the membership cannot change, because the group would have no owner.
    pub is_last_owner: bool,
    /// What the removal has as a consequence.
    pub consequence: &'static str,
}

/// Returns the values of the form before the user has changed them.
pub fn membership_values(member: &Member) -> MembershipInput {
    MembershipInput {
        access_level: member.access_level.as_i16().into(),
        expires_at: member.expires_at.map(|date| date.to_string()).unwrap_or_default(),
    }
}

/// Builds the form of a member of a group.
pub fn group_member_page(
    layout: Layout,
    found: &GroupMember,
    abilities: GroupAbilities,
    input: &MembershipInput,
    violations: &Violations,
) -> MemberFormPage {
    let mut layout = group_frame(layout, &found.group, abilities, GroupTab::Members);
    layout.title = format!("{} · Members · {}", found.member.user.username, found.group.name);
    let consequence = "The user loses the access to the group and to its projects, except as a direct member of one.";
    let members_url = links::group_page(&found.group.path, "members");
    let page = member_page(layout, &found.member, members_url, (input, violations), AccessLevel::Owner);
    MemberFormPage { is_bot: found.is_bot, is_last_owner: found.is_last_owner, consequence, ..page }
}

/// Builds the form of a direct member of a project.
pub fn project_member_page(
    layout: Layout,
    found: &ProjectMember,
    abilities: Abilities,
    input: &MembershipInput,
    violations: &Violations,
) -> MemberFormPage {
    let full_path = found.project.full_path();
    let mut layout = project_frame(layout, &found.project, abilities, ProjectTab::Settings);
    layout.title = format!("{} · Members · {full_path}", found.member.user.username);
    let members_url = ProjectLinks::new(&full_path).members();
    let page = member_page(layout, &found.member, members_url, (input, violations), AccessLevel::Master);
    let consequence = "The user loses the access to the project, except through a group.";
    MemberFormPage { is_bot: found.is_bot, consequence, ..page }
}

fn member_page(
    layout: Layout,
    member: &Member,
    members_url: String,
    (input, violations): (&MembershipInput, &Violations),
    highest: AccessLevel,
) -> MemberFormPage {
    let expires_at = FormField::new("expires_at", "Expires on", &input.expires_at).with_violations(violations);
    MemberFormPage {
        layout,
        name: member.user.name.clone(),
        username: member.user.username.clone(),
        action: format!("{members_url}/{}", member.user.id),
        members_url,
        errors: form::errors([&expires_at]),
        levels: level_options(highest, input.access_level),
        expires_at,
        is_bot: false,
        is_last_owner: false,
        consequence: "",
    }
}
