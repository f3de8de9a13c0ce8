use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::tag::{self, CreateTag, ListRefs, ProjectTag, RefOrder};
use holdfast_domain::policy::ProjectAction::{ReadCode, WriteCode};

use super::ApiResult;
use crate::present::v4::tag::{ProjectTagBody, present_tag};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    /// What tags are sorted by.
    enum TagOrder {
        Name = "name",
        Updated = "updated",
        Version = "version",
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
    struct ListTags {
        required id: ProjectRef,
        /// Order: by `name`, by `version` (the name, with numbers compared by their values), or `updated` (by default),
        /// the date of an annotated tag or of a commit. More than 10,000 tags are always sorted by name.
        optional order_by: TagOrder,
        /// Direction, `desc` by default.
        optional sort: Sort,
        /// Only tags whose names contain this text, in any letter case. `^` before it stands for the beginning of a
        /// name, and `$` after it for the end.
        optional search: String,
    }
}

async fn list(context: RequestContext, params: ListTags) -> ApiResult<PageBody<ProjectTagBody>> {
    let order = match params.order_by {
        None | Some(TagOrder::Updated) => RefOrder::Date,
        Some(TagOrder::Name) => RefOrder::Name,
        Some(TagOrder::Version) => RefOrder::Version,
    };
    let input = ListRefs { search: params.search, order, descending: params.sort != Some(Sort::Ascending) };
    let found = tag::search(context.app(), &context.actor, &params.id, &input, context.page).await?;
    let path = found.project.full_path();
    Ok(PageBody(found.tags.map(|tag| present_tag(tag, &path, context.site()))))
}

params! {
    struct OneTag {
        required id: ProjectRef,
        /// Name of the tag, with slashes as %2F.
        required tag_name: String,
    }
}

fn present(found: ProjectTag, context: &RequestContext) -> ProjectTagBody {
    present_tag(found.tag, &found.project.full_path(), context.site())
}

async fn show(context: RequestContext, params: OneTag) -> ApiResult<Body<ProjectTagBody>> {
    let found = tag::show_with_project(context.app(), &context.actor, &params.id, &params.tag_name).await?;
    Ok(Body(present(found, &context)))
}

params! {
    struct NewTag {
        required id: ProjectRef,
        /// Name of the new tag.
        required tag_name: String,
        /// Branch, tag or commit that the new tag points to.
        required r#ref: String,
        /// Message of an annotated tag. Without it the tag is lightweight.
        optional message: String,
    }
}

async fn create(context: RequestContext, params: NewTag) -> ApiResult<Created<ProjectTagBody>> {
    let input =
        CreateTag { name: params.tag_name, target: params.r#ref, message: params.message, release_description: None };
    let created = tag::create_with_project(context.app(), &context.actor, &params.id, input).await?;
    Ok(Created(present(created, &context)))
}

async fn delete(context: RequestContext, params: OneTag) -> ApiResult<NoContent> {
    tag::delete(context.app(), &context.actor, &params.id, &params.tag_name).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/tags";
    const ONE: &str = "/projects/:id/repository/tags/:tag_name";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add_for_builds(Method::GET, PATH, read, "List tags", list);
    routes.add(Method::GET, ONE, read, "Get a tag", show);
    routes.add(Method::POST, PATH, write, "Create a tag", create);
    routes.add(Method::DELETE, ONE, write, "Delete a tag and its release", delete);
}
