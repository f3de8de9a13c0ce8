//! The page of a directory, and the form that leads to a page about code at another revision.

use holdfast_app::repository::browse::last_commit::SearchTime;
use holdfast_app::repository::browse::{ref_switch, tree};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::RevisionPathParams;
use super::readme;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::repository::ref_switch::CodeView;
use crate::views::repository::tree::{COMPLETE, tree_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages.get("/:namespace/:project/tree", read, Cost::Normal, "Another branch or tag", switch_ref);
    pages
        .get("/:namespace/:project/tree/*rest", read, Cost::Normal, "Files", show)
        .api("GET /projects/:id/repository/tree");
}

params! {
    struct SwitchRef {
        flatten project: ProjectPathParams,
        optional r#ref: String,
        optional path: String,
        /// The page that is shown: `tree`, `blob`, `blame` or `commits`.
        optional view: String,
    }
}

/// Redirects to a page about code at another revision, or to the project if no revision is given.
async fn switch_ref(context: RequestContext, params: SwitchRef) -> PageResult {
    let SwitchRef { project, r#ref, path, view } = params;
    let name = r#ref.unwrap_or_default().trim().to_owned();
    let (found, address) = ref_switch::find(context.app(), &context.actor, &project.reference(), &name).await?;
    ensure_address(&context, &found)?;
    let links = ProjectLinks::new(&found.full_path());
    if name.is_empty() {
        return Ok(respond::see_other(links.home()));
    }
    let (path, view) = (path.unwrap_or_default(), CodeView::from_str_or_tree(&view.unwrap_or_default()));
    Ok(respond::see_other(view.url(&links, &address, &path)))
}

params! {
    struct ShowTree {
        flatten revision: RevisionPathParams,
        /// `complete` to search for the last commits of all entries, which may take several seconds.
        optional last_commits: String,
    }
}

async fn show(context: RequestContext, ShowTree { revision, last_commits }: ShowTree) -> PageResult {
    let is_long = last_commits.as_deref() == Some(COMPLETE.1);
    // The page is heavy only if it searches for all last commits.
    let _permit = if is_long { context.acquire_heavy_permit().await? } else { None };
    let time = if is_long { SearchTime::Long } else { SearchTime::Short };
    let RevisionPathParams { project, rest } = revision;
    let page = context.long_page();
    let found = tree::show(context.app(), &context.actor, &project.reference(), &rest, page, time).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let readme_html = readme::render(found.readme.as_ref(), &found.project.full_path(), &found.revision).await;
    respond::html(&tree_page(layout, &found, abilities, readme_html, is_long, context.now()))
}
