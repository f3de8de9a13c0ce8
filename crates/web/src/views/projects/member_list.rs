//! The members of a project, and the groups that it is shared with.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::accounts::user::UserSummary;
use holdfast_app::namespaces::member::NewMemberInput;
use holdfast_app::projects::member_overview::{InheritedMember, ProjectMembers};
use holdfast_app::projects::share::{ShareDetail, ShareInput};
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::{AccessLevel, Violations};

use super::frame::{ProjectTab, project_frame};
use super::settings_nav::SettingsNav;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::namespaces::level::{LevelOption, LevelView, level_options};
use crate::views::namespaces::member_list::{AddMemberForm, LeaveForm, MemberRow, RequestList, member_rows};
use crate::views::{Pages, Person, ProjectLinks, links};
use crate::words;

#[derive(Template)]
#[template(path = "projects/members.html")]
pub struct ProjectMembersPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub abilities: Abilities,
    pub requests: Option<RequestList>,
    pub members: Vec<MemberRow>,
    pub pages: Pages,
    pub inherited: Vec<InheritedRow>,
    pub has_more_inherited: bool,
    pub shares: Vec<ShareRow>,
    pub errors: Vec<FormError>,
    /// The form that adds a member, if the viewer may.
    pub add: Option<AddMemberForm>,
    /// The form that shares the project, if the viewer may.
    pub share: Option<ShareForm>,
    pub leave: Option<LeaveForm>,
}

/// A member through a group, or the owner of the namespace.
#[derive(Clone, Debug)]
pub struct InheritedRow {
    pub person: Person,
    pub username: String,
    pub level: LevelView,
    pub expires: Option<String>,
    /// What the source is, which its path follows.
    pub source: &'static str,
    pub source_path: String,
    /// None for a group that the project is shared with: not all members of the project may see it.
    pub source_url: Option<String>,
}

impl From<&InheritedMember> for InheritedRow {
    fn from(member: &InheritedMember) -> Self {
        let (source, source_url) = match (member.source_kind, member.is_shared) {
            (NamespaceKind::User, _) => ("owner of the namespace", Some(links::user(&member.source_path))),
            (NamespaceKind::Group, true) => ("shared with the group", None),
            (NamespaceKind::Group, false) => ("through the group", Some(links::group(&member.source_path))),
        };
        Self {
            person: Person::from_user(&member.user),
            username: member.user.username.clone(),
            level: member.access_level.into(),
            expires: member.expires_at.map(words::date),
            source,
            source_path: member.source_path.clone(),
            source_url,
        }
    }
}

/// A group that the project is shared with.
#[derive(Clone, Debug)]
pub struct ShareRow {
    pub path: String,
    pub level: LevelView,
    pub expires: Option<String>,
    pub delete_url: String,
}

/// The form that shares the project with a group. Its fields have names of their own, because the page also has the form
/// that adds a member.
#[derive(Clone, Debug)]
pub struct ShareForm {
    pub action: String,
    pub group: FormField,
    pub levels: Vec<LevelOption>,
    pub expires_at: FormField,
}

impl ShareForm {
    fn new(links: &ProjectLinks, input: &ShareInput, violations: &Violations) -> Self {
        let field = |name, label, value: &str| FormField::new(name, label, value).with_violations(violations);
        Self {
            action: links.settings_page("shares"),
            group: FormField { name: "share_group", ..field("group", "Group", &input.group) },
            levels: level_options(AccessLevel::Master, input.membership.access_level),
            expires_at: FormField {
                name: "share_expires_at",
                ..field("expires_at", "Share expires on", &input.membership.expires_at)
            },
        }
    }
}

/// The forms of the page. One of them has violations if it was rejected.
#[derive(Clone, Debug, Default)]
pub struct MemberForms {
    pub member: NewMemberInput,
    pub member_violations: Violations,
    pub share: ShareInput,
    pub share_violations: Violations,
}

const LEAVE: &str = "You lose your access to the project, except through a group.";

/// Builds the list of members.
pub fn project_members_page(
    layout: Layout,
    found: &ProjectMembers,
    abilities: Abilities,
    viewer: Option<&UserSummary>,
    forms: &MemberForms,
    now: DateTime<Utc>,
) -> ProjectMembersPage {
    let project = &found.project;
    let full_path = project.full_path();
    let project_links = ProjectLinks::new(&full_path);
    let url = project_links.members();
    let tab = if abilities.can_update { ProjectTab::Settings } else { ProjectTab::Code };
    let mut layout = project_frame(layout, project, abilities, tab);
    layout.title = format!("Members · {full_path}");
    let requests = found.requests.as_ref();
    let add = abilities
        .can_manage_members
        .then(|| AddMemberForm::new(&url, &forms.member, &forms.member_violations, AccessLevel::Master));
    let share = abilities.can_share.then(|| ShareForm::new(&project_links, &forms.share, &forms.share_violations));
    let mut errors = add.as_ref().map(AddMemberForm::errors).unwrap_or_default();
    errors.extend(share.iter().flat_map(|share| form::errors([&share.group, &share.expires_at])));
    // The owner of the namespace owns the project without a membership, too.
    let is_owner = |user: &UserSummary| project.namespace.owner_id == Some(user.id.get());
    let leaving = viewer.filter(|user| project.project_level().is_some() && !is_owner(user));
    let share_row = |share: &ShareDetail| ShareRow {
        path: share.group_path.clone(),
        level: share.access_level.into(),
        expires: share.expires_at.map(words::date),
        delete_url: project_links.settings_page(&format!("shares/{}/delete", share.group_id)),
    };
    ProjectMembersPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        abilities,
        requests: requests.and_then(|requests| RequestList::new(requests, &url, AccessLevel::Master, now)),
        members: member_rows(&found.members.items, &url, abilities.can_manage_members),
        pages: Pages::new(&found.members, &url, &[]),
        inherited: found.inherited.iter().map(InheritedRow::from).collect(),
        has_more_inherited: found.has_more_inherited,
        shares: found.shares.iter().map(share_row).collect(),
        errors,
        add,
        share,
        leave: leaving.map(|user| LeaveForm::new(format!("{url}/leave"), user, LEAVE)),
    }
}
