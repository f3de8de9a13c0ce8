use axum::http::Method;
use chrono::{DateTime, Utc};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::release::{
    self, CreateRelease, LinkAttributes, LinkType, ProjectRelease, ReleaseOrder, UpdateLink, UpdateRelease,
};
use holdfast_domain::page::Page;
use holdfast_domain::policy::ProjectAction::{ReadCode, WriteCode};
use serde_json::Value;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use super::ApiResult;
use crate::error::ApiError;
use crate::params::{FromValue, ParamError};
use crate::present::v4::release::{ProjectReleaseBody, ReleaseLinkBody, present_link, present_release};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    /// What releases are sorted by.
    enum SortKey {
        ReleasedAt = "released_at",
        CreatedAt = "created_at",
    }
}

choice! {
    /// The direction of a list.
    enum Sort {
        Ascending = "asc",
        Descending = "desc",
    }
}

params! {
    struct ListReleases {
        required id: ProjectRef,
        /// Order, `released_at` by default.
        optional order_by: SortKey,
        /// Direction, `desc` by default.
        optional sort: Sort,
    }
}

async fn list(context: RequestContext, params: ListReleases) -> ApiResult<PageBody<ProjectReleaseBody>> {
    let order = match (params.order_by, params.sort) {
        (None | Some(SortKey::ReleasedAt), None | Some(Sort::Descending)) => ReleaseOrder::NewestReleased,
        (None | Some(SortKey::ReleasedAt), Some(Sort::Ascending)) => ReleaseOrder::OldestReleased,
        (Some(SortKey::CreatedAt), None | Some(Sort::Descending)) => ReleaseOrder::NewestCreated,
        (Some(SortKey::CreatedAt), Some(Sort::Ascending)) => ReleaseOrder::OldestCreated,
    };
    let found = release::list(context.app(), &context.actor, &params.id, order, context.page).await?;
    let path = found.project.full_path();
    Ok(PageBody(found.releases.map(|release| present_release(release, &path, context.site()))))
}

params! {
    struct OneRelease {
        required id: ProjectRef,
        /// Name of the tag, with slashes as %2F.
        required tag_name: String,
    }
}

fn present(found: ProjectRelease, context: &RequestContext) -> ProjectReleaseBody {
    present_release(found.release, &found.project.full_path(), context.site())
}

async fn show(context: RequestContext, params: OneRelease) -> ApiResult<Body<ProjectReleaseBody>> {
    let found = release::show(context.app(), &context.actor, &params.id, &params.tag_name).await?;
    Ok(Body(present(found, &context)))
}

params! {
    struct LatestRelease {
        required id: ProjectRef,
    }
}

async fn show_latest(context: RequestContext, params: LatestRelease) -> ApiResult<Body<ProjectReleaseBody>> {
    let found = release::show_latest(context.app(), &context.actor, &params.id).await?;
    Ok(Body(present(found, &context)))
}

/// The type of a link in a request.
struct LinkTypeName(LinkType);

impl FromValue for LinkTypeName {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        String::from_value(value)?.try_into().map(Self).map_err(|_| ParamError::NotAllowed)
    }

    fn schema() -> RefOr<Schema> {
        let words = LinkType::ALL.map(LinkType::as_str);
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
    }
}

/// The links of a new release: `{"links": [{"name": …, "url": …, "link_type": …}]}`.
struct Assets(Vec<LinkAttributes>);

impl FromValue for Assets {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let links = match value.as_object().ok_or(ParamError::Invalid)?.get("links") {
            None | Some(Value::Null) => return Ok(Self(Vec::new())),
            Some(links) => links.as_array().ok_or(ParamError::Invalid)?,
        };
        let read_link = |link: &Value| {
            let text = |name: &str| String::from_value(link.get(name).ok_or(ParamError::Invalid)?);
            let link_type = link.get("link_type").filter(|value| !value.is_null()).map(LinkTypeName::from_value);
            let link_type = link_type.transpose()?.map(|LinkTypeName(link_type)| link_type).unwrap_or_default();
            Ok(LinkAttributes { name: text("name")?, url: text("url")?, link_type })
        };
        links.iter().map(read_link).collect::<Result<_, _>>().map(Self)
    }

    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let link = ObjectBuilder::new()
            .schema_type(Type::Object)
            .property("name", text())
            .property("url", text())
            .property("link_type", LinkTypeName::schema())
            .required("name")
            .required("url");
        ObjectBuilder::new().schema_type(Type::Object).property("links", ArrayBuilder::new().items(link)).into()
    }
}

params! {
    struct NewRelease {
        required id: ProjectRef,
        /// Name of the tag.
        required tag_name: String,
        /// Name of the release, that of the tag by default.
        optional name: String,
        /// Release notes in Markdown.
        optional description: String,
        /// Branch, tag or commit at which the tag is created. Required if the tag does not exist.
        optional r#ref: String,
        /// Message of that tag. Without it the tag is lightweight.
        optional tag_message: String,
        /// Date of the release, the current time by default.
        optional released_at: DateTime<Utc>,
        /// Links to files elsewhere: an object with `links`, a list of objects with `name`, `url` and `link_type`
        /// (`other`, `runbook`, `image` or `package`).
        optional assets: Assets,
    }
}

