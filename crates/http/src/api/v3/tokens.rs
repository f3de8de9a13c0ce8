//! Endpoints for personal access tokens. They are not part of the specification, which does not define how tokens are
//! issued.

use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::accounts::token::{self, CreateToken, Token};
use holdfast_domain::ids::TokenId;
use holdfast_domain::policy::InstanceAction::ManageOwnAccount;

use super::ApiResult;
use crate::present::token::{NewTokenBody, TokenBody, present_token};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

fn present(context: &RequestContext, token: Token) -> TokenBody {
    let is_active = context.app().is_active(&token);
    present_token(token, is_active)
}

async fn list(context: RequestContext, (): ()) -> ApiResult<PageBody<TokenBody>> {
    let page = token::list_own(context.app(), &context.actor, context.page).await?;
    Ok(PageBody(page.map(|token| present(&context, token))))
}

params! {
    struct CreateTokenParams {
        /// Name of the token.
        required name: String,
        /// Scopes of the token: `api`, `read_api`, `read_user`, `read_repository`, `write_repository` and `sudo`. `api` by
        /// default.
        list scopes: String,
        /// First day on which the token is no longer valid.
        optional expires_at: NaiveDate,
    }
}

async fn create(context: RequestContext, params: CreateTokenParams) -> ApiResult<Created<NewTokenBody>> {
    let scopes = if params.scopes.is_empty() { vec!["api".to_owned()] } else { params.scopes };
    let input = CreateToken { name: params.name, scopes, expires_at: params.expires_at };
    let (token, secret) = token::create_own(context.app(), &context.actor, input).await?;
    Ok(Created(NewTokenBody { token: present(&context, token), secret }))
}

params! {
    struct OneToken {
        required id: TokenId,
    }
}

async fn revoke(context: RequestContext, params: OneToken) -> ApiResult<Body<bool>> {
    token::revoke_own(context.app(), &context.actor, params.id).await?;
    Ok(Body(true))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/user/personal_access_tokens";
    const ONE: &str = "/user/personal_access_tokens/:id";
    let own = Access::Instance(ManageOwnAccount);
    routes.add(Method::GET, PATH, own, "List the personal access tokens of the current user", list);
    routes.add(Method::POST, PATH, own, "Create a personal access token", create);
    routes.add(Method::DELETE, ONE, own, "Revoke a personal access token", revoke);
}
