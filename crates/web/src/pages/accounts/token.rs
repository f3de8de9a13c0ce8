//! The own personal access tokens.

use holdfast_app::Error;
use holdfast_app::accounts::token::{self, CreateToken};
use holdfast_domain::ids::TokenId;
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::{Violations, parse_date};
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::accounts::token::{NewToken, TokenValues, TokensPage, tokens_page};

pub fn declare(pages: &mut Pages) {
    const API: &str = "GET /user/personal_access_tokens";
    const CREATE_API: &str = "POST /user/personal_access_tokens";
    let own = Access::Instance(InstanceAction::ManageOwnAccount);
    pages.get("/profile/tokens", own, Cost::Cheap, "Access tokens", list).api(API).confirmed();
    pages.post("/profile/tokens", own, Cost::Cheap, "Create a token", create).api(CREATE_API).confirmed();
    pages
        .post("/profile/tokens/:id/revoke", own, Cost::Cheap, "Revoke a token", revoke)
        .api("DELETE /user/personal_access_tokens/:id")
        .confirmed();
}

params! {
    struct CreateTokenForm {
        optional name: String,
        list scopes: String,
        optional expires_at: String,
    }
}

params! {
    struct OneToken {
        required id: TokenId,
    }
}

async fn list(context: RequestContext, (): ()) -> PageResult {
    respond::html(&page(&context, TokenValues::default(), &Violations::default()).await?)
}

async fn page(context: &RequestContext, values: TokenValues, violations: &Violations) -> Result<TokensPage, Error> {
    let tokens = token::list_own(context.app(), &context.actor, context.page).await?;
    let is_administrator = context.actor.is_administrator();
    Ok(tokens_page(context.layout(), &tokens, values, violations, context.now()).with_all_scopes(is_administrator))
}

/// Creates a token and shows its secret in the response, because it is stored nowhere.
async fn create(context: RequestContext, form: CreateTokenForm) -> PageResult {
    let values = TokenValues {
        name: form.name.unwrap_or_default(),
        scopes: form.scopes,
        expires_at: form.expires_at.unwrap_or_default(),
    };
    let expires_at = match values.expires_at.trim() {
        "" => None,
        text => match parse_date(text) {
            Some(date) => Some(date),
            None => {
                let violations = Violations::single("expires_at", "is not a date such as 2027-01-31");
                return respond::rejected(&page(&context, values, &violations).await?);
            }
        },
    };
    let input = CreateToken { name: values.name.clone(), scopes: values.scopes.clone(), expires_at };
    match token::create_own(context.app(), &context.actor, input).await {
        Ok((token, secret)) => {
            let new_token = NewToken { name: token.name, secret };
            let page = page(&context, TokenValues::default(), &Violations::default()).await?;
            Ok(respond::html(&page.with_new_token(new_token))?.with_secret())
        }
        Err(Error::Invalid(violations)) => respond::rejected(&page(&context, values, &violations).await?),
        Err(error) => Err(error.into()),
    }
}

async fn revoke(context: RequestContext, OneToken { id }: OneToken) -> PageResult {
    token::revoke_own(context.app(), &context.actor, id).await?;
    Ok(respond::see_other("/profile/tokens").with_flash(FlashCode::TokenRevoked))
}
