use axum::http::{Method, StatusCode};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::protected_branch;
use holdfast_domain::AccessLevel;
use holdfast_domain::policy::ProjectAction::ProtectBranches;
use holdfast_domain::repository::Rule;
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use super::ApiResult;
use crate::error::ApiError;
use crate::params::{FromValue, ParamError, Unsupported};
use crate::present::v4::protected_branch::{ProtectedBranchBody, present_protected_branch};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListRules {
        required id: ProjectRef,
        /// Only branches whose names contain this text, in any letter case.
        optional search: String,
    }
}

async fn list(context: RequestContext, params: ListRules) -> ApiResult<PageBody<ProtectedBranchBody>> {
    let search = params.search.as_deref().filter(|text| !text.is_empty());
    let page = protected_branch::list(context.app(), &context.actor, &params.id, search, context.page).await?;
    Ok(PageBody(page.map(present_protected_branch)))
}

params! {
    struct OneRule {
        required id: ProjectRef,
        /// Name of the protected branch, with slashes as %2F.
        required name: String,
    }
}

async fn show(context: RequestContext, params: OneRule) -> ApiResult<Body<ProtectedBranchBody>> {
    let rule = protected_branch::show(context.app(), &context.actor, &params.id, &params.name).await?;
    Ok(Body(present_protected_branch(rule)))
}

/// The lowest access level that may do something with a protected branch or tag: 30 for developers or 40 for maintainers.
pub(super) struct MinLevel(pub AccessLevel);

impl FromValue for MinLevel {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        match i64::from_value(value)?.try_into() {
            Ok(level @ (AccessLevel::Developer | AccessLevel::Master)) => Ok(Self(level)),
            _ => Err(ParamError::NotAllowed),
        }
    }

    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([30, 40])).into()
    }
}

params! {
    struct Levels {
        /// Who may push to the branch: 30 for developers and maintainers, or 40 for maintainers.
        optional push_access_level: MinLevel,
        /// Who may merge into the branch: 30 for developers and maintainers, or 40 for maintainers.
        optional merge_access_level: MinLevel,
        /// Only `false` is possible: nobody may force push to a protected branch.
        optional allow_force_push: bool,
        optional allowed_to_merge: Unsupported,
        optional allowed_to_push: Unsupported,
        optional allowed_to_unprotect: Unsupported,
        optional code_owner_approval_required: Unsupported,
    }
}

impl Levels {
    /// Returns the levels for pushing and merging.
    fn read(self) -> ApiResult<(Option<AccessLevel>, Option<AccessLevel>)> {
        if self.allow_force_push == Some(true) {
            const TEXT: &str = "allow_force_push must be false: nobody may force push to a protected branch";
            return Err(ApiError::error(StatusCode::BAD_REQUEST, TEXT));
        }
        Ok((self.push_access_level.map(|level| level.0), self.merge_access_level.map(|level| level.0)))
    }
}

params! {
    struct CreateRule {
        required id: ProjectRef,
        /// Name of an existing branch. Wildcards are not possible.
        required name: String,
        flatten levels: Levels,
    }
}

async fn create(context: RequestContext, params: CreateRule) -> ApiResult<Created<ProtectedBranchBody>> {
    let (push, merge) = params.levels.read()?;
    let level = |level: Option<AccessLevel>| level.unwrap_or(AccessLevel::Master);
    let rule = Rule { name: params.name, push: level(push), merge: level(merge) };
    let created = protected_branch::create(context.app(), &context.actor, &params.id, rule).await?;
    Ok(Created(present_protected_branch(created)))
}

params! {
    struct UpdateRule {
        flatten rule: OneRule,
        flatten levels: Levels,
    }
}

async fn update(context: RequestContext, params: UpdateRule) -> ApiResult<Body<ProtectedBranchBody>> {
    let (push, merge) = params.levels.read()?;
    let OneRule { id, name } = params.rule;
    let updated = protected_branch::update(context.app(), &context.actor, &id, &name, push, merge).await?;
    Ok(Body(present_protected_branch(updated)))
}

async fn delete(context: RequestContext, params: OneRule) -> ApiResult<NoContent> {
    protected_branch::delete(context.app(), &context.actor, &params.id, &params.name).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/protected_branches";
    const ONE: &str = "/projects/:id/protected_branches/:name";
    let protect = Access::Project(ProtectBranches);
    routes.add(Method::GET, PATH, protect, "List protected branches", list);
    routes.add(Method::GET, ONE, protect, "Get a protected branch", show);
    routes.add(Method::POST, PATH, protect, "Protect a branch", create);
    routes.add(Method::PATCH, ONE, protect, "Change who may push and merge to a protected branch", update);
    routes.add(Method::DELETE, ONE, protect, "Unprotect a branch", delete);
}
