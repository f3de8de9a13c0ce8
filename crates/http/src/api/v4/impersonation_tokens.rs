use axum::http::Method;
use holdfast_app::accounts::token::{self, Token};
use holdfast_domain::ids::{TokenId, UserId};
use holdfast_domain::policy::InstanceAction::ManageUsers;

use super::ApiResult;
use super::tokens::NewToken;
use crate::present::v4::token::{ImpersonationToken, NewImpersonationToken, present_token};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

fn present(context: &RequestContext, token: Token) -> ImpersonationToken {
    let is_active = context.app().is_active(&token);
    ImpersonationToken { token: present_token(token, is_active), impersonation: true }
}

choice! {
    enum StateOrAll { All = "all", Active = "active", Inactive = "inactive" }
}

params! {
    struct ListTokens {
        /// Id of the user.
        required id: UserId,
        /// `active`: only tokens that are neither revoked nor expired. `inactive`: only other tokens. `all` by default.
        optional state: StateOrAll,
    }
}

async fn list(context: RequestContext, params: ListTokens) -> ApiResult<PageBody<ImpersonationToken>> {
    let is_active = match params.state {
        Some(StateOrAll::Active) => Some(true),
        Some(StateOrAll::Inactive) => Some(false),
        Some(StateOrAll::All) | None => None,
    };
    let (app, actor) = (context.app(), &context.actor);
    let page = token::list_impersonation(app, actor, params.id, is_active, context.page).await?;
    Ok(PageBody(page.map(|token| present(&context, token))))
}

params! {
    struct OneToken {
        /// Id of the user.
        required id: UserId,
        /// Id of the token.
        required token_id: TokenId,
    }
}

async fn show(context: RequestContext, params: OneToken) -> ApiResult<Body<ImpersonationToken>> {
    let OneToken { id, token_id } = params;
    let token = token::show_impersonation(context.app(), &context.actor, id, token_id).await?;
    Ok(Body(present(&context, token)))
}

params! {
    struct CreateTokenFor {
        /// Id of the user.
        required id: UserId,
        flatten token: NewToken,
    }
}

async fn create(context: RequestContext, params: CreateTokenFor) -> ApiResult<Created<NewImpersonationToken>> {
    let (user, input) = (params.id, params.token.into_input());
    let (token, secret) = token::create_impersonation(context.app(), &context.actor, user, input).await?;
    Ok(Created(NewImpersonationToken { fields: present(&context, token), token: secret }))
}

async fn revoke(context: RequestContext, params: OneToken) -> ApiResult<NoContent> {
    let OneToken { id, token_id } = params;
    token::revoke_impersonation(context.app(), &context.actor, id, token_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/users/:id/impersonation_tokens";
    const ONE: &str = "/users/:id/impersonation_tokens/:token_id";
    let manage = Access::Instance(ManageUsers);
    routes.add(Method::GET, ALL, manage, "List the impersonation tokens of a user", list);
    routes.add(Method::GET, ONE, manage, "Get an impersonation token of a user", show);
    routes.add(Method::POST, ALL, manage, "Create an impersonation token for a user", create);
    routes.add(Method::DELETE, ONE, manage, "Revoke an impersonation token of a user", revoke);
}
