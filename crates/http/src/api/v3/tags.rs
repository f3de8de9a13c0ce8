use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::release;
use holdfast_app::repository::tag::{self, CreateTag};
use holdfast_domain::policy::ProjectAction::{ReadCode, WriteCode};

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::present::tag::{ReleaseBody, RemovedTag, ShownTag, TagBody, shown, tag as present};
use crate::{Access, Cx, Routes, params};

params! {
    struct NewTag {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required tag_name: String,
        /// A branch, another tag or the id of a commit.
        required r#ref: String,
        /// Makes an annotated tag.
        optional message: String,
        /// Notes, in Markdown.
        optional release_description: String,
    }
}

async fn create(cx: Cx, params: NewTag) -> ApiResult<Created<TagBody>> {
    let input = CreateTag {
        name: params.tag_name,
        at: params.r#ref,
        message: params.message,
        release_description: params.release_description,
    };
    let made = tag::create(cx.app(), &cx.actor, &params.id, input).await;
    Ok(Created(present(made.map_err(|error| ApiError::from(error).or_not_allowed())?)))
}

async fn list(cx: Cx, params: OneProject) -> ApiResult<Listed<TagBody>> {
    Ok(Listed(tag::list(cx.app(), &cx.actor, &params.id, cx.page).await?.map(present)))
}

params! {
    struct OneTag {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Its slashes as %2F.
        required tag_name: String,
    }
}

async fn show(cx: Cx, params: OneTag) -> ApiResult<Body<ShownTag>> {
    Ok(Body(shown(tag::show(cx.app(), &cx.actor, &params.id, &params.tag_name).await?)))
}

async fn delete(cx: Cx, params: OneTag) -> ApiResult<Body<RemovedTag>> {
    let tag_name = tag::delete(cx.app(), &cx.actor, &params.id, &params.tag_name).await?;
    Ok(Body(RemovedTag { tag_name }))
}

params! {
    struct ReleaseTag {
        including tag: OneTag,
        /// Notes, in Markdown.
        required description: String,
    }
}

async fn create_release(cx: Cx, params: ReleaseTag) -> ApiResult<Created<ReleaseBody>> {
    let ReleaseTag { tag: OneTag { id, tag_name }, description } = params;
    release::create(cx.app(), &cx.actor, &id, &tag_name, &description).await?;
    Ok(Created(ReleaseBody { tag_name, description }))
}

async fn update_release(cx: Cx, params: ReleaseTag) -> ApiResult<Body<ReleaseBody>> {
    let ReleaseTag { tag: OneTag { id, tag_name }, description } = params;
    release::update(cx.app(), &cx.actor, &id, &tag_name, &description).await?;
    Ok(Body(ReleaseBody { tag_name, description }))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/tags";
    const ONE: &str = "/projects/:id/repository/tags/:tag_name";
    const RELEASE: &str = "/projects/:id/repository/tags/:tag_name/release";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "Lists tags by name, the last first", list);
    routes.add(Method::GET, ONE, read, "Shows a tag", show);
    routes.add(Method::POST, PATH, write, "Creates a tag; 405 with a text where it cannot", create);
    routes.add(Method::DELETE, ONE, write, "Removes a tag and its release", delete);
    routes.add(Method::POST, RELEASE, write, "Writes the notes of a tag that has none", create_release);
    routes.add(Method::PUT, RELEASE, write, "Changes the notes of a tag", update_release);
}
