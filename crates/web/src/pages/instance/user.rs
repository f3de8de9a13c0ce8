//! Users for administrators: the list, a new user, and the page of one user.

use holdfast_app::accounts::user::{self, Filter, UserChanges};
use holdfast_app::instance::account::{self, ManagedUser};
use holdfast_app::{Actor, Error};
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::{Field, Violations};
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::instance::user::{ManagedUserPage, managed_user_page};
use crate::views::instance::user_form::{UserValues, new_user_page};
use crate::views::instance::user_list::{STATES, user_list_page};
use crate::views::links;

pub fn declare(pages: &mut Pages) {
    let manage = Access::Instance(InstanceAction::ManageUsers);
    pages.get("/admin/users", manage, Cost::Normal, "Users", list).api("GET /users").confirmed();
    pages.get("/admin/users/new", manage, Cost::Cheap, "New user", show_new).confirmed();
    pages.post("/admin/users", manage, Cost::Normal, "Create a user", create).api("POST /users").confirmed();
    pages.get("/admin/users/:id", manage, Cost::Normal, "User", show).api("GET /users/:id").confirmed();
    pages.post("/admin/users/:id", manage, Cost::Normal, "Save a user", update).api("PUT /users/:id").confirmed();
    pages
        .post("/admin/users/:id/delete", manage, Cost::Normal, "Delete a user", delete)
        .api("DELETE /users/:id")
        .confirmed();
}

params! {
    struct ListUsers {
        /// A part of the username or the e-mail address.
        optional search: String,
        /// `active`, `blocked` or `external`.
        optional state: String,
    }
}

params! {
    struct UserForm {
        optional username: String,
        optional name: String,
        optional email: String,
        optional projects_limit: String,
        optional admin: bool,
        optional external: bool,
        optional can_create_group: bool,
    }
}

params! {
    struct CreateUser {
        flatten form: UserForm,
        optional password: String,
    }
}

params! {
    pub(super) struct OneUser {
        required id: UserId,
    }
}

params! {
    struct UpdateUser {
        required id: UserId,
        flatten form: UserForm,
    }
}

params! {
    struct DeleteUser {
        required id: UserId,
        /// The username of the user again, because the deletion cannot be undone.
        optional confirm_username: String,
    }
}

impl From<UserForm> for UserValues {
    fn from(form: UserForm) -> Self {
        Self {
            username: form.username.unwrap_or_default(),
            name: form.name.unwrap_or_default(),
            email: form.email.unwrap_or_default(),
            projects_limit: form.projects_limit.unwrap_or_default(),
            is_administrator: form.admin.unwrap_or_default(),
            is_external: form.external.unwrap_or_default(),
            can_create_group: form.can_create_group.unwrap_or_default(),
        }
    }
}

/// Returns the changes that a form asks for.
fn changes(values: &UserValues) -> Result<UserChanges, Error> {
    let number = values.projects_limit.trim().parse();
    let limit = number.map_err(|_| Violations::single("projects_limit", "is not a number"))?;
    Ok(UserChanges {
        username: Field::Value(values.username.clone()),
        name: Field::Value(values.name.clone()),
        email: Field::Value(values.email.clone()),
        projects_limit: Some(limit),
        admin: Some(values.is_administrator),
        external: Some(values.is_external),
        can_create_group: Some(values.can_create_group),
        ..UserChanges::default()
    })
}

async fn list(context: RequestContext, ListUsers { search, state }: ListUsers) -> PageResult {
    let search = search.unwrap_or_default();
    let known = STATES.iter().map(|(word, _)| *word).find(|word| Some(*word) == state.as_deref());
    let state = known.unwrap_or_default();
    let filter = Filter {
        search: Some(search.clone()).filter(|search| !search.is_empty()),
        active: state == "active",
        blocked: state == "blocked",
        external: state == "external",
        ..Filter::default()
    };
    let users = account::list(context.app(), &context.actor, filter, context.page).await?;
    respond::html(&user_list_page(context.layout(), &users, &search, state, context.now()))
}

