//! The page of a file, and its bytes.

use holdfast_app::repository::browse::blob;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, TEXT_PLAIN, UserContent};

use super::address::RevisionPathParams;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::blob::{BlobBody, BlobInput, MAX_TEXT_BYTES, blob_page, image_type};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    let call = "GET /projects/:id/repository/blobs/:sha";
    pages.get("/:namespace/:project/blob/*rest", read, Cost::Normal, "File", show).api(call);
    pages.get("/:namespace/:project/raw/*rest", read, Cost::Normal, "Content of a file", show_raw).api(call);
}

async fn show(context: RequestContext, RevisionPathParams { project, rest }: RevisionPathParams) -> PageResult {
    let reference = project.reference();
    let file = blob::show_file(context.app(), &context.actor, &reference, &rest, MAX_TEXT_BYTES).await?;
    ensure_address(&context, &file.project)?;
    let abilities = Abilities::new(&file.project, &context.actor);
    let layout = context.layout_with_record(file.project.id.get(), ":sha", file.commit.id);
    let input = BlobInput {
        revision: &file.revision,
        path: &file.path,
        bytes: file.bytes,
        body: BlobBody::new(&file.path, file.content.as_deref()),
        commit: &file.commit,
    };
    respond::html(&blob_page(layout, &file.project, abilities, input))
}

/// Responds with the bytes of a file. Everything but images is sent as plain text, which browsers do not interpret.
async fn show_raw(context: RequestContext, RevisionPathParams { project, rest }: RevisionPathParams) -> PageResult {
    let file = blob::show_raw(context.app(), &context.actor, &project.reference(), &rest).await?;
    ensure_address(&context, &file.project)?;
    let user_content = UserContent {
        content_type: image_type(&file.path).unwrap_or(TEXT_PLAIN),
        bytes: Some(file.blob.bytes),
        attachment: None,
        cache_control: "private, no-cache",
    };
    Ok(respond::complete(user_content.respond(file.blob.content)))
}
