//! The page of a file, and its bytes.

use holdfast_app::repository::browse::blob::{self, LocatedFile};
use holdfast_app::repository::browse::commit::Commit;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, TEXT_PLAIN, UserContent, params};

use super::address::RevisionPathParams;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::file_types::{image_type, is_markdown};
use crate::highlight;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::validator::Validator;
use crate::views::repository::blob::{BlobBody, BlobInput, MAX_TEXT_BYTES, blob_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    let call = "GET /projects/:id/repository/blobs/:sha";
    pages.get("/:namespace/:project/blob/*rest", read, Cost::Normal, "File", show).api(call);
    pages.get("/:namespace/:project/raw/*rest", read, Cost::Normal, "Content of a file", show_raw).api(call);
}

params! {
    struct ShowBlob {
        flatten revision: RevisionPathParams,
        /// Given to see the source of a Markdown file.
        optional plain: String,
    }
}

/// Returns the validator of a page about a file. Fails if the address is not the one of the project.
pub(super) fn file_validator(
    context: &RequestContext,
    file: &LocatedFile,
    last_commit: Option<&Commit>,
) -> Result<Validator, PageError> {
    ensure_address(context, file.project())?;
    let last_commit = last_commit.map(|commit| commit.id);
    let objects = (&file.revision, file.is_branch(), file.commit, file.id, last_commit, file.default_branch());
    Ok(context.code_validator(file.project(), objects))
}

async fn show(context: RequestContext, ShowBlob { revision, plain }: ShowBlob) -> PageResult {
    let RevisionPathParams { project, rest } = revision;
    let app = context.app();
    let located = blob::locate(app, &context.actor, &project.reference(), &rest).await?;
    let last_commit = blob::find_last_commit(app, &located).await?;
    let validator = file_validator(&context, &located, last_commit.as_ref())?;
    if validator.is_current {
        return Ok(respond::not_modified(validator));
    }
    let file = blob::read_file(app, located, MAX_TEXT_BYTES).await?;
    let abilities = Abilities::new(&file.project, &context.actor);
    let layout = context.layout_with_record(file.project.id.get(), ":sha", file.commit.id);
    // A page with parts that were not ready in time, or that could not be read, may be rendered differently next time.
    let mut is_final = file.content.is_some() || file.bytes > MAX_TEXT_BYTES;
    let mut body = BlobBody::new(&file.path, file.content.as_deref());
    let mut rendered = None;
    if let BlobBody::Lines(text) = &mut body {
        let content = file.content.clone().filter(|_| is_markdown(&file.path) && plain.is_none());
        if let Some(content) = content {
            is_final = false;
            let link_context = LinkContext::for_file(&file.project.full_path(), &file.revision, &file.path);
            rendered = markdown::render_file(content, link_context).await;
        }
        if rendered.is_none() {
            text.highlighted = highlight::highlight_file(file.id.to_string(), &file.path, &text.lines).await;
            is_final &= text.highlighted.is_final;
        }
    }
    let input = BlobInput {
        revision: &file.revision,
        path: &file.path,
        is_branch: file.is_branch,
        is_symbolic_link: file.is_symbolic_link,
        bytes: file.bytes,
        body,
        rendered,
        commit: &file.commit,
        last_commit: last_commit.as_ref(),
        default_branch: file.default_branch.as_ref(),
    };
    let page = blob_page(layout, &file.project, abilities, input);
    Ok(respond::html(&page)?.with_validator(is_final.then_some(validator)))
}

/// Responds with the bytes of a file. Everything but images is sent as plain text, which browsers do not interpret.
async fn show_raw(context: RequestContext, RevisionPathParams { project, rest }: RevisionPathParams) -> PageResult {
    let app = context.app();
    let file = blob::locate(app, &context.actor, &project.reference(), &rest).await?;
    ensure_address(&context, file.project())?;
    let user_content = UserContent {
        content_type: image_type(&file.path).unwrap_or(TEXT_PLAIN),
        bytes: None,
        attachment: None,
        cache_control: "private, no-cache",
    };
    let validator = context.validator(file.id);
    let response = match validator.is_current {
        true => user_content.not_modified(),
        false => {
            let blob = blob::read_raw(app, &file).await?;
            UserContent { bytes: Some(blob.bytes), ..user_content }.respond(blob.content)
        }
    };
    Ok(respond::complete(response).with_validator(Some(validator)))
}
