use axum::http::Method;
use holdfast_app::accounts::user::{self, Filter, Order, UserChanges};
use holdfast_app::{Error, Resource};
use holdfast_domain::Field;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ManageUsers, ReadUsers};

use super::ApiResult;
use super::projects::Sort;
use crate::api::shared::users::Profile;
use crate::error::ApiError;
use crate::present::v4::user::{
    SeenUser, UserForAdministrators, present_current, present_for_administrators, present_seen,
};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

async fn show_current(context: RequestContext, (): ()) -> ApiResult<Body<SeenUser>> {
    Ok(Body(present_current(user::show_own(context.app(), &context.actor).await?, context.site())))
}

choice! {
    enum OrderBy { Id = "id", CreatedAt = "created_at", Username = "username" }
}

params! {
    struct ListUsers {
        /// Only the user with this username, in any case. Other filters are ignored then.
        optional username: String,
        /// Part of the username or email address.
        optional search: String,
        /// Only active users. `false` is not supported.
        optional active: bool,
        /// Only blocked users. `false` is not supported.
        optional blocked: bool,
        /// Only external users. Ignored unless the current user is an administrator.
        optional external: bool,
        /// Sort key, `id` by default.
        optional order_by: OrderBy,
        /// Sort direction, `desc` by default.
        optional sort: Sort,
    }
}

async fn list(context: RequestContext, params: ListUsers) -> ApiResult<PageBody<SeenUser>> {
    let filter = Filter {
        username: params.username.filter(|name| !name.is_empty()),
        search: params.search.filter(|term| !term.is_empty()),
        active: params.active.unwrap_or(false),
        blocked: params.blocked.unwrap_or(false),
        external: params.external.unwrap_or(false),
    };
    let descending = params.sort != Some(Sort::Ascending);
    let order = match params.order_by.unwrap_or(OrderBy::Id) {
        // Users get their ids in the order of their creation.
        OrderBy::Id | OrderBy::CreatedAt => Order::Id { descending },
        OrderBy::Username => Order::Username { descending },
    };
    let page = user::list_in_order(context.app(), &context.actor, filter, order, context.page).await?;
    let is_administrator = context.actor.is_administrator();
    Ok(PageBody(page.map(|user| present_seen(user, is_administrator, context.site()))))
}

params! {
    pub struct OneUser {
        /// Id of the user.
        required id: UserId,
    }
}

async fn show(context: RequestContext, params: OneUser) -> ApiResult<Body<SeenUser>> {
    let user = user::show(context.app(), &context.actor, params.id).await?;
    Ok(Body(present_seen(user, context.actor.is_administrator(), context.site())))
}

params! {
    struct CreateUser {
        /// Primary email address.
        required email: String,
        /// Display name.
        required name: String,
        required username: String,
        /// Password of the user. Required unless `force_random_password` is true.
        optional password: String,
        /// Whether the user gets a password that nobody knows, until an administrator sets another one.
        optional force_random_password: bool,
        flatten profile: Profile,
        /// Accepted for existing clients. Accounts are always confirmed at once.
        optional skip_confirmation: bool,
    }
}

async fn create(context: RequestContext, params: CreateUser) -> ApiResult<Created<UserForAdministrators>> {
    let _ = params.skip_confirmation;
    let changes = UserChanges {
        email: Field::Value(params.email),
        name: Field::Value(params.name),
        username: Field::Value(params.username),
        ..params.profile.into_changes()
    };
    let user = match (params.password, params.force_random_password) {
        (_, Some(true)) => user::create_with_random_password(context.app(), &context.actor, changes).await?,
        (Some(password), _) => {
            let changes = UserChanges { password: Field::Value(password), ..changes };
            user::create(context.app(), &context.actor, changes).await?
        }
        (None, _) => return Err(ApiError::at_least_one_required(&["password", "force_random_password"])),
    };
    Ok(Created(present_for_administrators(user, context.site())))
}

params! {
    struct UpdateUser {
        /// Id of the user.
        required id: UserId,
        nullable email: String,
        nullable password: String,
        nullable name: String,
        nullable username: String,
        flatten profile: Profile,
    }
}

async fn update(context: RequestContext, params: UpdateUser) -> ApiResult<Body<UserForAdministrators>> {
    let changes = UserChanges {
        email: params.email,
        password: params.password,
        name: params.name,
        username: params.username,
        ..params.profile.into_changes()
    };
    let user = user::update(context.app(), &context.actor, params.id, changes).await?;
    Ok(Body(present_for_administrators(user, context.site())))
}

async fn delete(context: RequestContext, params: OneUser) -> ApiResult<NoContent> {
    let deleted = user::delete(context.app(), &context.actor, params.id).await?;
    deleted.ok_or(Error::NotFound(Resource::User))?;
    Ok(NoContent)
}

/// Blocks a user. Succeeds also if the user is blocked already.
async fn block(context: RequestContext, params: OneUser) -> ApiResult<Created<bool>> {
    user::block(context.app(), &context.actor, params.id).await?;
    Ok(Created(true))
}

/// Unblocks a user. Succeeds also if the user is not blocked.
async fn unblock(context: RequestContext, params: OneUser) -> ApiResult<Created<bool>> {
    user::unblock(context.app(), &context.actor, params.id).await?;
    Ok(Created(true))
}

pub fn routes(routes: &mut Routes) {
    let (own, read) = (Access::Instance(ManageOwnAccount), Access::Instance(ReadUsers));
    let manage = Access::Instance(ManageUsers);
    routes.add(Method::GET, "/user", own, "Get the current user", show_current);
    routes.add(Method::GET, "/users", read, "List users", list);
    routes.add(Method::GET, "/users/:id", read, "Get a user", show);
    routes.add(Method::POST, "/users", manage, "Create a user", create);
    routes.add(Method::PUT, "/users/:id", manage, "Update a user", update);
    routes.add(Method::DELETE, "/users/:id", manage, "Delete a user", delete);
    routes.add(Method::POST, "/users/:id/block", manage, "Block a user", block);
    routes.add(Method::POST, "/users/:id/unblock", manage, "Unblock a user", unblock);
}