async fn show_new(context: RequestContext, (): ()) -> PageResult {
    account::authorize_management(&context.actor)?;
    let settings = &context.app().settings;
    let values = UserValues {
        username: String::new(),
        name: String::new(),
        email: String::new(),
        projects_limit: settings.projects_limit.to_string(),
        is_administrator: false,
        is_external: false,
        can_create_group: settings.can_create_group,
    };
    respond::html(&new_user_page(context.layout(), values, &Violations::default()))
}

async fn create(context: RequestContext, CreateUser { form, password }: CreateUser) -> PageResult {
    // The permission is checked first, so that an invalid form tells nothing to those who may not send it.
    account::authorize_management(&context.actor)?;
    let values = UserValues::from(form);
    let created = match changes(&values) {
        Ok(changes) => {
            let password = Field::Value(password.unwrap_or_default());
            user::create(context.app(), &context.actor, UserChanges { password, ..changes }).await
        }
        Err(error) => Err(error),
    };
    match created.map_err(user::conflict_as_violation) {
        Ok(user) => Ok(respond::see_other(links::admin_user(user.id)).with_flash(FlashCode::UserCreated)),
        Err(Error::Invalid(violations)) => respond::rejected(&new_user_page(context.layout(), values, &violations)),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether a user is not the viewer.
pub(super) fn is_other(actor: &Actor, id: UserId) -> bool {
    actor.user_id() != Some(id)
}

async fn show(context: RequestContext, OneUser { id }: OneUser) -> PageResult {
    respond::html(&page(&context, id, None, &Violations::default()).await?)
}

/// Builds the page of a user, with the values that were entered or those of the user.
pub(super) async fn page(
    context: &RequestContext,
    id: UserId,
    values: Option<UserValues>,
    violations: &Violations,
) -> Result<ManagedUserPage, Error> {
    let managed: ManagedUser = account::show(context.app(), &context.actor, id).await?;
    let values = values.unwrap_or_else(|| UserValues::from(&managed.user));
    let layout = context.layout_with_id(id.get());
    Ok(managed_user_page(layout, &managed, values, is_other(&context.actor, id), violations, context.now()))
}

async fn update(context: RequestContext, UpdateUser { id, form }: UpdateUser) -> PageResult {
    let values = UserValues::from(form);
    // The permission is checked first, so that an invalid form tells nothing to those who may not send it.
    account::authorize_management(&context.actor)?;
    let updated = match changes(&values) {
        Ok(changes) => {
            // The form of the own account has no such box.
            let admin = changes.admin.filter(|_| is_other(&context.actor, id));
            user::update(context.app(), &context.actor, id, UserChanges { admin, ..changes }).await
        }
        Err(error) => Err(error),
    };
    match updated.map_err(user::conflict_as_violation) {
        Ok(_) => Ok(respond::see_other(links::admin_user(id)).with_flash(FlashCode::UserSaved)),
        Err(Error::Invalid(violations)) => respond::rejected(&page(&context, id, Some(values), &violations).await?),
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, DeleteUser { id, confirm_username }: DeleteUser) -> PageResult {
    let managed = account::show(context.app(), &context.actor, id).await?;
    if !is_other(&context.actor, id) {
        return Err(Error::Forbidden(Some("Another administrator has to delete your account")).into());
    }
    if confirm_username.unwrap_or_default().trim() != managed.user.username {
        let violations = Violations::single("confirm_username", "is not the one of this user");
        return respond::rejected(&page(&context, id, None, &violations).await?);
    }
    match user::delete(context.app(), &context.actor, id).await {
        Ok(_) => Ok(respond::see_other("/admin/users").with_flash(FlashCode::UserDeleted)),
        // The page names the groups that the user alone owns, and has no form then.
        Err(Error::Conflict(_)) => Ok(respond::see_other(links::admin_user(id)).with_flash(FlashCode::UserOwnsGroups)),
        Err(error) => Err(error.into()),
    }
}
