use axum::http::Method;
use holdfast_app::accounts::user::{self, Filter, User, UserChanges};
use holdfast_domain::Field;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::InstanceAction::{ManageUsers, ReadUsers};

use super::ApiResult;
use crate::api::shared::users::Profile;
use crate::error::ApiError;
use crate::present::user::{ListedUser, ShownUser, UserFull, full, profile, summary};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListUsers {
        /// Only the user with this username. Other filters are ignored then.
        optional username: String,
        /// Part of the username or email address.
        optional search: String,
        /// Only active users. `false` is not supported.
        optional active: bool,
        /// Only blocked users. `false` is not supported.
        optional blocked: bool,
        /// Only external users. Ignored unless the current user is an administrator.
        optional external: bool,
    }
}

async fn list(context: RequestContext, params: ListUsers) -> ApiResult<PageBody<ListedUser>> {
    let filter = Filter {
        username: params.username.filter(|name| !name.is_empty()),
        search: params.search.filter(|term| !term.is_empty()),
        active: params.active.unwrap_or(false),
        blocked: params.blocked.unwrap_or(false),
        external: params.external.unwrap_or(false),
    };
    let page = user::list(context.app(), &context.actor, filter, context.page).await?;
    let present = |user: User| match context.actor.is_administrator() {
        true => ListedUser::Full(Box::new(full(user, context.site()))),
        false => ListedUser::Summary(summary(&user.summary(), context.site())),
    };
    Ok(PageBody(page.map(present)))
}

params! {
    struct OneUser {
        required id: UserId,
    }
}

async fn show(context: RequestContext, params: OneUser) -> ApiResult<Body<ShownUser>> {
    let user = user::show(context.app(), &context.actor, params.id).await?;
    Ok(Body(match context.actor.is_administrator() {
        true => ShownUser::Full(Box::new(full(user, context.site()))),
        false => ShownUser::Profile(Box::new(profile(user, context.site()))),
    }))
}

params! {
    struct CreateUser {
        /// Primary email address.
        required email: String,
        required password: String,
        /// Display name.
        required name: String,
        required username: String,
        flatten profile: Profile,
        /// Accepted for existing clients. Accounts are always confirmed at once.
        optional confirm: bool,
    }
}

async fn create(context: RequestContext, params: CreateUser) -> ApiResult<Created<UserFull>> {
    let _ = params.confirm;
    let changes = UserChanges {
        email: Field::Value(params.email),
        password: Field::Value(params.password),
        name: Field::Value(params.name),
        username: Field::Value(params.username),
        ..params.profile.into_changes()
    };
    let user = user::create(context.app(), &context.actor, changes).await?;
    Ok(Created(full(user, context.site())))
}

params! {
    struct UpdateUser {
        required id: UserId,
        nullable email: String,
        nullable password: String,
        nullable name: String,
        nullable username: String,
        flatten profile: Profile,
    }
}

/// Updates a user. A conflict results in 404 instead of 409, as the specification requires.
async fn update(context: RequestContext, params: UpdateUser) -> ApiResult<Body<UserFull>> {
    let changes = UserChanges {
        email: params.email,
        password: params.password,
        name: params.name,
        username: params.username,
        ..params.profile.into_changes()
    };
    let updated = user::update(context.app(), &context.actor, params.id, changes).await;
    let user = updated.map_err(|error| match error {
        conflict @ holdfast_app::Error::Conflict(_) => ApiError::from(conflict).invalid_as_not_found(),
        other => other.into(),
    })?;
    Ok(Body(full(user, context.site())))
}

/// Deletes a user. Returns null if the user does not exist.
async fn delete(context: RequestContext, params: OneUser) -> ApiResult<Body<Option<UserFull>>> {
    let user = user::delete(context.app(), &context.actor, params.id).await?;
    Ok(Body(user.map(|user| full(user, context.site()))))
}

params! {
    struct BlockedUser {
        /// Id of the user.
        required uid: UserId,
    }
}

/// Blocks a user. Returns whether the state changed.
async fn block(context: RequestContext, params: BlockedUser) -> ApiResult<Body<bool>> {
    Ok(Body(user::block(context.app(), &context.actor, params.uid).await?))
}

async fn unblock(context: RequestContext, params: BlockedUser) -> ApiResult<Body<bool>> {
    Ok(Body(user::unblock(context.app(), &context.actor, params.uid).await?))
}

pub fn routes(routes: &mut Routes) {
    let (read, manage) = (Access::Instance(ReadUsers), Access::Instance(ManageUsers));
    routes.add(Method::GET, "/users", read, "List users", list);
    routes.add(Method::GET, "/users/:id", read, "Get a user", show);
    routes.add(Method::POST, "/users", manage, "Create a user", create);
    routes.add(Method::PUT, "/users/:id", manage, "Update a user", update);
    routes.add(Method::DELETE, "/users/:id", manage, "Delete a user", delete);
    routes.add(Method::PUT, "/users/:uid/block", manage, "Block a user", block);
    routes.add(Method::PUT, "/users/:uid/unblock", manage, "Unblock a user", unblock);
}
