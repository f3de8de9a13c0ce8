//! The list of the own browser sessions.

use holdfast_app::accounts::browser_session;
use holdfast_domain::ids::BrowserSessionId;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::accounts::session::sessions_page;

pub fn declare(pages: &mut Pages) {
    let own = Access::Instance(InstanceAction::ManageOwnAccount);
    pages.get("/profile/sessions", own, Cost::Cheap, "Sessions", list);
    pages.post("/profile/sessions/:id/delete", own, Cost::Cheap, "End a session", delete);
    pages.post("/profile/sessions/delete_others", own, Cost::Cheap, "End all other sessions", delete_others);
}

params! {
    struct OneSession {
        required id: i64,
    }
}

async fn list(context: RequestContext, (): ()) -> PageResult {
    let current = context.session()?.id;
    let sessions = browser_session::list_own(context.app(), &context.actor).await?;
    respond::html(&sessions_page(context.layout(), &sessions, current, context.now()))
}

async fn delete(context: RequestContext, OneSession { id }: OneSession) -> PageResult {
    browser_session::delete_own(context.app(), &context.actor, BrowserSessionId::from(id)).await?;
    Ok(respond::see_other("/profile/sessions").with_flash(FlashCode::SessionEnded))
}

async fn delete_others(context: RequestContext, (): ()) -> PageResult {
    let current = context.session()?.id;
    browser_session::delete_others(context.app(), &context.actor, current).await?;
    Ok(respond::see_other("/profile/sessions").with_flash(FlashCode::OtherSessionsEnded))
}
