use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::accounts::token::{self, CreateToken, Filter, Token, TokenRef};
use holdfast_domain::ids::{TokenId, UserId};
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ManageUsers};

use super::ApiResult;
use crate::present::v4::token::{NewPersonalAccessToken, PersonalAccessToken, present_token};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

fn present(context: &RequestContext, token: Token) -> PersonalAccessToken {
    let is_active = context.app().is_active(&token);
    present_token(token, is_active)
}

fn present_new(context: &RequestContext, (token, secret): (Token, String)) -> NewPersonalAccessToken {
    NewPersonalAccessToken { fields: present(context, token), token: secret }
}

choice! {
    pub enum State { Active = "active", Inactive = "inactive" }
}

params! {
    struct ListTokens {
        /// The user, for administrators. The current user by default.
        optional user_id: UserId,
        /// Only revoked tokens if true, only other tokens if false.
        optional revoked: bool,
        /// `active`: only tokens that are neither revoked nor expired. `inactive`: only other tokens.
        optional state: State,
        /// Part of the name.
        optional search: String,
    }
}

async fn list(context: RequestContext, params: ListTokens) -> ApiResult<PageBody<PersonalAccessToken>> {
    let filter = Filter {
        is_impersonation: false,
        user: params.user_id,
        is_revoked: params.revoked,
        is_active: params.state.map(|state| state == State::Active),
        search: params.search.filter(|term| !term.is_empty()),
    };
    let page = token::list(context.app(), &context.actor, filter, context.page).await?;
    Ok(PageBody(page.map(|token| present(&context, token))))
}

params! {
    struct OneToken {
        /// Id of the token.
        required id: TokenId,
    }
}

async fn show(context: RequestContext, params: OneToken) -> ApiResult<Body<PersonalAccessToken>> {
    let token = token::show(context.app(), &context.actor, TokenRef::Id(params.id)).await?;
    Ok(Body(present(&context, token)))
}

async fn show_in_use(context: RequestContext, (): ()) -> ApiResult<Body<PersonalAccessToken>> {
    let token = token::show(context.app(), &context.actor, TokenRef::InUse).await?;
    Ok(Body(present(&context, token)))
}

params! {
    struct Rotation {
        /// First day on which the new token is no longer valid. A week from today by default.
        optional expires_at: NaiveDate,
    }
}

async fn rotate_in_use(context: RequestContext, params: Rotation) -> ApiResult<Body<NewPersonalAccessToken>> {
    let new = token::rotate(context.app(), &context.actor, TokenRef::InUse, params.expires_at).await?;
    Ok(Body(present_new(&context, new)))
}

params! {
    struct RotateToken {
        /// Id of the token.
        required id: TokenId,
        flatten rotation: Rotation,
    }
}

async fn rotate(context: RequestContext, params: RotateToken) -> ApiResult<Body<NewPersonalAccessToken>> {
    let (token, end) = (TokenRef::Id(params.id), params.rotation.expires_at);
    let new = token::rotate(context.app(), &context.actor, token, end).await?;
    Ok(Body(present_new(&context, new)))
}

async fn revoke(context: RequestContext, params: OneToken) -> ApiResult<NoContent> {
    token::revoke_any(context.app(), &context.actor, TokenRef::Id(params.id)).await?;
    Ok(NoContent)
}

async fn revoke_in_use(context: RequestContext, (): ()) -> ApiResult<NoContent> {
    token::revoke_any(context.app(), &context.actor, TokenRef::InUse).await?;
    Ok(NoContent)
}

params! {
    pub struct NewToken {
        /// Name of the token.
        required name: String,
        /// One or more of the scopes `api`, `read_api`, `read_user`, `read_repository`, `write_repository` and `sudo`.
        list scopes: String,
        /// First day on which the token is no longer valid.
        optional expires_at: NaiveDate,
    }
}

impl NewToken {
    pub fn into_input(self) -> CreateToken {
        CreateToken { name: self.name, scopes: self.scopes, expires_at: self.expires_at }
    }
}

async fn create_own(context: RequestContext, params: NewToken) -> ApiResult<Created<NewPersonalAccessToken>> {
    let new = token::create_own(context.app(), &context.actor, params.into_input()).await?;
    Ok(Created(present_new(&context, new)))
}

params! {
    struct NewTokenFor {
        /// Id of the user.
        required id: UserId,
        flatten token: NewToken,
    }
}

async fn create_for_user(context: RequestContext, params: NewTokenFor) -> ApiResult<Created<NewPersonalAccessToken>> {
    let (user, input) = (params.id, params.token.into_input());
    let new = token::create_for_user(context.app(), &context.actor, user, input).await?;
    Ok(Created(present_new(&context, new)))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/personal_access_tokens";
    const ONE: &str = "/personal_access_tokens/:id";
    const IN_USE: &str = "/personal_access_tokens/self";
    const ROTATE: &str = "/personal_access_tokens/:id/rotate";
    const ROTATE_IN_USE: &str = "/personal_access_tokens/self/rotate";
    const FOR_USER: &str = "/users/:id/personal_access_tokens";
    let (own, manage) = (Access::Instance(ManageOwnAccount), Access::Instance(ManageUsers));
    routes.add(Method::GET, ALL, own, "List personal access tokens", list);
    routes.add(Method::GET, ONE, own, "Get a personal access token", show);
    routes.add(Method::GET, IN_USE, own, "Get the personal access token in use", show_in_use);
    routes.add(Method::POST, ROTATE, own, "Replace a personal access token by a new one", rotate);
    let summary = "Replace the personal access token in use by a new one";
    routes.add(Method::POST, ROTATE_IN_USE, own, summary, rotate_in_use);
    routes.add(Method::DELETE, ONE, own, "Revoke a personal access token", revoke);
    routes.add(Method::DELETE, IN_USE, own, "Revoke the personal access token in use", revoke_in_use);
    routes.add(Method::POST, "/user/personal_access_tokens", own, "Create a personal access token", create_own);
    routes.add(Method::POST, FOR_USER, manage, "Create a personal access token for a user", create_for_user);
}
