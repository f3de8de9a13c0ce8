//! The list of hooks, and the page of a hook with its form.

use holdfast_app::hooks::hook::{self, EventSubscriptions, HookChanges, HookScope};
use holdfast_app::hooks::page;
use holdfast_app::hooks::sample::{self, SampleKind};
use holdfast_app::{Error, Resource};
use holdfast_domain::ids::HookId;
use holdfast_domain::page::PageRequest;
use holdfast_domain::{Field, Violations};
use holdfast_http_core::{choice, params};

use super::{HookPlace, OneHook, ensure_hook_address, hook_project, hook_values, layout};
use crate::errors::{PageError, sentence};
use crate::flash::FlashCode;
use crate::layout::Flash;
use crate::pages::projects::address::ProjectPathParams;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::HookLinks;
use crate::views::hooks::fields::{HookValues, new_hook_page};
use crate::views::hooks::hook::{HookFormState, HookPage, hook_page};
use crate::views::hooks::list::hooks_page;

pub(super) async fn list<P: HookPlace>(context: RequestContext, place: P) -> PageResult {
    let found = page::list(context.app(), &context.actor, &place.scope(), context.page).await?;
    ensure_hook_address(&context, found.project.as_ref())?;
    let project = hook_project(&context, found.project.as_ref());
    let layout = layout(&context, found.project.as_ref(), &[]);
    respond::html(&hooks_page(layout, project, &found, context.now()))
}

pub(super) async fn show_new<P: HookPlace>(context: RequestContext, place: P) -> PageResult {
    let project = page::show_scope(context.app(), &context.actor, &place.scope()).await?;
    ensure_hook_address(&context, project.as_ref())?;
    let project = hook_project(&context, project.as_ref());
    respond::html(&new_hook_page(context.layout(), project, HookValues::default(), &Violations::default()))
}

params! {
    pub(super) struct HookForm {
        optional url: String,
        /// An empty one leaves the token as it is.
        optional token: String,
        optional remove_token: bool,
        optional push_events: bool,
        optional tag_push_events: bool,
        optional issues_events: bool,
        optional merge_requests_events: bool,
        optional note_events: bool,
        optional build_events: bool,
        optional pipeline_events: bool,
        optional enable_ssl_verification: bool,
    }
}

impl HookForm {
    /// Returns the values that the form is shown with after a rejection.
    fn values(&self) -> HookValues {
        let is_checked = |value: Option<bool>| value.unwrap_or_default();
        HookValues {
            url: self.url.clone().unwrap_or_default(),
            subscriptions: EventSubscriptions {
                push_events: is_checked(self.push_events),
                tag_push_events: is_checked(self.tag_push_events),
                issues_events: is_checked(self.issues_events),
                merge_requests_events: is_checked(self.merge_requests_events),
                note_events: is_checked(self.note_events),
                build_events: is_checked(self.build_events),
                pipeline_events: is_checked(self.pipeline_events),
                wiki_page_events: false,
                enable_ssl_verification: is_checked(self.enable_ssl_verification),
            },
            removes_token: is_checked(self.remove_token),
        }
    }

    /// Returns the changes that the form asks for. A request without a URL is rejected, so that one without fields does
    /// not switch everything off.
    fn into_changes(self) -> HookChanges {
        let is_checked = |value: Option<bool>| Some(value.unwrap_or_default());
        let token = match self.token.filter(|token| !token.is_empty()) {
            Some(token) => Field::Value(token),
            None if self.remove_token == Some(true) => Field::Null,
            None => Field::Absent,
        };
        HookChanges {
            url: Some(self.url.unwrap_or_default()),
            token,
            push_events: is_checked(self.push_events),
            tag_push_events: is_checked(self.tag_push_events),
            issues_events: is_checked(self.issues_events),
            merge_requests_events: is_checked(self.merge_requests_events),
            note_events: is_checked(self.note_events),
            build_events: is_checked(self.build_events),
            pipeline_events: is_checked(self.pipeline_events),
            wiki_page_events: None,
            enable_ssl_verification: is_checked(self.enable_ssl_verification),
        }
    }
}

/// Returns what is wrong with a rejected form. Fails with any other error.
fn rejection(error: Error) -> Result<Violations, PageError> {
    match error {
        Error::Invalid(violations) => Ok(violations),
        Error::InvalidHookUrl => Ok(Violations::single("url", "must begin with http:// or https://")),
        other => Err(other.into()),
    }
}

