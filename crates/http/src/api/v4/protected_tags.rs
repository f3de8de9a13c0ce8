use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::protected_tag;
use holdfast_domain::AccessLevel;
use holdfast_domain::policy::ProjectAction::ProtectBranches;
use holdfast_domain::repository::TagRule;
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use super::ApiResult;
use super::protected_branches::MinLevel;
use crate::params::{FromValue, ParamError, Unsupported};
use crate::present::v4::protected_tag::{ProtectedTagBody, present_protected_tag};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListRules {
        required id: ProjectRef,
    }
}

async fn list(context: RequestContext, params: ListRules) -> ApiResult<PageBody<ProtectedTagBody>> {
    let page = protected_tag::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(present_protected_tag)))
}

params! {
    struct OneRule {
        required id: ProjectRef,
        /// Name of the rule, with slashes as %2F.
        required name: String,
    }
}

async fn show(context: RequestContext, params: OneRule) -> ApiResult<Body<ProtectedTagBody>> {
    let rule = protected_tag::show(context.app(), &context.actor, &params.id, &params.name).await?;
    Ok(Body(present_protected_tag(rule)))
}

/// The lowest access level that may create tags, or 0 if nobody may.
struct CreateLevel(Option<AccessLevel>);

impl FromValue for CreateLevel {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        match i64::from_value(value)? {
            0 => Ok(Self(None)),
            _ => Ok(Self(Some(MinLevel::from_value(value)?.0))),
        }
    }

    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([0, 30, 40])).into()
    }
}

params! {
    struct CreateRule {
        required id: ProjectRef,
        /// Name of a tag, in which `*` stands for any characters.
        required name: String,
        /// Who may create the tags: 30 for developers and maintainers, 40 for maintainers (by default), or 0 for nobody.
        optional create_access_level: CreateLevel,
        optional allowed_to_create: Unsupported,
    }
}

async fn create(context: RequestContext, params: CreateRule) -> ApiResult<Created<ProtectedTagBody>> {
    let create = params.create_access_level.map_or(Some(AccessLevel::Master), |level| level.0);
    let rule = TagRule { name: params.name, create };
    let created = protected_tag::create(context.app(), &context.actor, &params.id, rule).await?;
    Ok(Created(present_protected_tag(created)))
}

async fn delete(context: RequestContext, params: OneRule) -> ApiResult<NoContent> {
    protected_tag::delete(context.app(), &context.actor, &params.id, &params.name).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/protected_tags";
    const ONE: &str = "/projects/:id/protected_tags/:name";
    let protect = Access::Project(ProtectBranches);
    routes.add(Method::GET, PATH, protect, "List protected tags", list);
    routes.add(Method::GET, ONE, protect, "Get a protected tag", show);
    routes.add(Method::POST, PATH, protect, "Protect tags", create);
    routes.add(Method::DELETE, ONE, protect, "Unprotect tags", delete);
}
