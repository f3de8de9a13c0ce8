//! The page of a directory.

use holdfast_app::repository::browse::last_commit::SearchTime;
use holdfast_app::repository::browse::tree;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::RevisionPathParams;
use super::readme;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::tree::{COMPLETE, tree_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages
        .get("/:namespace/:project/tree/*rest", read, Cost::Normal, "Files", show)
        .api("GET /projects/:id/repository/tree");
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
    respond::html(&tree_page(layout, &found, abilities, readme_html, is_long))
}
