//! The page of a user. A group has its page elsewhere; its name alone leads there.

use holdfast_app::accounts::user;
use holdfast_app::activity::calendar;
use holdfast_app::projects::{group, list};
use holdfast_app::{Actor, Error};
use holdfast_http_core::{Access, params};

use crate::addresses::group_ref;
use crate::cost::Cost;
use crate::errors::PageError;
use crate::pages::Pages;
use crate::pages::projects::filters::ProjectFilterParams;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::accounts::user::user_page;
use crate::views::links;

pub fn declare(pages: &mut Pages) {
    // Anonymous viewers see public groups here, and are asked to sign in for every other name.
    pages.get("/:namespace", Access::Anyone, Cost::Normal, "User", show).api("GET /users/:id");
}

params! {
    struct OneNamespace {
        required namespace: String,
    }
}

async fn show(context: RequestContext, OneNamespace { namespace }: OneNamespace) -> PageResult {
    if matches!(context.actor, Actor::Anonymous(_)) {
        return match redirect_to_group(&context, &namespace).await {
            Err(PageError::App(Error::NotFound(_))) => Err(Error::Unauthenticated.into()),
            redirect => redirect,
        };
    }
    let user = match user::show_profile(context.app(), &context.actor, &namespace).await {
        Ok(user) => user,
        Err(Error::NotFound(_)) => return redirect_to_group(&context, &namespace).await,
        Err(error) => return Err(error.into()),
    };
    if user.username != namespace {
        return Err(PageError::Moved(links::user(&user.username)));
    }
    let input = ProjectFilterParams::default().into_input();
    let projects = list::list_for_user(context.app(), &context.actor, user.id, input, context.page).await?;
    let activity = calendar::show(context.app(), &context.actor, &user).await?;
    let layout = context.layout_with_id(user.id.get());
    respond::html(&user_page(layout, &user, &projects, &activity, context.now()))
}

async fn redirect_to_group(context: &RequestContext, path: &str) -> PageResult {
    let detail = group::show(context.app(), &context.actor, &group_ref(path)).await?;
    Ok(respond::see_other(links::group(&detail.group.path)))
}