async fn create(context: RequestContext, params: NewRelease) -> ApiResult<Created<ProjectReleaseBody>> {
    let input = CreateRelease {
        tag: params.tag_name,
        name: params.name,
        description: params.description.unwrap_or_default(),
        target: params.r#ref,
        tag_message: params.tag_message,
        released_at: params.released_at,
        links: params.assets.map(|Assets(links)| links).unwrap_or_default(),
    };
    let created = release::create_with_tag(context.app(), &context.actor, &params.id, input).await?;
    Ok(Created(present(created, &context)))
}

params! {
    struct UpdateParams {
        flatten release: OneRelease,
        /// Name of the release. An empty name stands for that of the tag.
        optional name: String,
        /// Release notes in Markdown.
        optional description: String,
        /// Date of the release.
        optional released_at: DateTime<Utc>,
    }
}

async fn update(context: RequestContext, params: UpdateParams) -> ApiResult<Body<ProjectReleaseBody>> {
    let input = UpdateRelease { name: params.name, description: params.description, released_at: params.released_at };
    let OneRelease { id, tag_name } = params.release;
    Ok(Body(present(release::change(context.app(), &context.actor, &id, &tag_name, input).await?, &context)))
}

async fn delete(context: RequestContext, params: OneRelease) -> ApiResult<Body<ProjectReleaseBody>> {
    let deleted = release::delete(context.app(), &context.actor, &params.id, &params.tag_name).await?;
    Ok(Body(present(deleted, &context)))
}

async fn list_links(context: RequestContext, params: OneRelease) -> ApiResult<PageBody<ReleaseLinkBody>> {
    let links = release::list_links(context.app(), &context.actor, &params.id, &params.tag_name).await?;
    let (total, range) = (links.len(), context.page.range(links.len()));
    let items = links.into_iter().skip(range.start).take(range.len()).map(present_link).collect();
    Ok(PageBody(Page::with_total(items, context.page, total)))
}

params! {
    struct OneLink {
        flatten release: OneRelease,
        required link_id: i64,
    }
}

async fn show_link(context: RequestContext, params: OneLink) -> ApiResult<Body<ReleaseLinkBody>> {
    let OneRelease { id, tag_name } = params.release;
    let link = release::show_link(context.app(), &context.actor, &id, &tag_name, params.link_id).await?;
    Ok(Body(present_link(link)))
}

params! {
    struct NewLink {
        flatten release: OneRelease,
        /// Name of the link, unique in the release.
        required name: String,
        /// HTTP, HTTPS or FTP URL, unique in the release.
        required url: String,
        /// What the link leads to, `other` by default.
        optional link_type: LinkTypeName,
    }
}

async fn create_link(context: RequestContext, params: NewLink) -> ApiResult<Created<ReleaseLinkBody>> {
    let link_type = params.link_type.map(|LinkTypeName(link_type)| link_type).unwrap_or_default();
    let link = LinkAttributes { name: params.name, url: params.url, link_type };
    let OneRelease { id, tag_name } = params.release;
    Ok(Created(present_link(release::create_link(context.app(), &context.actor, &id, &tag_name, link).await?)))
}

params! {
    struct UpdateLinkParams {
        flatten link: OneLink,
        /// Name of the link, unique in the release.
        optional name: String,
        /// HTTP, HTTPS or FTP URL, unique in the release.
        optional url: String,
        /// What the link leads to.
        optional link_type: LinkTypeName,
    }
}

async fn update_link(context: RequestContext, params: UpdateLinkParams) -> ApiResult<Body<ReleaseLinkBody>> {
    let link_type = params.link_type.map(|LinkTypeName(link_type)| link_type);
    let input = UpdateLink { name: params.name, url: params.url, link_type };
    if input.name.is_none() && input.url.is_none() && input.link_type.is_none() {
        return Err(ApiError::at_least_one_required(&["name", "url", "link_type"]));
    }
    let OneLink { release: OneRelease { id, tag_name }, link_id } = params.link;
    let updated = release::update_link(context.app(), &context.actor, &id, &tag_name, link_id, input).await?;
    Ok(Body(present_link(updated)))
}

async fn delete_link(context: RequestContext, params: OneLink) -> ApiResult<Body<ReleaseLinkBody>> {
    let OneRelease { id, tag_name } = params.release;
    let deleted = release::delete_link(context.app(), &context.actor, &id, &tag_name, params.link_id).await?;
    Ok(Body(present_link(deleted)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/releases";
    const ONE: &str = "/projects/:id/releases/:tag_name";
    const LATEST: &str = "/projects/:id/releases/permalink/latest";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add_for_builds(Method::GET, PATH, read, "List releases", list);
    routes.add_for_builds(Method::GET, ONE, read, "Get a release", show);
    routes.add_for_builds(Method::GET, LATEST, read, "Get the latest release", show_latest);
    routes.add(Method::POST, PATH, write, "Create a release, and its tag if there is none", create);
    routes.add(Method::PUT, ONE, write, "Update a release", update);
    routes.add(Method::DELETE, ONE, write, "Delete a release", delete);
    const LINKS: &str = "/projects/:id/releases/:tag_name/assets/links";
    const LINK: &str = "/projects/:id/releases/:tag_name/assets/links/:link_id";
    routes.add_for_builds(Method::GET, LINKS, read, "List the links of a release", list_links);
    routes.add_for_builds(Method::GET, LINK, read, "Get a link of a release", show_link);
    routes.add(Method::POST, LINKS, write, "Add a link to a release", create_link);
    routes.add(Method::PUT, LINK, write, "Update a link of a release", update_link);
    routes.add(Method::DELETE, LINK, write, "Delete a link of a release", delete_link);
}
