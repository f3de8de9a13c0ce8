//! The page that shows the last commit of each line of a file.

use std::borrow::Cow;

use holdfast_app::repository::browse::blame::{self, BlamedContent};
use holdfast_app::repository::browse::blob;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::Access;

use super::address::RevisionPathParams;
use super::blob::file_validator;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::highlight;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::blame::{blame_page, lines};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages.get("/:namespace/:project/blame/*rest", read, Cost::Heavy, "Blame", show);
}

async fn show(context: RequestContext, RevisionPathParams { project, rest }: RevisionPathParams) -> PageResult {
    let app = context.app();
    let located = blob::locate(app, &context.actor, &project.reference(), &rest).await?;
    let validator = file_validator(&context, &located, None)?;
    if validator.is_current {
        return Ok(respond::not_modified(validator));
    }
    let file = blame::show(app, located).await?;
    let abilities = Abilities::new(&file.project, &context.actor);
    // A small file that could not be read may be readable next time.
    let is_unread = matches!(file.content, BlamedContent::TooLarge) && file.bytes <= blame::MAX_BYTES;
    let (mut html, mut is_final) = (Vec::new(), !is_unread);
    if let BlamedContent::Lines { text, .. } = &file.content {
        let lines = lines(text);
        let highlighted = highlight::highlight_file(file.id.to_string(), &file.path, &lines).await;
        html = highlighted.html(&lines).map(Cow::into_owned).collect();
        is_final = highlighted.is_final;
    }
    let page = blame_page(context.layout(), &file, abilities, html);
    Ok(respond::html(&page)?.with_validator(is_final.then_some(validator)))
}
