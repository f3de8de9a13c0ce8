//! The access tokens of a project or a group. Each has a user of its own, a bot.

use chrono::NaiveDate;
use holdfast_app::Error;
use holdfast_app::projects::access_token::{self, CreateAccessToken, FoundParent, ParentTokens, TokenParent};
use holdfast_domain::ids::TokenId;
use holdfast_domain::policy::{GroupAction, ProjectAction};
use holdfast_domain::{Violations, parse_date};
use holdfast_http_core::{Access, params};

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::{Abilities, GroupAbilities};
use crate::addresses::group_ref;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::accounts::token::NewToken;
use crate::views::links;
use crate::views::projects::access_token::{
    AccessTokenValues, AccessTokensPage, group_tokens_page, project_tokens_page,
};

pub fn declare(pages: &mut Pages) {
    const OF_PROJECT: &str = "/:namespace/:project/settings/access_tokens";
    const ROTATE: &str = "/:namespace/:project/settings/access_tokens/:id/rotate";
    const REVOKE: &str = "/:namespace/:project/settings/access_tokens/:id/revoke";
    let manage = Access::Project(ProjectAction::ManageMembers);
    pages.get(OF_PROJECT, manage, Cost::Cheap, "Access tokens", list_of_project).confirmed();
    pages.post(OF_PROJECT, manage, Cost::Cheap, "Create a token", create_for_project).confirmed();
    pages.post(ROTATE, manage, Cost::Cheap, "Rotate a token", rotate_of_project).confirmed();
    pages.post(REVOKE, manage, Cost::Cheap, "Revoke a token", revoke_of_project).confirmed();

    const OF_GROUP: &str = "/groups/:group/access_tokens";
    let manage = Access::Group(GroupAction::ManageMembers);
    pages.get(OF_GROUP, manage, Cost::Cheap, "Access tokens", list_of_group).confirmed();
    pages.post(OF_GROUP, manage, Cost::Cheap, "Create a token", create_for_group).confirmed();
    let rotated = "/groups/:group/access_tokens/:id/rotate";
    pages.post(rotated, manage, Cost::Cheap, "Rotate a token", rotate_of_group).confirmed();
    let revoked = "/groups/:group/access_tokens/:id/revoke";
    pages.post(revoked, manage, Cost::Cheap, "Revoke a token", revoke_of_group).confirmed();
}

params! {
    struct TokenFields {
        optional name: String,
        list scopes: String,
        optional access_level: String,
        optional expires_at: String,
    }
}

params! {
    struct CreateForProject {
        flatten project: ProjectPathParams,
        flatten token: TokenFields,
    }
}

params! {
    struct OneOfProject {
        flatten project: ProjectPathParams,
        required id: TokenId,
    }
}

params! {
    struct RotateOfProject {
        flatten project: ProjectPathParams,
        required id: TokenId,
        optional expires_at: String,
    }
}

params! {
    struct GroupPath {
        required group: String,
    }
}

params! {
    struct CreateForGroup {
        required group: String,
        flatten token: TokenFields,
    }
}

params! {
    struct OneOfGroup {
        required group: String,
        required id: TokenId,
    }
}

params! {
    struct RotateOfGroup {
        required group: String,
        required id: TokenId,
        optional expires_at: String,
    }
}

impl From<TokenFields> for AccessTokenValues {
    fn from(fields: TokenFields) -> Self {
        Self {
            name: fields.name.unwrap_or_default(),
            scopes: fields.scopes,
            access_level: fields.access_level,
            expires_at: fields.expires_at.unwrap_or_default(),
        }
    }
}

/// Returns the page with the tokens of a project or group.
fn page(
    context: &RequestContext,
    found: &ParentTokens,
    values: AccessTokenValues,
    violations: &Violations,
) -> AccessTokensPage {
    let (layout, now) = (context.layout(), context.now());
    match &found.parent {
        FoundParent::Project(project) => {
            let abilities = Abilities::new(project, &context.actor);
            project_tokens_page(layout, project, abilities, found, values, violations, now)
        }
        FoundParent::Group(group) => {
            // Only those who manage the members of the group get this page.
            let abilities = GroupAbilities::new(group, Some(found.max_level), &context.actor);
            group_tokens_page(layout, group, abilities, found, values, violations, now)
        }
    }
}

async fn list(context: &RequestContext, parent: &TokenParent) -> Result<ParentTokens, Error> {
    access_token::list_with_parent(context.app(), &context.actor, parent, context.page).await
}

