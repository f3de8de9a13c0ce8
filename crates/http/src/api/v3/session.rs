use axum::http::{Method, StatusCode};
use holdfast_app::accounts::session;

use super::ApiResult;
use crate::answer::Created;
use crate::error::ApiError;
use crate::present::user::{self, SessionBody};
use crate::{Access, Cx, Routes, client_address, params};

params! {
    struct SignIn {
        /// Username or primary address; `email` does as well.
        optional login: String,
        /// Primary address or username; `login` does as well.
        optional email: String,
        required password: String,
    }
}

async fn create(cx: Cx, params: SignIn) -> ApiResult<Created<SessionBody>> {
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let login = match (filled(params.login), filled(params.email)) {
        (Some(login), None) | (None, Some(login)) => login,
        (None, None) | (Some(_), Some(_)) => {
            let text = "login, email are missing, exactly one parameter must be provided";
            return Err(ApiError::error(StatusCode::BAD_REQUEST, text));
        }
    };
    let session = session::create(cx.app(), &login, &params.password, &client_address::key(cx.address)).await?;
    Ok(Created(user::session(session, cx.site())))
}

pub fn routes(routes: &mut Routes) {
    routes.add(Method::POST, "/session", Access::Anyone, "Signs in with a password and gives a token", create);
}
