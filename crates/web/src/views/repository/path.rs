//! The path of a file or directory as links to its parents.

use super::commit_line::short_revision;
use crate::views::ProjectLinks;

/// A path within a revision.
#[derive(Clone, Debug)]
pub struct PathView {
    /// The revision. The whole id of a commit is shortened.
    pub revision: String,
    /// The name of the project, which leads to the root directory.
    pub root: String,
    pub root_url: String,
    /// The directories above the last segment.
    pub parents: Vec<PathSegment>,
    /// The last segment, or an empty text for the root directory.
    pub name: String,
    /// The whole path.
    pub full: String,
}

#[derive(Clone, Debug)]
pub struct PathSegment {
    pub name: String,
    pub url: String,
}

impl PathView {
    pub fn new(project_name: &str, links: &ProjectLinks, revision: &str, path: &str) -> Self {
        let path = path.trim_matches('/');
        let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut parents = Vec::new();
        for (end, _) in format!("{directories}/").match_indices('/').filter(|(end, _)| *end > 0) {
            let directory = &directories[..end];
            let name = directory.rsplit('/').next().unwrap_or_default();
            parents.push(PathSegment { name: name.to_owned(), url: links.tree(revision, directory) });
        }
        Self {
            revision: short_revision(revision).to_owned(),
            root: project_name.to_owned(),
            root_url: links.tree(revision, ""),
            parents,
            name: name.to_owned(),
            full: path.to_owned(),
        }
    }

    pub fn is_root(&self) -> bool {
        self.full.is_empty()
    }

    /// Returns the address of the directory above, or `None` at the root.
    pub fn parent_url(&self) -> Option<&str> {
        if self.is_root() {
            return None;
        }
        Some(self.parents.last().map_or(self.root_url.as_str(), |parent| parent.url.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_above_is_a_link() {
        let links = ProjectLinks::new("a/b");
        let path = PathView::new("b", &links, "main", "src/views/mod.rs");
        let urls: Vec<&str> = path.parents.iter().map(|parent| parent.url.as_str()).collect();
        assert_eq!(urls, ["/a/b/tree/main/src", "/a/b/tree/main/src/views"]);
        assert_eq!((path.name.as_str(), path.parent_url()), ("mod.rs", Some("/a/b/tree/main/src/views")));
        let top = PathView::new("b", &links, "main", "README.md");
        assert_eq!((top.parents.len(), top.parent_url()), (0, Some("/a/b/tree/main")));
        let root = PathView::new("b", &links, "main", "");
        assert!(root.is_root() && root.parent_url().is_none());
    }
}
