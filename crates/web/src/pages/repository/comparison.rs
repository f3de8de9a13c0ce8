//! The comparison of two revisions.

use holdfast_app::repository::browse::changes::FileSelection;
use holdfast_app::repository::browse::comparison_page::{self, ComparedRevisions, ComparisonBase, ComparisonResult};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::RevisionPathParams;
use super::diff_params::DiffParams;
use super::diff_stream::file_sections;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::repository::comparison::{compare_page, comparison_view};
use crate::views::repository::diff::DiffAddress;
use crate::views::repository::diff_notes::DiffNotes;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages.get("/:namespace/:project/compare", read, Cost::Normal, "Compare", form);
    pages
        .get("/:namespace/:project/compare/*rest", read, Cost::Heavy, "Compare", show)
        .api("GET /projects/:id/repository/compare");
}

params! {
    struct FormParams {
        flatten project: ProjectPathParams,
        optional from: String,
        optional to: String,
    }
}

/// Shows the form. Redirects to the comparison if both revisions are given.
async fn form(context: RequestContext, FormParams { project, from, to }: FormParams) -> PageResult {
    let (app, actor, reference) = (context.app(), &context.actor, project.reference());
    let found = comparison_page::show(app, actor, &reference, None, None, FileSelection::First).await?;
    ensure_address(&context, &found.project)?;
    let [from, to] = [from, to].map(|text| text.unwrap_or_default().trim().to_owned());
    if !from.is_empty() && !to.is_empty() {
        let links = ProjectLinks::new(&found.project.full_path());
        return Ok(respond::see_other(links.compare(&from, "...", &to)));
    }
    let abilities = Abilities::new(&found.project, actor);
    let entered = Some(ComparedRevisions { from, to, base: ComparisonBase::MergeBase });
    let entered = entered.filter(|revisions| !revisions.from.is_empty() || !revisions.to.is_empty());
    let layout = context.layout();
    respond::html(&compare_page(layout, &found.project, abilities, entered.as_ref(), found.suggestions))
}

params! {
    struct CompareParams {
        flatten address: RevisionPathParams,
        flatten diff: DiffParams,
    }
}

async fn show(context: RequestContext, CompareParams { address, diff }: CompareParams) -> PageResult {
    let (app, actor, reference) = (context.app(), &context.actor, address.project.reference());
    // An address that names no two revisions leads to the form, which says so.
    let revisions = ComparedRevisions::parse(&address.rest).unwrap_or_else(|| ComparedRevisions {
        from: address.rest.clone(),
        to: String::new(),
        base: ComparisonBase::MergeBase,
    });
    let found = comparison_page::show(app, actor, &reference, Some(&revisions), diff.update, diff.selection()).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, actor);
    let layout = context.layout_with_id(found.project.id.get());
    let mut page = compare_page(layout, &found.project, abilities, Some(&revisions), found.suggestions);
    match found.result {
        ComparisonResult::Form => respond::html(&page),
        ComparisonResult::UnknownRevision(name) => {
            page.unknown = Some(name);
            respond::missing(&page)
        }
        ComparisonResult::Found(comparison) => {
            let links = ProjectLinks::new(&found.project.full_path());
            let operator = if revisions.base == ComparisonBase::First { ".." } else { "..." };
            let address = DiffAddress {
                path: links.compare(&revisions.from, operator, &revisions.to),
                layout: diff.layout(),
                parameters: DiffAddress::of_update(diff.update),
                links,
                revision: comparison.is_reachable.then(|| comparison.to.to_string()),
                editable_branch: None,
                notes: DiffNotes::default(),
            };
            page.comparison = Some(comparison_view(&revisions, &comparison, &address));
            respond::html_with_parts(&page, file_sections(comparison.changes, address))
        }
    }
}
