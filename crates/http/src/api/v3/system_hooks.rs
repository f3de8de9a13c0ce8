use axum::http::Method;
use holdfast_app::hooks::hook::{self, HookChanges, Whose};
use holdfast_app::{Error, Thing};
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::InstanceAction::ManageHooks;

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::present::hook::{
    DeletedSystemHookBody, ExampleBody, SystemHookBody, deleted_system_hook, example, system_hook as present,
};
use crate::{Access, Cx, Routes, params};

async fn list(cx: Cx, (): ()) -> ApiResult<Listed<SystemHookBody>> {
    Ok(Listed(hook::list(cx.app(), &cx.actor, &Whose::Instance, cx.page).await?.map(present)))
}

params! {
    struct CreateHook {
        required url: String,
        /// Sent along with every delivery; never shown again.
        changed token: String,
        /// On by default.
        optional push_events: bool,
        optional tag_push_events: bool,
        /// On by default.
        optional enable_ssl_verification: bool,
    }
}

async fn create(cx: Cx, params: CreateHook) -> ApiResult<Created<Vec<SystemHookBody>>> {
    let changes = HookChanges {
        url: params.url,
        token: params.token,
        push_events: params.push_events,
        tag_push_events: params.tag_push_events,
        enable_ssl_verification: params.enable_ssl_verification,
        ..HookChanges::default()
    };
    Ok(Created(vec![present(hook::create(cx.app(), &cx.actor, &Whose::Instance, changes).await?)]))
}

params! {
    struct OneHook {
        required id: HookId,
    }
}

async fn test(cx: Cx, params: OneHook) -> ApiResult<Body<ExampleBody>> {
    Ok(Body(example(hook::test(cx.app(), &cx.actor, params.id).await?)))
}

async fn delete(cx: Cx, params: OneHook) -> ApiResult<Body<DeletedSystemHookBody>> {
    let gone = hook::delete(cx.app(), &cx.actor, &Whose::Instance, params.id).await?;
    let gone = gone.ok_or(Error::NotFound(Thing::Named("404 System hook Not Found")))?;
    Ok(Body(deleted_system_hook(gone)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/hooks";
    const ONE: &str = "/hooks/:id";
    let manage = Access::Instance(ManageHooks);
    routes.add(Method::GET, PATH, manage, "Lists the hooks of the instance, newest first", list);
    routes.add(Method::POST, PATH, manage, "Adds a hook of the instance; answers with an array that holds it", create);
    routes.add(Method::GET, ONE, manage, "Has an example delivered to a hook, and shows the example", test);
    routes.add(Method::DELETE, ONE, manage, "Removes a hook of the instance", delete);
}
