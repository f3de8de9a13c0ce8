//! The rules for protected branches and tags of a project.

use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::{protected_branch, protected_tag};
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::{Rule, TagRule};
use holdfast_domain::violations::BLANK;
use holdfast_domain::{AccessLevel, Violations};
use holdfast_http_core::{Access, choice, params};

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::{PageError, sentence};
use crate::flash::FlashCode;
use crate::layout::Flash;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResponse, PageResult};
use crate::views::projects::protection::{Creators, Developers, ProtectionValues, protection_page};

pub fn declare(pages: &mut Pages) {
    const BRANCHES: &str = "/:namespace/:project/settings/branches";
    let protect = Access::Project(ProjectAction::ProtectBranches);
    pages.get(BRANCHES, protect, Cost::Normal, "Protected branches and tags", list);
    // Names contain slashes and wildcards, so they are not a part of these addresses.
    pages
        .post(BRANCHES, protect, Cost::Normal, "Protect a branch", create)
        .api("PUT /projects/:id/repository/branches/:branch/protect");
    let (title, path) = ("Change the rule of a branch", "/:namespace/:project/settings/branches/update");
    pages.post(path, protect, Cost::Normal, title, update).api("PUT /projects/:id/repository/branches/:branch/protect");
    let (title, path) = ("Remove the rule of a branch", "/:namespace/:project/settings/branches/delete");
    pages
        .post(path, protect, Cost::Normal, title, delete)
        .api("PUT /projects/:id/repository/branches/:branch/unprotect");
    pages.post("/:namespace/:project/settings/tags", protect, Cost::Normal, "Protect tags", create_tag_rule);
    let (title, path) = ("Remove a rule for tags", "/:namespace/:project/settings/tags/delete");
    pages.post(path, protect, Cost::Normal, title, delete_tag_rule);
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found =
        protected_branch::list_with_tags(context.app(), &context.actor, &path.reference(), context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let (values, violations) = (ProtectionValues::default(), Violations::default());
    respond::html(&protection_page(layout, &found, abilities, values, &violations))
}

/// Why a change was rejected: messages about fields, or a reason that belongs to none.
enum Rejection {
    Fields(ProtectionValues, Violations),
    Reason(String),
}

/// Responds with the page and the rejection.
async fn reject(context: &RequestContext, project: &ProjectRef, rejection: Rejection) -> PageResult {
    let found = protected_branch::list_with_tags(context.app(), &context.actor, project, context.page).await?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let mut layout = context.layout_with_id(found.project.id.get());
    let (values, violations) = match rejection {
        Rejection::Fields(values, violations) => (values, violations),
        Rejection::Reason(text) => {
            layout.flash = Some(Flash { kind: "bad", text });
            (ProtectionValues::default(), Violations::default())
        }
    };
    respond::rejected(&protection_page(layout, &found, abilities, values, &violations))
}

/// Returns the reason if a rule does not exist. Fails with any other error.
fn missing_rule(error: Error) -> Result<Rejection, PageError> {
    match error {
        Error::NotFound(Resource::Record) => Ok(Rejection::Reason("There is no such rule any more.".to_owned())),
        other => Err(other.into()),
    }
}

fn done(path: &ProjectPathParams, flash: FlashCode) -> PageResponse {
    respond::see_other(path.links().settings_page("branches")).with_flash(flash)
}

choice! {
    enum Level { Masters = "masters", Developers = "developers" }
}

impl From<Level> for AccessLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Masters => Self::Master,
            Level::Developers => Self::Developer,
        }
    }
}

params! {
    struct BranchRuleForm {
        flatten path: ProjectPathParams,
        optional branch: String,
        /// Who may push. By default masters in a new rule, and as before in another.
        optional push: Level,
        /// Who may merge, with the same defaults.
        optional merge: Level,
    }
}

