//! The links between the settings of a project.

use holdfast_app::projects::project::Project;

use crate::abilities::Abilities;
use crate::views::ProjectLinks;

/// The navigation of the settings, as `parts/settings_nav.html` shows it. Pages that the viewer may not open are left
/// out.
#[derive(Clone, Debug)]
pub struct SettingsNav {
    pub links: ProjectLinks,
    pub abilities: Abilities,
}

impl SettingsNav {
    pub fn new(project: &Project, abilities: Abilities) -> Self {
        Self { links: ProjectLinks::new(&project.full_path()), abilities }
    }
}
