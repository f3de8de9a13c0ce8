//! The form that creates a group.

use holdfast_app::Error;
use holdfast_app::namespaces::group::{self, GroupChanges};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::{Field, Violations, Visibility};
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::links;
use crate::views::namespaces::new_group::{NewGroupValues, new_group_page};

pub fn declare(pages: &mut Pages) {
    let create_group = Access::Instance(InstanceAction::CreateGroup);
    pages.get("/groups/new", create_group, Cost::Cheap, "New group", show);
    pages.post("/groups/new", create_group, Cost::Normal, "Create a group", create).api("POST /groups");
}

params! {
    struct CreateGroupForm {
        optional name: String,
        optional path: String,
        optional description: String,
        optional visibility_level: Visibility,
    }
}

async fn show(context: RequestContext, (): ()) -> PageResult {
    let can_create = group::can_create(&context.actor);
    respond::html(&new_group_page(context.layout(), NewGroupValues::default(), &Violations::default(), can_create))
}

async fn create(context: RequestContext, form: CreateGroupForm) -> PageResult {
    let values = NewGroupValues {
        name: form.name.unwrap_or_default(),
        path: form.path.unwrap_or_default(),
        description: form.description.unwrap_or_default(),
        visibility: form.visibility_level.unwrap_or(Visibility::Private),
    };
    let changes = GroupChanges {
        name: Field::Value(values.name.clone()),
        path: Field::Value(values.path.clone()),
        description: Field::Value(values.description.clone()),
        visibility: Some(values.visibility),
        ..GroupChanges::default()
    };
    match group::create(context.app(), &context.actor, changes).await {
        Ok(group) => Ok(respond::see_other(links::group(&group.path)).with_flash(FlashCode::GroupCreated)),
        Err(Error::Invalid(violations)) => {
            respond::rejected(&new_group_page(context.layout(), values, &violations, true))
        }
        Err(error) => Err(error.into()),
    }
}
