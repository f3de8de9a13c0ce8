use axum::http::Method;
use holdfast_app::accounts::user::{self, Filter, User, UserChanges};
use holdfast_domain::Field;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::InstanceAction::{ManageUsers, ReadUsers};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::present::user::{ListedUser, ShownUser, UserFull, full, profile, summary};
use crate::{Access, Cx, Routes, params};

params! {
    struct ListUsers {
        /// Exactly this user; other filters are then ignored.
        optional username: String,
        /// Part of the username or of the e-mail address.
        optional search: String,
        /// Only active users. `false` is not supported.
        optional active: bool,
        /// Only blocked users. `false` is not supported.
        optional blocked: bool,
        /// Only external users; for administrators.
        optional external: bool,
    }
}

async fn list(cx: Cx, params: ListUsers) -> ApiResult<Listed<ListedUser>> {
    let filter = Filter {
        username: params.username.filter(|name| !name.is_empty()),
        search: params.search.filter(|term| !term.is_empty()),
        active: params.active.unwrap_or(false),
        blocked: params.blocked.unwrap_or(false),
        external: params.external.unwrap_or(false),
    };
    let page = user::list(cx.app(), &cx.actor, filter, cx.page).await?;
    let present = |user: User| match cx.actor.is_administrator() {
        true => ListedUser::Full(Box::new(full(user, cx.site()))),
        false => ListedUser::Summary(summary(&user.person(), cx.site())),
    };
    Ok(Listed(page.map(present)))
}

params! {
    struct OneUser {
        required id: UserId,
    }
}

async fn show(cx: Cx, params: OneUser) -> ApiResult<Body<ShownUser>> {
    let user = user::show(cx.app(), &cx.actor, params.id).await?;
    Ok(Body(match cx.actor.is_administrator() {
        true => ShownUser::Full(Box::new(full(user, cx.site()))),
        false => ShownUser::Profile(Box::new(profile(user, cx.site()))),
    }))
}

params! {
    /// What creation and change have in common.
    struct Profile {
        changed skype: String,
        changed linkedin: String,
        changed twitter: String,
        changed website_url: String,
        changed organization: String,
        changed bio: String,
        changed location: String,
        /// How many projects the user may have in its own namespace.
        optional projects_limit: i32,
        optional admin: bool,
        optional can_create_group: bool,
        optional external: bool,
        /// Name of an outside provider of accounts, together with `extern_uid`.
        changed provider: String,
        changed extern_uid: String,
    }
}

impl Profile {
    fn into_changes(self) -> UserChanges {
        UserChanges {
            skype: self.skype,
            linkedin: self.linkedin,
            twitter: self.twitter,
            website_url: self.website_url,
            organization: self.organization,
            bio: self.bio,
            location: self.location,
            projects_limit: self.projects_limit,
            admin: self.admin,
            can_create_group: self.can_create_group,
            external: self.external,
            provider: self.provider,
            extern_uid: self.extern_uid,
            ..UserChanges::default()
        }
    }
}

params! {
    struct CreateUser {
        required email: String,
        required password: String,
        required name: String,
        required username: String,
        including profile: Profile,
        /// Accepted for existing clients; accounts are confirmed at once either way.
        optional confirm: bool,
    }
}

async fn create(cx: Cx, params: CreateUser) -> ApiResult<Created<UserFull>> {
    let _ = params.confirm;
    let changes = UserChanges {
        email: Field::Value(params.email),
        password: Field::Value(params.password),
        name: Field::Value(params.name),
        username: Field::Value(params.username),
        ..params.profile.into_changes()
    };
    let user = user::create(cx.app(), &cx.actor, changes).await?;
    Ok(Created(full(user, cx.site())))
}

params! {
    struct UpdateUser {
        required id: UserId,
        changed email: String,
        changed password: String,
        changed name: String,
        changed username: String,
        including profile: Profile,
    }
}

/// A conflict answers 404: the specification says so, where 409 would fit better.
async fn update(cx: Cx, params: UpdateUser) -> ApiResult<Body<UserFull>> {
    let changes = UserChanges {
        email: params.email,
        password: params.password,
        name: params.name,
        username: params.username,
        ..params.profile.into_changes()
    };
    let updated = user::update(cx.app(), &cx.actor, params.id, changes).await;
    let user = updated.map_err(|error| match error {
        conflict @ holdfast_app::Error::Conflict(_) => ApiError::from(conflict).or_not_found(),
        other => other.into(),
    })?;
    Ok(Body(full(user, cx.site())))
}

/// Null where there was no such user.
async fn delete(cx: Cx, params: OneUser) -> ApiResult<Body<Option<UserFull>>> {
    let user = user::delete(cx.app(), &cx.actor, params.id).await?;
    Ok(Body(user.map(|user| full(user, cx.site()))))
}

params! {
    struct BlockedUser {
        required uid: UserId,
    }
}

/// True if the state changed, false if it already was so.
async fn block(cx: Cx, params: BlockedUser) -> ApiResult<Body<bool>> {
    Ok(Body(user::block(cx.app(), &cx.actor, params.uid).await?))
}

async fn unblock(cx: Cx, params: BlockedUser) -> ApiResult<Body<bool>> {
    Ok(Body(user::unblock(cx.app(), &cx.actor, params.uid).await?))
}

pub fn routes(routes: &mut Routes) {
    let (read, manage) = (Access::Instance(ReadUsers), Access::Instance(ManageUsers));
    routes.add(Method::GET, "/users", read, "Lists users, newest first", list);
    routes.add(Method::GET, "/users/:id", read, "Shows a user", show);
    routes.add(Method::POST, "/users", manage, "Creates a user", create);
    routes.add(Method::PUT, "/users/:id", manage, "Changes a user", update);
    routes.add(Method::DELETE, "/users/:id", manage, "Deletes a user", delete);
    routes.add(Method::PUT, "/users/:uid/block", manage, "Blocks a user", block);
    routes.add(Method::PUT, "/users/:uid/unblock", manage, "Lifts the block of a user", unblock);
}
