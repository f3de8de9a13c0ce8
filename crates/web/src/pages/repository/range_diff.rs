//! The comparison of two versions of a series of commits.

use holdfast_app::repository::browse::range_diff::{self, ComparedRanges};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::RevisionPathParams;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::range_diff::range_diff_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages.get("/:namespace/:project/range_diff/*rest", read, Cost::Heavy, "Range-diff", show);
}

params! {
    struct RangeDiffParams {
        flatten address: RevisionPathParams,
        /// The generation of a ref update whose values are shown even if no ref reaches them.
        optional update: i64,
    }
}

async fn show(context: RequestContext, RangeDiffParams { address, update }: RangeDiffParams) -> PageResult {
    let ranges = ComparedRanges::parse(&address.rest);
    let (app, actor, reference) = (context.app(), &context.actor, address.project.reference());
    let found = range_diff::show(app, actor, &reference, ranges.as_ref(), update).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, actor);
    let (old, new) = address.rest.split_once("...").unwrap_or_default();
    respond::html(&range_diff_page(context.layout(), abilities, &found, old, new))
}
