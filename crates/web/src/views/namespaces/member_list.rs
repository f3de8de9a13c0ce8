//! The members of a group, and the parts that the list of the members of a project has, too.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::accounts::user::UserSummary;
use holdfast_app::namespaces::access_request::AccessRequest;
use holdfast_app::namespaces::member::{Member, NewMemberInput};
use holdfast_app::namespaces::member_overview::GroupMembers;
use holdfast_domain::page::Page;
use holdfast_domain::{AccessLevel, Violations};

use super::frame::{GroupTab, group_frame};
use super::level::{LevelOption, LevelView, level_options};
use crate::abilities::GroupAbilities;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::{Pages, Person, links};
use crate::words::{self, Time};

/// A direct member.
#[derive(Clone, Debug)]
pub struct MemberRow {
    pub person: Person,
    pub username: String,
    pub level: LevelView,
    /// The first day on which the membership is no longer valid.
    pub expires: Option<String>,
    pub since: Time,
    /// The address of the form that changes the membership, if the viewer may.
    pub edit_url: Option<String>,
}

/// Returns the rows of direct members. `url` is the address of the list, and `can_manage` whether the viewer may change
/// members.
pub fn member_rows(members: &[Member], url: &str, can_manage: bool) -> Vec<MemberRow> {
    let row = |member: &Member| MemberRow {
        person: Person::from_user(&member.user),
        username: member.user.username.clone(),
        level: member.access_level.into(),
        expires: member.expires_at.map(words::date),
        since: Time::date(member.created_at),
        edit_url: can_manage.then(|| format!("{url}/{}/edit", member.user.id)),
    };
    members.iter().map(row).collect()
}

/// The requests for access that the viewer may decide about.
#[derive(Clone, Debug)]
pub struct RequestList {
    pub rows: Vec<RequestRow>,
    /// The levels that a new member can have.
    pub levels: Vec<LevelOption>,
    pub has_more: bool,
}

#[derive(Clone, Debug)]
pub struct RequestRow {
    pub person: Person,
    pub username: String,
    pub requested: Time,
    /// The address below which the decisions are.
    pub url: String,
}

impl RequestList {
    /// Returns the requests of a page, or None if there are none. `url` is the address of the list of members.
    pub fn new(requests: &Page<AccessRequest>, url: &str, highest: AccessLevel, now: DateTime<Utc>) -> Option<Self> {
        let row = |request: &AccessRequest| RequestRow {
            person: Person::from_user(&request.user),
            username: request.user.username.clone(),
            requested: Time::ago(request.requested_at, now),
            url: format!("{url}/requests/{}", request.user.id),
        };
        let rows: Vec<RequestRow> = requests.items.iter().map(row).collect();
        let levels = level_options(highest, AccessLevel::Developer.as_i16().into());
        (!rows.is_empty()).then_some(Self { rows, levels, has_more: requests.has_next })
    }
}

/// The form that adds a member.
#[derive(Clone, Debug)]
pub struct AddMemberForm {
    pub action: String,
    pub username: FormField,
    pub levels: Vec<LevelOption>,
    pub expires_at: FormField,
}

impl AddMemberForm {
    pub fn new(action: &str, input: &NewMemberInput, violations: &Violations, highest: AccessLevel) -> Self {
        let field = |name, label, value: &str| FormField::new(name, label, value).with_violations(violations);
        Self {
            action: action.to_owned(),
            username: field("username", "Username", &input.username),
            levels: level_options(highest, input.membership.access_level),
            expires_at: field("expires_at", "Expires on", &input.membership.expires_at),
        }
    }

    pub fn errors(&self) -> Vec<FormError> {
        form::errors([&self.username, &self.expires_at])
    }
}

/// The end of the page for a viewer who is a direct member.
#[derive(Clone, Debug)]
pub struct LeaveForm {
    pub text: &'static str,
    /// The address of the action, or None if the viewer may not leave.
    pub action: Option<String>,
    pub username: String,
}

impl LeaveForm {
    pub fn new(action: String, user: &UserSummary, text: &'static str) -> Self {
        Self { text, action: Some(action), username: user.username.clone() }
    }
}

#[derive(Template)]
#[template(path = "namespaces/members.html")]
pub struct GroupMembersPage {
    pub layout: Layout,
    pub requests: Option<RequestList>,
    pub members: Vec<MemberRow>,
    pub pages: Pages,
    pub errors: Vec<FormError>,
    /// The form that adds a member, if the viewer may.
    pub add: Option<AddMemberForm>,
    pub leave: Option<LeaveForm>,
}

const LEAVE: &str = "You lose your access to the group and to its projects, except where you are a direct member.";
const LAST_OWNER: &str = "You cannot leave: you are the only owner of the group whose membership does not expire, and a \
                          group must have one. Make another member an owner first.";

/// Builds the list of the members of a group. `input` and `violations` are those of a form that was rejected.
pub fn group_members_page(
    layout: Layout,
    found: &GroupMembers,
    abilities: GroupAbilities,
    viewer: Option<&UserSummary>,
    (input, violations): (&NewMemberInput, &Violations),
    now: DateTime<Utc>,
) -> GroupMembersPage {
    let url = links::group_page(&found.group.path, "members");
    let mut layout = group_frame(layout, &found.group, abilities, GroupTab::Members);
    layout.title = format!("Members · {}", found.group.name);
    let requests = found.requests.as_ref();
    let add = abilities.can_manage_members.then(|| AddMemberForm::new(&url, input, violations, AccessLevel::Owner));
    let leave = viewer.filter(|_| found.level.is_some()).map(|viewer| match found.is_last_owner {
        true => LeaveForm { text: LAST_OWNER, action: None, username: viewer.username.clone() },
        false => LeaveForm::new(format!("{url}/leave"), viewer, LEAVE),
    });
    GroupMembersPage {
        layout,
        requests: requests.and_then(|requests| RequestList::new(requests, &url, AccessLevel::Owner, now)),
        members: member_rows(&found.members.items, &url, abilities.can_manage_members),
        pages: Pages::new(&found.members, &url, &[]),
        errors: add.as_ref().map(AddMemberForm::errors).unwrap_or_default(),
        add,
        leave,
    }
}