async fn create(context: RequestContext, form: BranchRuleForm) -> PageResult {
    let (project, name) = (form.path.reference(), form.branch.unwrap_or_default());
    let level = |level: Option<Level>| level.unwrap_or(Level::Masters).into();
    let rule = Rule { name: name.clone(), push: level(form.push), merge: level(form.merge) };
    let message = match protected_branch::create(context.app(), &context.actor, &project, rule).await {
        Ok(_) => return Ok(done(&form.path, FlashCode::BranchRuleCreated)),
        Err(Error::NotFound(Resource::Branch)) if name.is_empty() => BLANK,
        Err(Error::NotFound(Resource::Branch)) => "does not exist",
        Err(Error::Rejected(_)) => "must be the name of one branch, without the wildcard *",
        Err(Error::Conflict(_)) => "is protected already: change its rule in the list",
        Err(error) => return Err(error.into()),
    };
    let can = |level: Option<Level>| level == Some(Level::Developers);
    let developers = Developers { can_push: can(form.push), can_merge: can(form.merge) };
    let values = ProtectionValues { branch: name, developers, ..ProtectionValues::default() };
    reject(&context, &project, Rejection::Fields(values, Violations::single("branch", message))).await
}

async fn update(context: RequestContext, form: BranchRuleForm) -> PageResult {
    let (project, name) = (form.path.reference(), form.branch.unwrap_or_default());
    let (push, merge) = (form.push.map(Into::into), form.merge.map(Into::into));
    match protected_branch::update(context.app(), &context.actor, &project, &name, push, merge).await {
        Ok(_) => Ok(done(&form.path, FlashCode::BranchRuleSaved)),
        Err(error) => reject(&context, &project, missing_rule(error)?).await,
    }
}

params! {
    struct OneBranchRule {
        flatten path: ProjectPathParams,
        optional branch: String,
    }
}

async fn delete(context: RequestContext, OneBranchRule { path, branch }: OneBranchRule) -> PageResult {
    let (project, name) = (path.reference(), branch.unwrap_or_default());
    match protected_branch::delete(context.app(), &context.actor, &project, &name).await {
        Ok(()) => Ok(done(&path, FlashCode::BranchRuleDeleted)),
        Err(error) => reject(&context, &project, missing_rule(error)?).await,
    }
}

choice! {
    enum CreatorChoice { Masters = "masters", Developers = "developers", Nobody = "nobody" }
}

params! {
    struct TagRuleForm {
        flatten path: ProjectPathParams,
        optional tag: String,
        /// Who may create the tags: masters by default.
        optional create: CreatorChoice,
    }
}

async fn create_tag_rule(context: RequestContext, TagRuleForm { path, tag, create }: TagRuleForm) -> PageResult {
    let (project, name) = (path.reference(), tag.unwrap_or_default());
    let creators = match create {
        Some(CreatorChoice::Masters) | None => Creators::Masters,
        Some(CreatorChoice::Developers) => Creators::Developers,
        Some(CreatorChoice::Nobody) => Creators::Nobody,
    };
    let rule = TagRule { name: name.clone(), create: creators.min_level() };
    let message = match protected_tag::create(context.app(), &context.actor, &project, rule).await {
        Ok(_) => return Ok(done(&path, FlashCode::TagRuleCreated)),
        Err(Error::Invalid(_)) if name.is_empty() => BLANK,
        Err(Error::Invalid(_)) => "is not a name that a tag can have",
        Err(Error::Conflict(_)) => "has a rule already",
        Err(Error::Rejected(text)) => return reject(&context, &project, Rejection::Reason(sentence(&text))).await,
        Err(error) => return Err(error.into()),
    };
    let values = ProtectionValues { tag: name, creators, ..ProtectionValues::default() };
    reject(&context, &project, Rejection::Fields(values, Violations::single("tag", message))).await
}

params! {
    struct OneTagRule {
        flatten path: ProjectPathParams,
        optional tag: String,
    }
}

async fn delete_tag_rule(context: RequestContext, OneTagRule { path, tag }: OneTagRule) -> PageResult {
    let (project, name) = (path.reference(), tag.unwrap_or_default());
    match protected_tag::delete(context.app(), &context.actor, &project, &name).await {
        Ok(()) => Ok(done(&path, FlashCode::TagRuleDeleted)),
        Err(error) => reject(&context, &project, missing_rule(error)?).await,
    }
}
