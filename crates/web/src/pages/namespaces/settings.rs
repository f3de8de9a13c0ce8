//! The settings of a group, and its deletion.

use holdfast_app::Error;
use holdfast_app::namespaces::group::{self, GroupChanges};
use holdfast_app::namespaces::group_settings::{self, GroupSettings};
use holdfast_domain::policy::GroupAction;
use holdfast_domain::{Field, Violations, Visibility};
use holdfast_http_core::{Access, params};

use super::address::{GroupPathParams, ensure_group_address};
use crate::abilities::GroupAbilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::links;
use crate::views::namespaces::settings::{GroupSettingsValues, group_deletion_page, group_settings_page};

pub fn declare(pages: &mut Pages) {
    const PATH: &str = "/groups/:group/settings";
    const DELETE_PATH: &str = "/groups/:group/settings/delete_group";
    let update_group = Access::Group(GroupAction::Update);
    let delete_group = Access::Group(GroupAction::Delete);
    pages.get(PATH, update_group, Cost::Cheap, "Settings", show).api("GET /groups/:id");
    pages.post(PATH, update_group, Cost::Normal, "Save the settings", update).api("PUT /groups/:id");
    pages.get(DELETE_PATH, delete_group, Cost::Cheap, "Delete the group", show_deletion).confirmed();
    pages
        .post(DELETE_PATH, delete_group, Cost::Normal, "Delete the group", delete)
        .api("DELETE /groups/:id")
        .confirmed();
}

fn abilities(context: &RequestContext, found: &GroupSettings) -> GroupAbilities {
    GroupAbilities::new(&found.group, found.level, &context.actor)
}

async fn show(context: RequestContext, path: GroupPathParams) -> PageResult {
    let found = group_settings::show(context.app(), &context.actor, &path.reference()).await?;
    ensure_group_address(&context, &found.group)?;
    let layout = context.layout_with_id(found.group.id.get());
    let values = GroupSettingsValues::from(&found.group);
    respond::html(&group_settings_page(layout, &found, abilities(&context, &found), values, &Violations::default()))
}

params! {
    struct GroupSettingsForm {
        flatten group: GroupPathParams,
        optional name: String,
        optional path: String,
        optional description: String,
        optional visibility_level: Visibility,
        optional request_access_enabled: bool,
    }
}

async fn update(context: RequestContext, form: GroupSettingsForm) -> PageResult {
    let reference = form.group.reference();
    let accepts_requests = form.request_access_enabled.unwrap_or_default();
    let (name, path) = (form.name.unwrap_or_default(), form.path.unwrap_or_default());
    let description = form.description.unwrap_or_default();
    let changes = GroupChanges {
        name: Field::Value(name.clone()),
        path: Field::Value(path.clone()),
        description: Field::Value(description.clone()),
        visibility: form.visibility_level,
        request_access_enabled: Some(accepts_requests),
        lfs_enabled: None,
    };
    match group::update(context.app(), &context.actor, &reference, changes).await {
        Ok(group) => {
            let page = links::group_page(&group.path, "settings");
            Ok(respond::see_other(page).with_flash(FlashCode::SettingsSaved))
        }
        Err(Error::Invalid(violations)) => {
            let found = group_settings::show(context.app(), &context.actor, &reference).await?;
            let visibility = form.visibility_level.unwrap_or(found.group.visibility);
            let values = GroupSettingsValues { name, path, description, visibility, accepts_requests };
            let layout = context.layout_with_id(found.group.id.get());
            let abilities = abilities(&context, &found);
            respond::rejected(&group_settings_page(layout, &found, abilities, values, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

async fn show_deletion(context: RequestContext, path: GroupPathParams) -> PageResult {
    let found = group_settings::show_for_deletion(context.app(), &context.actor, &path.reference()).await?;
    ensure_group_address(&context, &found.group)?;
    let abilities = abilities(&context, &found);
    let (layout, typed) = (context.layout(), String::new());
    respond::html(&group_deletion_page(layout, &found, abilities, typed, &Violations::default()))
}

params! {
    struct DeleteGroup {
        flatten path: GroupPathParams,
        /// The path of the group, which the user has to type.
        optional confirm_path: String,
    }
}

async fn delete(context: RequestContext, DeleteGroup { path, confirm_path }: DeleteGroup) -> PageResult {
    let (reference, typed) = (path.reference(), confirm_path.unwrap_or_default());
    let found = group_settings::show_for_deletion(context.app(), &context.actor, &reference).await?;
    if typed.trim() != found.group.path {
        let violations = Violations::single("confirm_path", "is not the path of this group");
        let abilities = abilities(&context, &found);
        let layout = context.layout_with_id(found.group.id.get());
        return respond::rejected(&group_deletion_page(layout, &found, abilities, typed, &violations));
    }
    group::delete(context.app(), &context.actor, &reference).await?;
    Ok(respond::see_other("/groups").with_flash(FlashCode::GroupDeleted))
}
