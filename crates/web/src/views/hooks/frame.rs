//! The frame of the pages about hooks: the settings of a project, or the administration of the instance.

use holdfast_app::projects::project::Project;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::instance::admin_nav::admin_frame;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::projects::settings_nav::SettingsNav;
use crate::views::{HookLinks, ProjectLinks};

/// The project of a page with what the viewer may do in it, or None for the hooks of the instance.
pub type HookProject<'a> = Option<(&'a Project, Abilities)>;

/// What all pages about hooks show around their content.
pub struct HookFrame {
    pub layout: Layout,
    /// None for the hooks of the instance.
    pub nav: Option<SettingsNav>,
    pub links: HookLinks,
}

/// Returns the frame of a page with this title.
pub fn hook_frame(layout: Layout, project: HookProject<'_>, title: &str) -> HookFrame {
    match project {
        Some((project, abilities)) => {
            let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
            layout.title = format!("{title} · {}", project.full_path());
            let links = HookLinks::for_project(&ProjectLinks::new(&project.full_path()));
            HookFrame { layout, nav: Some(SettingsNav::new(project, abilities)), links }
        }
        None => {
            let links = HookLinks::for_instance();
            HookFrame { layout: admin_frame(layout, title), nav: None, links }
        }
    }
}
