//! The first page of a merge request: its discussions, and whether it can be merged.

use holdfast_app::merge_requests::blocker::Blocker;
use holdfast_app::merge_requests::discussion::can_resolve;
use holdfast_app::merge_requests::merge_request::can_edit;
use holdfast_app::merge_requests::page::{self, RequestPage};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::layout::Layout;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::planning::issue::EnteredComment;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::merge_requests::frame::RequestViewer;
use crate::views::merge_requests::overview::{OverviewInput, OverviewPage, overview_page};
use crate::views::planning::comment_form::CommentForm;
use crate::views::prose::Prose;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadMergeRequests);
    pages
        .get("/:namespace/:project/merge_requests/:iid", read, Cost::Normal, "Merge request", show)
        .api("GET /projects/:id/merge_requests/:merge_request_id");
}

params! {
    /// The merge request that a path names.
    pub struct OneMergeRequest {
        flatten project: ProjectPathParams,
        required iid: i64,
    }
}

/// Returns who looks at a merge request, and the frame of the page with its id in the request of the API. Another address
/// of its project leads to the one of the page.
pub fn viewer(context: &RequestContext, page: &RequestPage) -> Result<(RequestViewer, Layout), PageError> {
    ensure_address(context, &page.project)?;
    let abilities = Abilities::new(&page.project, &context.actor);
    let can_edit = can_edit(&context.actor, &page.project, &page.request);
    let viewer = RequestViewer {
        abilities,
        user: context.actor.user_id(),
        can_edit,
        can_resolve: can_resolve(&context.actor, &page.project, &page.request),
        now: context.now(),
    };
    Ok((viewer, context.layout_with_record(page.project.id.get(), ":merge_request_id", page.request.id)))
}

async fn show(context: RequestContext, path: OneMergeRequest) -> PageResult {
    let page = load_page(&context, &path, EnteredComment::default()).await?;
    respond::html(&page)
}

/// Loads the page of a merge request, with what was entered as a comment.
pub async fn load_page(
    context: &RequestContext,
    path: &OneMergeRequest,
    entered: EnteredComment,
) -> Result<OverviewPage, PageError> {
    let (reference, actor) = (path.project.reference(), &context.actor);
    let found = page::show(context.app(), actor, &reference, path.iid, context.long_page()).await?;
    let (viewer, layout) = viewer(context, &found.page)?;
    let (project, request) = (&found.page.project, &found.page.request);
    let link_context = LinkContext::for_texts(&project.full_path()).with_mentions(&found.mentioned);
    let render = |text: &str| markdown::render(text, &link_context);
    let preview = if entered.is_preview { Prose::new(&entered.text, render(&entered.text)) } else { None };
    let is_author = actor.user_id() == Some(request.author.id);
    let input = OverviewInput {
        found: &found,
        viewer,
        can_cancel: is_author || !found.blockers.contains(&Blocker::NotAllowed),
        comment: CommentForm::new(&entered.text, &entered.violations, preview),
    };
    Ok(overview_page(layout, input, render))
}