async fn show(context: RequestContext, parent: TokenParent) -> PageResult {
    let found = list(&context, &parent).await?;
    match (&found.parent, &parent) {
        (FoundParent::Project(project), _) => ensure_address(&context, project)?,
        (FoundParent::Group(group), TokenParent::Group(requested)) if *requested != group_ref(&group.path) => {
            return Err(PageError::Moved(links::group_page(&group.path, "access_tokens")));
        }
        (FoundParent::Group(_), _) => {}
    }
    respond::html(&page(&context, &found, AccessTokenValues::default(), &Violations::default()))
}

/// Returns the page with the secret of a token, which is stored nowhere.
async fn show_secret(context: &RequestContext, parent: &TokenParent, name: String, secret: String) -> PageResult {
    let found = list(context, parent).await?;
    let page = page(context, &found, AccessTokenValues::default(), &Violations::default());
    Ok(respond::html(&page.with_new_token(NewToken { name, secret }))?.with_secret())
}

/// Returns what the form asks for.
fn input(values: &AccessTokenValues) -> Result<CreateAccessToken, Violations> {
    let mut violations = Violations::default();
    let expires_at = match values.expires_at.trim() {
        "" => None,
        text => violations.check("expires_at", parse_expiry(text)),
    };
    let level = values.access_level.as_deref().unwrap_or_default();
    let access_level = match level {
        "" => None,
        text => violations.check("access_level", text.parse().map_err(|_| "is not an access level".to_owned())),
    };
    violations.into_result()?;
    Ok(CreateAccessToken { name: values.name.clone(), scopes: values.scopes.clone(), access_level, expires_at })
}

fn parse_expiry(text: &str) -> Result<NaiveDate, String> {
    parse_date(text).ok_or_else(|| "is not a date such as 2027-01-31".to_owned())
}

async fn create(context: RequestContext, parent: TokenParent, fields: TokenFields) -> PageResult {
    let values = AccessTokenValues::from(fields);
    let created = match input(&values) {
        Ok(input) => access_token::create(context.app(), &context.actor, &parent, input).await,
        Err(violations) => Err(violations.into()),
    };
    let violations = match created {
        Ok((created, secret)) => return show_secret(&context, &parent, created.token.name, secret).await,
        Err(Error::Invalid(violations)) => violations,
        Err(Error::Rejected(text)) => Violations::single("name", format!("was not accepted: {text}")),
        Err(error) => return Err(error.into()),
    };
    let found = list(&context, &parent).await?;
    respond::rejected(&page(&context, &found, values, &violations))
}

async fn rotate(context: RequestContext, parent: TokenParent, id: TokenId, expires_at: Option<String>) -> PageResult {
    let expires_at = expires_at.and_then(|text| parse_date(text.trim()));
    let (new, secret) = access_token::rotate(context.app(), &context.actor, &parent, id, expires_at).await?;
    show_secret(&context, &parent, new.token.name, secret).await
}

async fn list_of_project(context: RequestContext, path: ProjectPathParams) -> PageResult {
    show(context, TokenParent::Project(path.reference())).await
}

async fn create_for_project(context: RequestContext, form: CreateForProject) -> PageResult {
    create(context, TokenParent::Project(form.project.reference()), form.token).await
}

async fn rotate_of_project(context: RequestContext, form: RotateOfProject) -> PageResult {
    rotate(context, TokenParent::Project(form.project.reference()), form.id, form.expires_at).await
}

async fn revoke_of_project(context: RequestContext, OneOfProject { project, id }: OneOfProject) -> PageResult {
    let parent = TokenParent::Project(project.reference());
    access_token::revoke(context.app(), &context.actor, &parent, id).await?;
    let page = respond::see_other(project.links().settings_page("access_tokens"));
    Ok(page.with_flash(FlashCode::TokenRevoked))
}

async fn list_of_group(context: RequestContext, GroupPath { group }: GroupPath) -> PageResult {
    show(context, TokenParent::Group(group_ref(&group))).await
}

async fn create_for_group(context: RequestContext, form: CreateForGroup) -> PageResult {
    create(context, TokenParent::Group(group_ref(&form.group)), form.token).await
}

async fn rotate_of_group(context: RequestContext, form: RotateOfGroup) -> PageResult {
    rotate(context, TokenParent::Group(group_ref(&form.group)), form.id, form.expires_at).await
}

async fn revoke_of_group(context: RequestContext, OneOfGroup { group, id }: OneOfGroup) -> PageResult {
    access_token::revoke(context.app(), &context.actor, &TokenParent::Group(group_ref(&group)), id).await?;
    Ok(respond::see_other(links::group_page(&group, "access_tokens")).with_flash(FlashCode::TokenRevoked))
}