pub(super) async fn create<P: HookPlace>(context: RequestContext, (place, form): (P, HookForm)) -> PageResult {
    let (scope, values) = (place.scope(), form.values());
    let violations = match hook::create(context.app(), &context.actor, &scope, form.into_changes()).await {
        Ok(hook) => return Ok(respond::see_other(place.links().hook(hook.id)).with_flash(FlashCode::HookCreated)),
        Err(error) => rejection(error)?,
    };
    let project = page::show_scope(context.app(), &context.actor, &scope).await?;
    let project = hook_project(&context, project.as_ref());
    // The URL that was entered may have a password.
    Ok(respond::rejected(&new_hook_page(context.layout(), project, values, &violations))?.with_secret())
}

pub(super) async fn show<P: HookPlace>(
    context: RequestContext,
    (place, OneHook { hook_id }): (P, OneHook),
) -> PageResult {
    respond::html(&load_page(&context, &place.scope(), hook_id, PageState::default()).await?)
}

/// What is different on the page of a hook after an action was rejected.
#[derive(Default)]
struct PageState {
    /// The values of the form and what is wrong with them.
    form: Option<(HookValues, Violations)>,
    /// Why something else was rejected.
    reason: Option<String>,
}

async fn load_page(
    context: &RequestContext,
    scope: &HookScope,
    id: HookId,
    state: PageState,
) -> Result<HookPage, PageError> {
    let is_rejected = state.form.is_some() || state.reason.is_some();
    let page = if is_rejected { PageRequest::new(None, None) } else { context.page };
    let found = page::show(context.app(), &context.actor, scope, id, page).await?;
    // Only a page is redirected: a rejected form has to show what was entered.
    if !is_rejected {
        ensure_hook_address(context, found.project.as_ref())?;
    }
    let project = hook_project(context, found.project.as_ref());
    let mut layout = layout(context, found.project.as_ref(), &hook_values(id));
    if let Some(text) = state.reason {
        layout.flash = Some(Flash { kind: "bad", text });
    }
    let is_open = state.form.is_some();
    let (values, violations) = state.form.unwrap_or_else(|| (HookValues::from(&found.hook), Violations::default()));
    let form = HookFormState { values, violations: &violations, is_open };
    let retention = context.app().settings.hooks.retention;
    Ok(hook_page(layout, project, &found, form, retention, context.now()))
}

pub(super) async fn update<P: HookPlace>(
    context: RequestContext,
    (place, (OneHook { hook_id }, form)): (P, (OneHook, HookForm)),
) -> PageResult {
    let (scope, values) = (place.scope(), form.values());
    match hook::update_in(context.app(), &context.actor, &scope, hook_id, form.into_changes()).await {
        Ok(_) => Ok(respond::see_other(place.links().hook(hook_id)).with_flash(FlashCode::HookSaved)),
        Err(error) => {
            let state = PageState { form: Some((values, rejection(error)?)), reason: None };
            Ok(respond::rejected(&load_page(&context, &scope, hook_id, state).await?)?.with_secret())
        }
    }
}

pub(super) async fn delete<P: HookPlace>(
    context: RequestContext,
    (place, OneHook { hook_id }): (P, OneHook),
) -> PageResult {
    let deleted = hook::delete(context.app(), &context.actor, &place.scope(), hook_id).await?;
    deleted.ok_or(Error::NotFound(Resource::Record))?;
    Ok(respond::see_other(place.links().list()).with_flash(FlashCode::HookDeleted))
}

choice! {
    pub(super) enum SampleEvent { Push = "push", TagPush = "tag_push" }
}

params! {
    pub(super) struct SendSample {
        flatten project: ProjectPathParams,
        required hook_id: HookId,
        optional event: SampleEvent,
    }
}

/// Sends a sample event to a hook of a project. Without a choice, it is a push.
pub(super) async fn send_sample(context: RequestContext, params: SendSample) -> PageResult {
    let SendSample { project, hook_id, event } = params;
    let kind = match event {
        Some(SampleEvent::TagPush) => SampleKind::TagPush,
        Some(SampleEvent::Push) | None => SampleKind::Push,
    };
    match sample::send(context.app(), &context.actor, &project.reference(), hook_id, kind).await {
        Ok(()) => {
            let page = respond::see_other(HookPlace::links(&project).hook(hook_id));
            Ok(page.with_flash(FlashCode::HookTested))
        }
        // The project has no commit or no tag.
        Err(Error::Unprocessable(text)) => {
            let state = PageState { form: None, reason: Some(sentence(text)) };
            respond::rejected(&load_page(&context, &project.scope(), hook_id, state).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Sends a sample event to a hook of the instance.
pub(super) async fn test_system_hook(context: RequestContext, OneHook { hook_id }: OneHook) -> PageResult {
    hook::test(context.app(), &context.actor, hook_id).await?;
    Ok(respond::see_other(HookLinks::for_instance().hook(hook_id)).with_flash(FlashCode::HookTested))
}
