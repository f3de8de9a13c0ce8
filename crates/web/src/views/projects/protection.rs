//! The rules for protected branches and tags of a project.

use askama::Template;
use holdfast_app::repository::refs::protected_branch::{BranchRule, ProtectionRules};
use holdfast_domain::repository::{Rule, TagRule};
use holdfast_domain::{AccessLevel, Violations};

use super::frame::{ProjectTab, project_frame};
use super::settings_nav::SettingsNav;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "projects/protection.html")]
pub struct ProtectionPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    /// The address of the rules for branches, below which their actions are.
    pub branches_url: String,
    pub tags_url: String,
    pub rules: Vec<BranchRuleRow>,
    pub pages: Pages,
    pub tags: Vec<TagRuleRow>,
    pub errors: Vec<FormError>,
    pub branch: FormField,
    pub suggestions: Vec<String>,
    pub developers: Developers,
    pub tag: FormField,
    pub creators: Creators,
}

/// What developers may do with a branch. Masters may do both.
#[derive(Clone, Copy, Debug, Default)]
pub struct Developers {
    pub can_push: bool,
    pub can_merge: bool,
}

impl From<&Rule> for Developers {
    fn from(rule: &Rule) -> Self {
        Self { can_push: rule.push <= AccessLevel::Developer, can_merge: rule.merge <= AccessLevel::Developer }
    }
}

#[derive(Clone, Debug)]
pub struct BranchRuleRow {
    pub name: String,
    /// What is particular about the rule, such as that its branch does not exist.
    pub detail: Option<&'static str>,
    pub developers: Developers,
}

/// Who may create the tags of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Creators {
    #[default]
    Masters,
    Developers,
    Nobody,
}

impl Creators {
    pub const ALL: [Self; 3] = [Self::Masters, Self::Developers, Self::Nobody];

    /// Returns the value in the form.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Masters => "masters",
            Self::Developers => "developers",
            Self::Nobody => "nobody",
        }
    }

    pub const fn label(&self) -> &'static str {
        match self {
            Self::Masters => "Masters",
            Self::Developers => "Developers and masters",
            Self::Nobody => "Nobody",
        }
    }

    /// Returns the lowest level that may create the tags, or None for nobody.
    pub const fn min_level(self) -> Option<AccessLevel> {
        match self {
            Self::Masters => Some(AccessLevel::Master),
            Self::Developers => Some(AccessLevel::Developer),
            Self::Nobody => None,
        }
    }
}

impl From<&TagRule> for Creators {
    fn from(rule: &TagRule) -> Self {
        match rule.create {
            None => Self::Nobody,
            Some(level) if level <= AccessLevel::Developer => Self::Developers,
            Some(_) => Self::Masters,
        }
    }
}

#[derive(Clone, Debug)]
pub struct TagRuleRow {
    pub name: String,
    pub creators: Creators,
}

/// The values of the forms for new rules. They are empty at first.
#[derive(Clone, Debug, Default)]
pub struct ProtectionValues {
    pub branch: String,
    pub developers: Developers,
    pub tag: String,
    pub creators: Creators,
}

fn branch_row(found: &BranchRule) -> BranchRuleRow {
    let detail = match (found.rule.name.contains('*'), found.is_branch) {
        (true, _) => Some("for all branches with such a name"),
        (false, true) => None,
        (false, false) => Some("there is no such branch"),
    };
    BranchRuleRow { name: found.rule.name.clone(), detail, developers: Developers::from(&found.rule) }
}

/// Builds the page. `violations` is empty unless a form was rejected.
pub fn protection_page(
    layout: Layout,
    found: &ProtectionRules,
    abilities: Abilities,
    values: ProtectionValues,
    violations: &Violations,
) -> ProtectionPage {
    let project = &found.project;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Protected branches and tags · {}", project.full_path());
    let branches_url = links.settings_page("branches");
    let branch = FormField::new("branch", "Branch", values.branch).with_violations(violations);
    let tag = FormField::new("tag", "Tag", values.tag).with_violations(violations);
    let tag_row = |rule: &TagRule| TagRuleRow { name: rule.name.clone(), creators: Creators::from(rule) };
    ProtectionPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        tags_url: links.settings_page("tags"),
        rules: found.branches.items.iter().map(branch_row).collect(),
        pages: Pages::new(&found.branches, &branches_url, &[]),
        branches_url,
        tags: found.tags.iter().map(tag_row).collect(),
        errors: form::errors([&branch, &tag]),
        branch,
        suggestions: found.suggestions.clone(),
        developers: values.developers,
        tag,
        creators: values.creators,
    }
}
