//! The menu that leads from a page about code to the same page at another branch or tag.

use holdfast_app::repository::refs::ref_address::DefaultBranch;

use super::commit_line::short_revision;
use crate::views::ProjectLinks;

/// A page about a path of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeView {
    Tree,
    Blob,
    Blame,
    Commits,
}

impl CodeView {
    /// Returns the view with this text in the form of the menu, or the directory for any other text.
    pub fn from_str_or_tree(text: &str) -> Self {
        [Self::Blob, Self::Blame, Self::Commits].into_iter().find(|view| view.as_str() == text).unwrap_or(Self::Tree)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Blame => "blame",
            Self::Commits => "commits",
        }
    }

    /// Returns the address of the page for a path of a revision.
    pub fn url(self, links: &ProjectLinks, revision: &str, path: &str) -> String {
        match self {
            Self::Tree => links.tree(revision, path),
            Self::Blob => links.blob(revision, path),
            Self::Blame => links.blame(revision, path),
            Self::Commits => links.commits(revision, path),
        }
    }
}

/// The menu with the default branch, a form for any other revision, and the lists of branches and tags.
#[derive(Clone, Debug)]
pub struct RefSwitch {
    /// The revision of the page. The whole id of a commit is shortened.
    pub shown: String,
    /// The revision as the address names it.
    pub revision: String,
    /// The name of the default branch with its address, if there is one.
    pub default_branch: Option<(String, String)>,
    /// The address of the form, which redirects to the page at another revision.
    pub form_url: String,
    pub view: &'static str,
    pub path: String,
    pub branches_url: String,
    pub tags_url: String,
}

impl RefSwitch {
    /// Creates the menu of a page about a path of a revision.
    pub fn new(
        links: &ProjectLinks,
        default_branch: Option<&DefaultBranch>,
        view: CodeView,
        revision: &str,
        path: &str,
    ) -> Self {
        // A path may be missing in the default branch. The list of its commits is empty then; other pages do not exist.
        let default_url = |branch: &DefaultBranch| match view {
            CodeView::Commits => links.commits(&branch.address, path),
            CodeView::Tree | CodeView::Blob | CodeView::Blame => links.tree(&branch.address, ""),
        };
        Self {
            shown: short_revision(revision).to_owned(),
            revision: revision.to_owned(),
            default_branch: default_branch.map(|branch| (branch.name.clone(), default_url(branch))),
            form_url: links.trees(),
            view: view.as_str(),
            path: path.to_owned(),
            branches_url: links.branches(),
            tags_url: links.tags(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_leads_to_its_page() {
        let links = ProjectLinks::new("a/b");
        for view in [CodeView::Tree, CodeView::Blob, CodeView::Blame, CodeView::Commits] {
            assert_eq!(CodeView::from_str_or_tree(view.as_str()), view);
            assert_eq!(view.url(&links, "v1", "src"), format!("/a/b/{}/v1/src", view.as_str()));
        }
        assert_eq!(CodeView::from_str_or_tree("nothing"), CodeView::Tree);
    }
}
