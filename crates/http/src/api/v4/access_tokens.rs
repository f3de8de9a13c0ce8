use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::projects::access_token::{self, AccessToken, CreateAccessToken, TokenParent};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::TokenId;
use holdfast_domain::policy::{GroupAction, ProjectAction};

use super::ApiResult;
use super::tokens::State;
use crate::present::v4::token::{AccessTokenBody, NewAccessToken, present_access_token};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

fn present(context: &RequestContext, token: AccessToken) -> AccessTokenBody {
    let is_active = context.app().is_active(&token.token);
    present_access_token(token, is_active)
}

fn present_new(context: &RequestContext, (token, secret): (AccessToken, String)) -> NewAccessToken {
    NewAccessToken { fields: present(context, token), token: secret }
}

async fn list(
    context: &RequestContext,
    parent: &TokenParent,
    state: Option<State>,
) -> ApiResult<PageBody<AccessTokenBody>> {
    let is_active = state.map(|state| state == State::Active);
    let page = access_token::list(context.app(), &context.actor, parent, is_active, context.page).await?;
    Ok(PageBody(page.map(|token| present(context, token))))
}

async fn show(context: &RequestContext, parent: &TokenParent, id: TokenId) -> ApiResult<Body<AccessTokenBody>> {
    let token = access_token::show(context.app(), &context.actor, parent, id).await?;
    Ok(Body(present(context, token)))
}

params! {
    struct NewToken {
        /// Name of the token, which is also the name of its user.
        required name: String,
        /// One or more of the scopes `api`, `read_api`, `read_user`, `read_repository` and `write_repository`.
        list scopes: String,
        /// Access level of its user: 10 guest, 20 reporter, 30 developer, 40 maintainer (the default), 50 owner (in groups
        /// only).
        optional access_level: i64,
        /// First day on which the token is no longer valid, at most 365 days from today. The last possible day by default.
        optional expires_at: NaiveDate,
    }
}

async fn create(
    context: &RequestContext,
    parent: &TokenParent,
    params: NewToken,
) -> ApiResult<Created<NewAccessToken>> {
    let NewToken { name, scopes, access_level, expires_at } = params;
    let input = CreateAccessToken { name, scopes, access_level, expires_at };
    let new = access_token::create(context.app(), &context.actor, parent, input).await?;
    Ok(Created(present_new(context, new)))
}

async fn rotate(
    context: &RequestContext,
    parent: &TokenParent,
    id: TokenId,
    expires_at: Option<NaiveDate>,
) -> ApiResult<Body<NewAccessToken>> {
    let new = access_token::rotate(context.app(), &context.actor, parent, id, expires_at).await?;
    Ok(Body(present_new(context, new)))
}

async fn revoke(context: &RequestContext, parent: &TokenParent, id: TokenId) -> ApiResult<NoContent> {
    access_token::revoke(context.app(), &context.actor, parent, id).await?;
    Ok(NoContent)
}

params! {
    struct ListOfProject {
        required id: ProjectRef,
        /// `active`: only tokens that are neither revoked nor expired. `inactive`: only other tokens.
        optional state: State,
    }
}

async fn list_of_project(context: RequestContext, params: ListOfProject) -> ApiResult<PageBody<AccessTokenBody>> {
    list(&context, &TokenParent::Project(params.id), params.state).await
}

params! {
    struct OneOfProject {
        required id: ProjectRef,
        /// Id of the token.
        required token_id: TokenId,
    }
}

async fn show_of_project(context: RequestContext, params: OneOfProject) -> ApiResult<Body<AccessTokenBody>> {
    show(&context, &TokenParent::Project(params.id), params.token_id).await
}

params! {
    struct CreateForProject {
        required id: ProjectRef,
        flatten token: NewToken,
    }
}

async fn create_for_project(context: RequestContext, params: CreateForProject) -> ApiResult<Created<NewAccessToken>> {
    create(&context, &TokenParent::Project(params.id), params.token).await
}

params! {
    struct RotateOfProject {
        required id: ProjectRef,
        /// Id of the token.
        required token_id: TokenId,
        /// First day on which the new token is no longer valid, at most 365 days from today. A week from today by default.
        optional expires_at: NaiveDate,
    }
}

