//! Personal access tokens. The specification does not say how they are issued; these three routes are ours.

use axum::http::Method;
use chrono::NaiveDate;
use holdfast_app::accounts::token::{self, CreateToken, Token};
use holdfast_domain::ids::TokenId;
use holdfast_domain::policy::InstanceAction::ManageOwnAccount;

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::present::token::{NewTokenBody, TokenBody, token as present_token};
use crate::{Access, Cx, Routes, params};

fn present(cx: &Cx, token: Token) -> TokenBody {
    let active = cx.app().is_active(&token);
    present_token(token, active)
}

async fn list(cx: Cx, (): ()) -> ApiResult<Listed<TokenBody>> {
    let page = token::list_own(cx.app(), &cx.actor, cx.page).await?;
    Ok(Listed(page.map(|token| present(&cx, token))))
}

params! {
    struct CreateTokenParams {
        required name: String,
        /// `api`, `read_user`, `sudo`; `api` if none is given.
        list scopes: String,
        /// The first day on which it is no longer valid.
        optional expires_at: NaiveDate,
    }
}

async fn create(cx: Cx, params: CreateTokenParams) -> ApiResult<Created<NewTokenBody>> {
    let scopes = if params.scopes.is_empty() { vec!["api".to_owned()] } else { params.scopes };
    let input = CreateToken { name: params.name, scopes, expires_at: params.expires_at };
    let (token, secret) = token::create_own(cx.app(), &cx.actor, input).await?;
    Ok(Created(NewTokenBody { token: present(&cx, token), secret }))
}

params! {
    struct OneToken {
        required id: TokenId,
    }
}

async fn revoke(cx: Cx, params: OneToken) -> ApiResult<Body<bool>> {
    token::revoke_own(cx.app(), &cx.actor, params.id).await?;
    Ok(Body(true))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/user/personal_access_tokens";
    const ONE: &str = "/user/personal_access_tokens/:id";
    let own = Access::Instance(ManageOwnAccount);
    routes.add(Method::GET, PATH, own, "Lists the caller's personal access tokens", list);
    routes.add(Method::POST, PATH, own, "Makes a personal access token", create);
    routes.add(Method::DELETE, ONE, own, "Revokes a personal access token", revoke);
}
