//! The page of an issue with its notes.

use holdfast_app::planning::issue::{self, IssueWithNotes};
use holdfast_domain::Violations;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::planning::comment_form::CommentForm;
use crate::views::planning::issue::{IssueInput, IssuePage, IssueViewer, issue_page};
use crate::views::prose::Prose;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadIssues);
    pages
        .get("/:namespace/:project/issues/:iid", read, Cost::Normal, "Issue", show)
        .api("GET /projects/:id/issues/:issue_id");
}

params! {
    /// The issue that a path names.
    pub struct OneIssue {
        flatten project: ProjectPathParams,
        required iid: i64,
    }
}

/// What the form of a comment shows.
#[derive(Default)]
pub struct EnteredComment {
    pub text: String,
    pub violations: Violations,
    pub is_preview: bool,
}

async fn show(context: RequestContext, path: OneIssue) -> PageResult {
    let page = load_page(&context, &path, EnteredComment::default()).await?;
    respond::html(&page)
}

/// Loads the page of an issue, with what was entered as a comment.
pub async fn load_page(
    context: &RequestContext,
    path: &OneIssue,
    entered: EnteredComment,
) -> Result<IssuePage, PageError> {
    let page = context.long_page();
    let reference = path.project.reference();
    let found = issue::show_with_notes(context.app(), &context.actor, &reference, path.iid, page).await?;
    ensure_address(context, &found.project)?;
    let IssueWithNotes { project, issue, notes, labels, mentioned } = &found;
    let abilities = Abilities::new(project, &context.actor);
    let layout = context.layout_with_record(project.id.get(), ":issue_id", issue.id);
    let link_context = LinkContext::for_texts(&project.full_path()).with_mentions(mentioned);
    let render = |text: &str| markdown::render(text, &link_context);
    let viewer = IssueViewer {
        abilities,
        user: context.actor.user_id(),
        can_edit: abilities.can_create_issues && issue::can_edit(&context.actor, project, issue),
    };
    let preview = if entered.is_preview { Prose::new(&entered.text, render(&entered.text)) } else { None };
    let comment = CommentForm::new(&entered.text, &entered.violations, preview);
    let input = IssueInput { project, issue, notes, labels, viewer, comment };
    Ok(issue_page(layout, input, render, context.now()))
}
