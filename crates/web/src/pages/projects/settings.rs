//! The general settings of a project.

use holdfast_app::Error;
use holdfast_app::projects::project::{self, FeatureChanges, ProjectChanges};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::{Field, Violations, Visibility};
use holdfast_http_core::{Access, params};

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::projects::settings::{SettingsValues, settings_page};

pub fn declare(pages: &mut Pages) {
    const PATH: &str = "/:namespace/:project/settings/general";
    let update_project = Access::Project(ProjectAction::Update);
    let archive_project = Access::Project(ProjectAction::Archive);
    pages.get(PATH, update_project, Cost::Cheap, "Settings", show).api("GET /projects/:id");
    pages.post(PATH, update_project, Cost::Normal, "Save the settings", update).api("PUT /projects/:id");
    pages
        .post("/:namespace/:project/settings/archive", archive_project, Cost::Normal, "Archive", archive)
        .api("POST /projects/:id/archive");
    pages
        .post("/:namespace/:project/settings/unarchive", archive_project, Cost::Normal, "Unarchive", unarchive)
        .api("POST /projects/:id/unarchive");
}

params! {
    struct SettingsForm {
        flatten project: ProjectPathParams,
        /// Absent if the viewer may not rename the project.
        optional name: String,
        /// The last part of the address. Every form has it. An empty one is rejected, so that a request without fields
        /// does not switch off all features.
        optional new_path: String,
        optional description: String,
        optional default_branch: String,
        optional visibility_level: Visibility,
        optional issues_enabled: bool,
        optional builds_enabled: bool,
        optional shared_runners_enabled: bool,
        optional public_builds: bool,
        optional request_access_enabled: bool,
        optional only_allow_merge_if_build_succeeds: bool,
        optional only_allow_merge_if_all_discussions_are_resolved: bool,
    }
}

async fn show(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let project = project::show_for_update(context.app(), &context.actor, &path.reference()).await?;
    ensure_address(&context, &project)?;
    let abilities = Abilities::new(&project, &context.actor);
    let layout = context.layout_with_id(project.id.get());
    let values = SettingsValues::from(&project);
    respond::html(&settings_page(layout, &project, abilities, values, &Violations::default()))
}

async fn update(context: RequestContext, form: SettingsForm) -> PageResult {
    let new_path = form.new_path.unwrap_or_default();
    let features = FeatureChanges {
        issues_enabled: Some(form.issues_enabled.unwrap_or_default()),
        builds_enabled: Some(form.builds_enabled.unwrap_or_default()),
        shared_runners_enabled: Some(form.shared_runners_enabled.unwrap_or_default()),
        public_builds: Some(form.public_builds.unwrap_or_default()),
        request_access_enabled: Some(form.request_access_enabled.unwrap_or_default()),
        only_allow_merge_if_build_succeeds: Some(form.only_allow_merge_if_build_succeeds.unwrap_or_default()),
        only_allow_merge_if_all_discussions_are_resolved: Some(
            form.only_allow_merge_if_all_discussions_are_resolved.unwrap_or_default(),
        ),
        ..FeatureChanges::default()
    };
    let changes = ProjectChanges {
        name: form.name.clone().map_or(Field::Absent, Field::Value),
        path: Field::Value(new_path.clone()),
        description: Field::Value(form.description.clone().unwrap_or_default()),
        visibility: form.visibility_level,
        default_branch: form.default_branch.clone().filter(|branch| !branch.is_empty()),
        features,
        import_url: None,
    };
    let reference = form.project.reference();
    let updated = if new_path.is_empty() {
        project::show_for_update(context.app(), &context.actor, &reference).await?;
        Err(Error::Invalid(Violations::single("path", "can't be blank")))
    } else {
        project::update(context.app(), &context.actor, &reference, changes).await
    };
    match updated {
        Ok(project) => {
            let page = respond::see_other(ProjectLinks::new(&project.full_path()).settings());
            Ok(page.with_flash(FlashCode::SettingsSaved))
        }
        Err(Error::Invalid(violations)) => {
            let project = project::show_for_update(context.app(), &context.actor, &reference).await?;
            let abilities = Abilities::new(&project, &context.actor);
            let current = SettingsValues::from(&project);
            let values = SettingsValues {
                name: form.name.unwrap_or(current.name),
                path: new_path,
                description: form.description.unwrap_or_default(),
                default_branch: form.default_branch.unwrap_or(current.default_branch),
                visibility: form.visibility_level.unwrap_or(current.visibility),
                features,
            };
            let layout = context.layout_with_id(project.id.get());
            respond::rejected(&settings_page(layout, &project, abilities, values, &violations))
        }
        Err(error) => Err(error.into()),
    }
}

async fn archive(context: RequestContext, path: ProjectPathParams) -> PageResult {
    set_archived(context, &path, true).await
}

async fn unarchive(context: RequestContext, path: ProjectPathParams) -> PageResult {
    set_archived(context, &path, false).await
}

async fn set_archived(context: RequestContext, path: &ProjectPathParams, is_archived: bool) -> PageResult {
    let project = project::set_archived(context.app(), &context.actor, &path.reference(), is_archived).await?;
    let page = respond::see_other(ProjectLinks::new(&project.full_path()).settings());
    Ok(page.with_flash(if is_archived { FlashCode::ProjectArchived } else { FlashCode::ProjectUnarchived }))
}
