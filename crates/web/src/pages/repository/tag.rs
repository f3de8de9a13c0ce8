//! The list of tags, the page of a tag with its release, and the actions on them.

use holdfast_app::Error;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::tag::CreateTag;
use holdfast_app::repository::refs::{release, tag};
use holdfast_domain::Violations;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::RevisionPathParams;
use super::rejection::rejection_text;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::layout::Flash;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::tag::{ReleaseValues, TagValues, tag_page, tags_page};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    let write = Access::Project(ProjectAction::WriteCode);
    pages.get("/:namespace/:project/tags", read, Cost::Normal, "Tags", list).api("GET /projects/:id/repository/tags");
    pages
        .post("/:namespace/:project/tags", write, Cost::Normal, "Create a tag", create)
        .api("POST /projects/:id/repository/tags");
    let call = "GET /projects/:id/repository/tags/:tag_name";
    pages.get("/:namespace/:project/tags/*rest", read, Cost::Normal, "Tag", show).api(call);
    // The names of tags contain slashes, so they are not a part of these addresses.
    pages
        .post("/:namespace/:project/delete_tag", write, Cost::Normal, "Delete a tag", delete)
        .api("DELETE /projects/:id/repository/tags/:tag_name");
    pages
        .post("/:namespace/:project/releases", write, Cost::Normal, "Save release notes", save_release)
        .api("PUT /projects/:id/repository/tags/:tag_name/release");
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let page = context.long_page();
    let found = tag::list_with_project(context.app(), &context.actor, &path.reference(), page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&tags_page(layout, &found, abilities, TagValues::default()))
}

async fn show(context: RequestContext, RevisionPathParams { project, rest }: RevisionPathParams) -> PageResult {
    let found = tag::show_with_project(context.app(), &context.actor, &project.reference(), &rest).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_record(found.project.id.get(), ":tag_name", &found.tag.name);
    let values = ReleaseValues::from(&found.tag);
    respond::html(&tag_page(layout, &found, abilities, values, &Violations::default()))
}

params! {
    struct NewTag {
        flatten path: ProjectPathParams,
        optional name: String,
        /// Branch, tag or commit at which the tag is created.
        optional target: String,
        optional message: String,
        optional release_description: String,
    }
}

async fn create(context: RequestContext, params: NewTag) -> PageResult {
    let (project, text) = (params.path.reference(), |text: Option<String>| text.unwrap_or_default());
    let values = TagValues {
        name: text(params.name),
        target: text(params.target),
        message: text(params.message),
        release_description: text(params.release_description),
        is_open: true,
    };
    let input = CreateTag {
        name: values.name.clone(),
        target: values.target.clone(),
        message: Some(values.message.clone()),
        release_description: Some(values.release_description.clone()),
    };
    match tag::create(context.app(), &context.actor, &project, input).await {
        Ok(tag) => Ok(respond::see_other(params.path.links().tag(&tag.name)).with_flash(FlashCode::TagCreated)),
        Err(error) => reject(&context, &project, values, error).await,
    }
}

params! {
    struct OneTag {
        flatten path: ProjectPathParams,
        optional name: String,
    }
}

async fn delete(context: RequestContext, OneTag { path, name }: OneTag) -> PageResult {
    let project = path.reference();
    match tag::delete(context.app(), &context.actor, &project, &name.unwrap_or_default()).await {
        Ok(_) => Ok(respond::see_other(path.links().tags()).with_flash(FlashCode::TagDeleted)),
        Err(error) => reject(&context, &project, TagValues::default(), error).await,
    }
}

params! {
    struct SaveRelease {
        flatten path: ProjectPathParams,
        /// The name of the tag.
        optional tag: String,
        optional description: String,
    }
}

async fn save_release(context: RequestContext, params: SaveRelease) -> PageResult {
    let (project, name) = (params.path.reference(), params.tag.unwrap_or_default());
    let values = ReleaseValues { description: params.description.unwrap_or_default(), is_open: true };
    match release::save(context.app(), &context.actor, &project, &name, &values.description).await {
        Ok(()) => Ok(respond::see_other(params.path.links().tag(&name)).with_flash(FlashCode::ReleaseSaved)),
        Err(Error::Invalid(violations)) if !name.is_empty() => {
            let found = tag::show_with_project(context.app(), &context.actor, &project, &name).await?;
            let abilities = Abilities::new(&found.project, &context.actor);
            respond::rejected(&tag_page(context.layout(), &found, abilities, values, &violations))
        }
        Err(error) => reject(&context, &project, TagValues::default(), error).await,
    }
}

/// Responds with the list and the reason why a change was rejected. Fails with any other error.
async fn reject(context: &RequestContext, project: &ProjectRef, values: TagValues, error: Error) -> PageResult {
    let text = rejection_text(error)?;
    let found = tag::list_with_project(context.app(), &context.actor, project, context.long_page()).await?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let mut layout = context.layout_with_id(found.project.id.get());
    layout.flash = Some(Flash { kind: "bad", text });
    respond::rejected(&tags_page(layout, &found, abilities, values))
}
