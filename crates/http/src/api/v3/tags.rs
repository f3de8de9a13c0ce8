use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::release;
use holdfast_app::repository::refs::tag::{self, CreateTag};
use holdfast_domain::policy::ProjectAction::{ReadCode, WriteCode};

use super::ApiResult;
use super::projects::OneProject;
use crate::error::ApiError;
use crate::present::tag::{ReleaseBody, RemovedTag, ShownTag, TagBody, detail, present_tag};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct NewTag {
        required id: ProjectRef,
        /// Name of the new tag.
        required tag_name: String,
        /// Branch, tag or commit that the new tag points to.
        required r#ref: String,
        /// Message of an annotated tag. Without it the tag is lightweight.
        optional message: String,
        /// Release notes in Markdown.
        optional release_description: String,
    }
}

async fn create(context: RequestContext, params: NewTag) -> ApiResult<Created<TagBody>> {
    let input = CreateTag {
        name: params.tag_name,
        target: params.r#ref,
        message: params.message,
        release_description: params.release_description,
    };
    let result = tag::create(context.app(), &context.actor, &params.id, input).await;
    Ok(Created(present_tag(result.map_err(|error| ApiError::from(error).invalid_as_not_allowed())?)))
}

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<TagBody>> {
    Ok(PageBody(tag::list(context.app(), &context.actor, &params.id, context.page).await?.map(present_tag)))
}

params! {
    struct OneTag {
        required id: ProjectRef,
        /// Name of the tag, with slashes as %2F.
        required tag_name: String,
    }
}

async fn show(context: RequestContext, params: OneTag) -> ApiResult<Body<ShownTag>> {
    Ok(Body(detail(tag::show(context.app(), &context.actor, &params.id, &params.tag_name).await?)))
}

async fn delete(context: RequestContext, params: OneTag) -> ApiResult<Body<RemovedTag>> {
    let tag_name = tag::delete(context.app(), &context.actor, &params.id, &params.tag_name).await?;
    Ok(Body(RemovedTag { tag_name }))
}

params! {
    struct ReleaseTag {
        flatten tag: OneTag,
        /// Release notes in Markdown.
        required description: String,
    }
}

async fn create_release(context: RequestContext, params: ReleaseTag) -> ApiResult<Created<ReleaseBody>> {
    let ReleaseTag { tag: OneTag { id, tag_name }, description } = params;
    release::create(context.app(), &context.actor, &id, &tag_name, &description).await?;
    Ok(Created(ReleaseBody { tag_name, description }))
}

async fn update_release(context: RequestContext, params: ReleaseTag) -> ApiResult<Body<ReleaseBody>> {
    let ReleaseTag { tag: OneTag { id, tag_name }, description } = params;
    release::update(context.app(), &context.actor, &id, &tag_name, &description).await?;
    Ok(Body(ReleaseBody { tag_name, description }))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/tags";
    const ONE: &str = "/projects/:id/repository/tags/:tag_name";
    const RELEASE: &str = "/projects/:id/repository/tags/:tag_name/release";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "List tags", list);
    routes.add(Method::GET, ONE, read, "Get a tag", show);
    routes.add(Method::POST, PATH, write, "Create a tag", create);
    routes.add(Method::DELETE, ONE, write, "Delete a tag and its release notes", delete);
    routes.add(Method::POST, RELEASE, write, "Create the release notes of a tag", create_release);
    routes.add(Method::PUT, RELEASE, write, "Update the release notes of a tag", update_release);
}
