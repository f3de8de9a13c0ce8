//! The deploy keys of a project.

use holdfast_app::Error;
use holdfast_app::projects::deploy_key::{self, CreateDeployKey, DeployKeyChanges};
use holdfast_domain::Violations;
use holdfast_domain::ids::SshKeyId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::projects::deploy_key::{
    DeployKeyValues, deploy_key_form_page, deploy_keys_page, new_deploy_key_page,
};

pub fn declare(pages: &mut Pages) {
    const LIST: &str = "/:namespace/:project/settings/deploy_keys";
    const NEW: &str = "/:namespace/:project/settings/deploy_keys/new";
    const ONE: &str = "/:namespace/:project/settings/deploy_keys/:key_id";
    const DELETE: &str = "/:namespace/:project/settings/deploy_keys/:key_id/delete";
    let manage = Access::Project(ProjectAction::ManageDeployKeys);
    pages.get(LIST, manage, Cost::Normal, "Deploy keys", list).api("GET /projects/:id/deploy_keys");
    pages.get(NEW, manage, Cost::Cheap, "New deploy key", show_new).confirmed();
    pages.post(LIST, manage, Cost::Cheap, "Add a deploy key", create).api("POST /projects/:id/deploy_keys").confirmed();
    pages.get(ONE, manage, Cost::Cheap, "Deploy key", edit).api("GET /projects/:id/deploy_keys/:key_id").confirmed();
    pages.post(ONE, manage, Cost::Cheap, "Save a deploy key", update).confirmed();
    pages
        .post(DELETE, manage, Cost::Cheap, "Remove a deploy key", delete)
        .api("DELETE /projects/:id/deploy_keys/:key_id")
        .confirmed();
}

async fn list(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let found = deploy_key::list_with_project(context.app(), &context.actor, &path.reference(), context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&deploy_keys_page(layout, &found, abilities, context.now()))
}

async fn show_new(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let project = deploy_key::show_project(context.app(), &context.actor, &path.reference()).await?;
    ensure_address(&context, &project)?;
    let abilities = Abilities::new(&project, &context.actor);
    let (values, violations) = (DeployKeyValues::default(), Violations::default());
    respond::html(&new_deploy_key_page(context.layout(), &project, abilities, values, &violations))
}

params! {
    struct CreateKey {
        flatten path: ProjectPathParams,
        optional title: String,
        optional key: String,
        optional can_push: bool,
    }
}

async fn create(context: RequestContext, CreateKey { path, title, key, can_push }: CreateKey) -> PageResult {
    let project = path.reference();
    let values = DeployKeyValues {
        title: title.unwrap_or_default(),
        key: key.unwrap_or_default(),
        can_push: can_push.unwrap_or_default(),
    };
    let input = CreateDeployKey { title: values.title.clone(), key: values.key.clone(), can_push: values.can_push };
    match deploy_key::create(context.app(), &context.actor, &project, input).await {
        Ok(_) => {
            let list = respond::see_other(path.links().settings_page("deploy_keys"));
            Ok(list.with_flash(FlashCode::DeployKeyAdded))
        }
        Err(Error::Invalid(violations)) => {
            let project = deploy_key::show_project(context.app(), &context.actor, &project).await?;
            let abilities = Abilities::new(&project, &context.actor);
            respond::rejected(&new_deploy_key_page(context.layout(), &project, abilities, values, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

params! {
    struct OneKey {
        flatten path: ProjectPathParams,
        required key_id: SshKeyId,
    }
}

async fn edit(context: RequestContext, OneKey { path, key_id }: OneKey) -> PageResult {
    let (project, key) = deploy_key::show_for_update(context.app(), &context.actor, &path.reference(), key_id).await?;
    ensure_address(&context, &project)?;
    let abilities = Abilities::new(&project, &context.actor);
    let layout = context.layout_with_record(project.id.get(), ":key_id", key_id);
    let (values, violations) = (DeployKeyValues::from(&key), Violations::default());
    respond::html(&deploy_key_form_page(layout, &project, abilities, &key, values, &violations))
}

params! {
    struct UpdateKey {
        flatten path: ProjectPathParams,
        required key_id: SshKeyId,
        optional title: String,
        optional can_push: bool,
    }
}

async fn update(context: RequestContext, UpdateKey { path, key_id, title, can_push }: UpdateKey) -> PageResult {
    let (reference, title) = (path.reference(), title.unwrap_or_default());
    let can_push = can_push.unwrap_or_default();
    let (project, key) = deploy_key::show_for_update(context.app(), &context.actor, &reference, key_id).await?;
    // The key pushes in the name of the user who allowed it, so that this is set only when it changes.
    let changes =
        DeployKeyChanges { title: Some(title.clone()), can_push: Some(can_push).filter(|new| *new != key.can_push) };
    match deploy_key::update(context.app(), &context.actor, &reference, key_id, changes).await {
        Ok(_) => {
            let list = respond::see_other(path.links().settings_page("deploy_keys"));
            Ok(list.with_flash(FlashCode::DeployKeySaved))
        }
        Err(Error::Invalid(violations)) => {
            let abilities = Abilities::new(&project, &context.actor);
            let layout = context.layout_with_record(project.id.get(), ":key_id", key_id);
            let values = DeployKeyValues { title, can_push, ..DeployKeyValues::default() };
            respond::rejected(&deploy_key_form_page(layout, &project, abilities, &key, values, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

async fn delete(context: RequestContext, OneKey { path, key_id }: OneKey) -> PageResult {
    deploy_key::delete(context.app(), &context.actor, &path.reference(), key_id).await?;
    let list = respond::see_other(path.links().settings_page("deploy_keys"));
    Ok(list.with_flash(FlashCode::DeployKeyRemoved))
}