async fn rotate_of_project(context: RequestContext, params: RotateOfProject) -> ApiResult<Body<NewAccessToken>> {
    rotate(&context, &TokenParent::Project(params.id), params.token_id, params.expires_at).await
}

async fn revoke_of_project(context: RequestContext, params: OneOfProject) -> ApiResult<NoContent> {
    revoke(&context, &TokenParent::Project(params.id), params.token_id).await
}

params! {
    struct ListOfGroup {
        required id: GroupRef,
        /// `active`: only tokens that are neither revoked nor expired. `inactive`: only other tokens.
        optional state: State,
    }
}

async fn list_of_group(context: RequestContext, params: ListOfGroup) -> ApiResult<PageBody<AccessTokenBody>> {
    list(&context, &TokenParent::Group(params.id), params.state).await
}

params! {
    struct OneOfGroup {
        required id: GroupRef,
        /// Id of the token.
        required token_id: TokenId,
    }
}

async fn show_of_group(context: RequestContext, params: OneOfGroup) -> ApiResult<Body<AccessTokenBody>> {
    show(&context, &TokenParent::Group(params.id), params.token_id).await
}

params! {
    struct CreateForGroup {
        required id: GroupRef,
        flatten token: NewToken,
    }
}

async fn create_for_group(context: RequestContext, params: CreateForGroup) -> ApiResult<Created<NewAccessToken>> {
    create(&context, &TokenParent::Group(params.id), params.token).await
}

params! {
    struct RotateOfGroup {
        required id: GroupRef,
        /// Id of the token.
        required token_id: TokenId,
        /// First day on which the new token is no longer valid, at most 365 days from today. A week from today by default.
        optional expires_at: NaiveDate,
    }
}

async fn rotate_of_group(context: RequestContext, params: RotateOfGroup) -> ApiResult<Body<NewAccessToken>> {
    rotate(&context, &TokenParent::Group(params.id), params.token_id, params.expires_at).await
}

async fn revoke_of_group(context: RequestContext, params: OneOfGroup) -> ApiResult<NoContent> {
    revoke(&context, &TokenParent::Group(params.id), params.token_id).await
}

pub fn routes(routes: &mut Routes) {
    const OF_PROJECT: &str = "/projects/:id/access_tokens";
    const ONE_OF_PROJECT: &str = "/projects/:id/access_tokens/:token_id";
    const ROTATE_OF_PROJECT: &str = "/projects/:id/access_tokens/:token_id/rotate";
    let manage = Access::Project(ProjectAction::ManageMembers);
    routes.add(Method::GET, OF_PROJECT, manage, "List the access tokens of a project", list_of_project);
    routes.add(Method::GET, ONE_OF_PROJECT, manage, "Get an access token of a project", show_of_project);
    routes.add(Method::POST, OF_PROJECT, manage, "Create an access token of a project", create_for_project);
    let summary = "Replace an access token of a project by a new one";
    routes.add(Method::POST, ROTATE_OF_PROJECT, manage, summary, rotate_of_project);
    routes.add(Method::DELETE, ONE_OF_PROJECT, manage, "Revoke an access token of a project", revoke_of_project);

    const OF_GROUP: &str = "/groups/:id/access_tokens";
    const ONE_OF_GROUP: &str = "/groups/:id/access_tokens/:token_id";
    const ROTATE_OF_GROUP: &str = "/groups/:id/access_tokens/:token_id/rotate";
    let manage = Access::Group(GroupAction::ManageMembers);
    routes.add(Method::GET, OF_GROUP, manage, "List the access tokens of a group", list_of_group);
    routes.add(Method::GET, ONE_OF_GROUP, manage, "Get an access token of a group", show_of_group);
    routes.add(Method::POST, OF_GROUP, manage, "Create an access token of a group", create_for_group);
    routes.add(
        Method::POST,
        ROTATE_OF_GROUP,
        manage,
        "Replace an access token of a group by a new one",
        rotate_of_group,
    );
    routes.add(Method::DELETE, ONE_OF_GROUP, manage, "Revoke an access token of a group", revoke_of_group);
}
