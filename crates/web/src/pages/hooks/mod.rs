//! Hooks of projects and of the instance, with their deliveries. One set of handlers serves both: [`HookPlace`] says
//! which hooks a path is about.

mod delivery;
mod hook;

use holdfast_app::hooks::hook::HookScope;
use holdfast_app::projects::project::Project;
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_http_core::params::ParamSet;
use holdfast_http_core::{Access, params};

use super::projects::address::{ProjectPathParams, ensure_address};
use super::{Page, Pages};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::layout::Layout;
use crate::request::RequestContext;
use crate::views::HookLinks;
use crate::views::hooks::frame::HookProject;

/// The requests of the API with the same content or effect as the pages and actions of one place.
struct HookApiCalls {
    list: &'static str,
    create: &'static str,
    show: &'static str,
    /// None for hooks of the instance, because version 3 of the API cannot change them.
    update: Option<&'static str>,
    delete: &'static str,
    show_delivery: &'static str,
    replay: &'static str,
    resume: &'static str,
}

/// The parameters of a path that say which hooks it is about: those of a project, or those of the instance.
trait HookPlace: ParamSet + Sync + 'static {
    const ACCESS: Access;
    const NEEDS_CONFIRMATION: bool;
    const API_CALLS: HookApiCalls;

    fn scope(&self) -> HookScope;
    fn links(&self) -> HookLinks;
}

impl HookPlace for ProjectPathParams {
    const ACCESS: Access = Access::Project(ProjectAction::ManageHooks);
    const NEEDS_CONFIRMATION: bool = false;
    const API_CALLS: HookApiCalls = HookApiCalls {
        list: "GET /projects/:id/hooks",
        create: "POST /projects/:id/hooks",
        show: "GET /projects/:id/hooks/:hook_id/deliveries",
        update: Some("PUT /projects/:id/hooks/:hook_id"),
        delete: "DELETE /projects/:id/hooks/:hook_id",
        show_delivery: "GET /projects/:id/hooks/:hook_id/deliveries/:delivery_id",
        replay: "POST /projects/:id/hooks/:hook_id/deliveries/:delivery_id/replay",
        resume: "POST /projects/:id/hooks/:hook_id/replay",
    };

    fn scope(&self) -> HookScope {
        HookScope::Project(self.reference())
    }

    fn links(&self) -> HookLinks {
        HookLinks::for_project(&ProjectPathParams::links(self))
    }
}

/// The hooks of the instance: their paths have no further parameters.
impl HookPlace for () {
    const ACCESS: Access = Access::Instance(InstanceAction::ManageHooks);
    const NEEDS_CONFIRMATION: bool = true;
    const API_CALLS: HookApiCalls = HookApiCalls {
        list: "GET /hooks",
        create: "POST /hooks",
        show: "GET /hooks/:id/deliveries",
        update: None,
        delete: "DELETE /hooks/:id",
        show_delivery: "GET /hooks/:id/deliveries/:delivery_id",
        replay: "POST /hooks/:id/deliveries/:delivery_id/replay",
        resume: "POST /hooks/:id/replay",
    };

    fn scope(&self) -> HookScope {
        HookScope::Instance
    }

    fn links(&self) -> HookLinks {
        HookLinks::for_instance()
    }
}

params! {
    struct OneHook {
        required hook_id: HookId,
    }
}

fn finish<P: HookPlace>(page: &mut Page) -> &mut Page {
    if P::NEEDS_CONFIRMATION { page.confirmed() } else { page }
}

/// Declares the pages about the hooks of one place, whose list has the path `$list`.
macro_rules! declare_at {
    ($pages:ident, $Place:ty, $list:literal) => {{
        const ACCESS: Access = <$Place as HookPlace>::ACCESS;
        const ONE: &str = concat!($list, "/:hook_id");
        const DELIVERY: &str = concat!($list, "/:hook_id/deliveries/:sequence");
        let calls = <$Place as HookPlace>::API_CALLS;
        let page = $pages.get($list, ACCESS, Cost::Normal, "Webhooks", hook::list::<$Place>);
        finish::<$Place>(page).api(calls.list);
        let page = $pages.post($list, ACCESS, Cost::Cheap, "Create a webhook", hook::create::<$Place>);
        finish::<$Place>(page).api(calls.create);
        let page = $pages.get(concat!($list, "/new"), ACCESS, Cost::Cheap, "New webhook", hook::show_new::<$Place>);
        finish::<$Place>(page);
        let page = $pages.get(ONE, ACCESS, Cost::Normal, "Webhook", hook::show::<$Place>);
        finish::<$Place>(page).api(calls.show);
        let page = $pages.post(ONE, ACCESS, Cost::Normal, "Save a webhook", hook::update::<$Place>);
        finish::<$Place>(page).api_call = calls.update;
        let path = concat!($list, "/:hook_id/delete");
        let page = $pages.post(path, ACCESS, Cost::Cheap, "Delete a webhook", hook::delete::<$Place>);
        finish::<$Place>(page).api(calls.delete);
        let page = $pages.get(DELIVERY, ACCESS, Cost::Normal, "Delivery", delivery::show::<$Place>);
        finish::<$Place>(page).api(calls.show_delivery);
        let path = concat!($list, "/:hook_id/deliveries/:sequence/replay");
        let page = $pages.post(path, ACCESS, Cost::Cheap, "Replay a delivery", delivery::replay::<$Place>);
        finish::<$Place>(page).api(calls.replay);
        let path = concat!($list, "/:hook_id/deliveries/:sequence/resume");
        let page = $pages.post(path, ACCESS, Cost::Cheap, "Resume deliveries", delivery::resume::<$Place>);
        finish::<$Place>(page).api(calls.resume);
    }};
}

pub fn declare(pages: &mut Pages) {
    declare_at!(pages, ProjectPathParams, "/:namespace/:project/settings/hooks");
    let (access, title) = (ProjectPathParams::ACCESS, "Send a sample event");
    pages.post("/:namespace/:project/settings/hooks/:hook_id/test", access, Cost::Normal, title, hook::send_sample);
    declare_at!(pages, (), "/admin/hooks");
    let access = <() as HookPlace>::ACCESS;
    // In version 3 of the API this GET sends a sample event.
    let call = "GET /hooks/:id";
    pages.post("/admin/hooks/:hook_id/test", access, Cost::Cheap, title, hook::test_system_hook).api(call).confirmed();
}

/// Returns the frame of a page, with the values of parameters in its API request. An unused one is left out.
fn layout(context: &RequestContext, project: Option<&Project>, values: &[(&str, i64)]) -> Layout {
    let layout = project.map_or_else(|| context.layout(), |project| context.layout_with_id(project.id.get()));
    let replace = |call: String, (name, value): &(&str, i64)| call.replace(*name, &value.to_string());
    Layout { api_call: layout.api_call.map(|call| values.iter().fold(call, replace)), ..layout }
}

/// Returns the values of the parameters of a hook in its API requests.
fn hook_values(id: HookId) -> [(&'static str, i64); 2] {
    [(":hook_id", id.get()), (":id", id.get())]
}

/// Returns the project of a page with what the viewer may do in it.
fn hook_project<'a>(context: &RequestContext, project: Option<&'a Project>) -> HookProject<'a> {
    project.map(|project| (project, Abilities::new(project, &context.actor)))
}

/// Like [`ensure_address`], for a page of any hooks: those of the instance have one address.
fn ensure_hook_address(context: &RequestContext, project: Option<&Project>) -> Result<(), PageError> {
    project.map_or(Ok(()), |project| ensure_address(context, project))
}
