use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::tag::{self, CreateTag};
use holdfast_domain::policy::ProjectAction::WriteCode;

use super::ApiResult;
use crate::answer::Created;
use crate::error::ApiError;
use crate::present::tag::{TagBody, tag as present};
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

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/tags";
    routes.add(
        Method::POST,
        PATH,
        Access::Project(WriteCode),
        "Creates a tag; 405 with a text where it cannot",
        create,
    );
}
