//! The page of a commit, and the commit as plain text.

use holdfast_app::repository::browse::commit_page::{self, CommitFormat};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, TEXT_PLAIN, UserContent, params};

use super::diff_params::DiffParams;
use super::diff_stream::file_sections;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::repository::commit::commit_page;
use crate::views::repository::diff::DiffAddress;
use crate::views::repository::diff_notes::DiffNotes;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages
        .get("/:namespace/:project/commit/:sha", read, Cost::Heavy, "Commit", show)
        .api("GET /projects/:id/repository/commits/:sha");
}

params! {
    struct CommitParams {
        flatten project: ProjectPathParams,
        /// The id of the commit, with `.patch` or `.diff` behind it for plain text.
        required sha: String,
        flatten diff: DiffParams,
    }
}

async fn show(context: RequestContext, CommitParams { project, sha, diff }: CommitParams) -> PageResult {
    let reference = project.reference();
    for (suffix, format) in [(".patch", CommitFormat::Patch), (".diff", CommitFormat::Diff)] {
        if let Some(id) = sha.strip_suffix(suffix) {
            return show_text(&context, &project, id, diff.update, format).await;
        }
    }
    let (app, actor) = (context.app(), &context.actor);
    let found = commit_page::show(app, actor, &reference, &sha, diff.update, diff.selection()).await?;
    ensure_address(&context, &found.project)?;
    let links = ProjectLinks::new(&found.project.full_path());
    let id = found.commit.id.to_string();
    let address = DiffAddress {
        path: links.commit(&id),
        layout: diff.layout(),
        parameters: DiffAddress::of_update(diff.update.filter(|_| !found.is_reachable)),
        links,
        revision: found.is_reachable.then_some(id),
        editable_branch: None,
        notes: DiffNotes::default(),
    };
    let abilities = Abilities::new(&found.project, actor);
    let layout = context.layout_with_record(found.project.id.get(), ":sha", found.commit.id);
    let page = commit_page(layout, abilities, &found, &address);
    respond::html_with_parts(&page, file_sections(found.changes, address))
}

async fn show_text(
    context: &RequestContext,
    project: &ProjectPathParams,
    id: &str,
    update: Option<i64>,
    format: CommitFormat,
) -> PageResult {
    let reference = project.reference();
    let found = commit_page::show_text(context.app(), &context.actor, &reference, id, update, format).await?;
    ensure_address(context, &found.project)?;
    let user_content =
        UserContent { content_type: TEXT_PLAIN, bytes: None, attachment: None, cache_control: "private, no-cache" };
    Ok(respond::complete(user_content.respond(found.content)))
}
