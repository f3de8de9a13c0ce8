use axum::http::{Method, StatusCode};
use holdfast_app::accounts::session;
use holdfast_app::client::client_network;

use super::ApiResult;
use crate::error::ApiError;
use crate::present::user::{self, SessionBody};
use crate::response::Created;
use crate::{Access, RequestContext, Routes, params};

params! {
    struct SignIn {
        /// Username or primary email address. Exactly one of `login` and `email` is required.
        optional login: String,
        /// Alias of `login`.
        optional email: String,
        required password: String,
    }
}

async fn create(context: RequestContext, params: SignIn) -> ApiResult<Created<SessionBody>> {
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let login = match (filled(params.login), filled(params.email)) {
        (Some(login), None) | (None, Some(login)) => login,
        (None, None) | (Some(_), Some(_)) => {
            let text = "login, email are missing, exactly one parameter must be provided";
            return Err(ApiError::error(StatusCode::BAD_REQUEST, text));
        }
    };
    let session =
        session::create(context.app(), &login, &params.password, &client_network(context.address).to_string()).await?;
    Ok(Created(user::session(session, context.site())))
}

pub fn routes(routes: &mut Routes) {
    routes.add(Method::POST, "/session", Access::Anyone, "Create a session token with a password", create);
}
