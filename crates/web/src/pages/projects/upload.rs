//! Uploaded files, which texts show and link to.

use holdfast_app::projects::upload;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, OCTET_STREAM, UserContent, params};

use super::address::ProjectPathParams;
use crate::cost::Cost;
use crate::file_types::image_type;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};

/// The path of an uploaded file. The API serves it to clients with a token.
pub const UPLOADS: &str = "/:namespace/:project/uploads/:secret/:file";

pub fn declare(pages: &mut Pages) {
    pages.get(UPLOADS, Access::Project(ProjectAction::Read), Cost::Normal, "Uploaded file", show);
}

params! {
    struct OneUpload {
        flatten project: ProjectPathParams,
        required secret: String,
        required file: String,
    }
}

/// Responds with the bytes of an uploaded file. Images are shown by browsers; everything else is saved.
async fn show(context: RequestContext, OneUpload { project, secret, file }: OneUpload) -> PageResult {
    let found = upload::show(context.app(), &context.actor, &project.reference(), &secret, &file).await?;
    let image_type = image_type(&found.file_name);
    let user_content = UserContent {
        content_type: image_type.unwrap_or(OCTET_STREAM),
        bytes: Some(found.bytes.unsigned_abs()),
        // The file name needs no escaping: it was sanitized when the upload was stored.
        attachment: image_type.is_none().then_some(found.file_name),
        cache_control: "private, no-cache",
    };
    Ok(respond::complete(user_content.respond(found.content)))
}
