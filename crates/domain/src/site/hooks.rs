//! Paths of the pages about hooks, which a project and the instance have alike.

use std::fmt::Display;

use super::ProjectLinks;

/// The paths of the pages about the hooks of a project or of the instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookLinks {
    list: String,
}

impl HookLinks {
    /// Creates the paths for the hooks of a project.
    pub fn for_project(links: &ProjectLinks) -> Self {
        Self { list: links.settings_page("hooks") }
    }

    /// Creates the paths for the system hooks of the instance.
    pub fn for_instance() -> Self {
        Self { list: "/admin/hooks".to_owned() }
    }

    /// Returns the path of the list.
    pub fn list(&self) -> &str {
        &self.list
    }

    /// Returns the path of the form that creates a hook.
    pub fn new_hook(&self) -> String {
        format!("{}/new", self.list)
    }

    /// Returns the path of a hook with its deliveries.
    pub fn hook(&self, id: impl Display) -> String {
        format!("{}/{id}", self.list)
    }

    /// Returns the path of an action on a hook, such as `delete`.
    pub fn hook_action(&self, id: impl Display, action: &str) -> String {
        format!("{}/{action}", self.hook(id))
    }

    /// Returns the path of a delivery by its sequence number.
    pub fn delivery(&self, id: impl Display, sequence: impl Display) -> String {
        format!("{}/deliveries/{sequence}", self.hook(id))
    }

    /// Returns the path of an action on a delivery: `replay` or `resume`.
    pub fn delivery_action(&self, id: impl Display, sequence: impl Display, action: &str) -> String {
        format!("{}/{action}", self.delivery(id, sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_projects_and_of_the_instance_have_the_same_pages() {
        let of_project = HookLinks::for_project(&ProjectLinks::new("a/b"));
        assert_eq!(of_project.delivery(7, 12), "/a/b/settings/hooks/7/deliveries/12");
        assert_eq!(of_project.hook_action(7, "delete"), "/a/b/settings/hooks/7/delete");
        assert_eq!(HookLinks::for_instance().delivery_action(7, 12, "replay"), "/admin/hooks/7/deliveries/12/replay");
        assert_eq!(HookLinks::for_instance().new_hook(), "/admin/hooks/new");
    }
}
