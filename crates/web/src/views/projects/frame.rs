//! The frame of all pages of a project: its path in the header, and its tabs.

use holdfast_app::projects::project::Project;
use holdfast_domain::namespaces::NamespaceKind;

use crate::abilities::Abilities;
use crate::layout::{Crumb, Layout, Tab};
use crate::views::{ProjectLinks, links};

/// A tab of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectTab {
    Code,
    Issues,
    MergeRequests,
    Board,
    Pipelines,
    RefLog,
    Settings,
}

/// Returns the frame with the path and the tabs of a project. Tabs that the viewer may not open are left out.
pub fn project_frame(mut layout: Layout, project: &Project, abilities: Abilities, current: ProjectTab) -> Layout {
    let project_links = ProjectLinks::new(&project.full_path());
    let is_group = project.namespace.kind == NamespaceKind::Group;
    layout.crumbs = vec![
        Crumb { label: project.namespace.name.clone(), url: Some(links::namespace(&project.namespace.path, is_group)) },
        Crumb { label: project.name.clone(), url: Some(project_links.home().to_owned()) },
    ];
    let tab = |tab: ProjectTab, label, url, count| Tab { label, url, is_current: tab == current, count };
    layout.tabs = vec![tab(ProjectTab::Code, "Code", project_links.home().to_owned(), None)];
    if abilities.can_read_issues {
        let count = Some(i64::from(project.open_issues(false))).filter(|count| *count > 0);
        layout.tabs.push(tab(ProjectTab::Issues, "Issues", project_links.issues(), count));
    }
    if abilities.can_read_merge_requests {
        let label = "Merge requests";
        layout.tabs.push(tab(ProjectTab::MergeRequests, label, project_links.merge_requests(), None));
    }
    if abilities.can_read_issues {
        layout.tabs.push(tab(ProjectTab::Board, "Board", project_links.board(), None));
    }
    if abilities.can_read_builds {
        layout.tabs.push(tab(ProjectTab::Pipelines, "Pipelines", project_links.pipelines(), None));
    }
    if abilities.can_read_ref_log {
        layout.tabs.push(tab(ProjectTab::RefLog, "Ref log", project_links.refs(), None));
    }
    if abilities.can_update {
        layout.tabs.push(tab(ProjectTab::Settings, "Settings", project_links.settings(), None));
    }
    layout
}
