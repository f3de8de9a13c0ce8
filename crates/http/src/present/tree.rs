//! Presents the entries of directories in a repository.

use holdfast_app::repository::browse::tree::{EntryKind, TreeEntry};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub struct TreeEntryBody {
    pub id: String,
    pub name: String,
    /// `tree`, `blob`, or `commit` for a submodule.
    pub r#type: &'static str,
    /// Path from the root of the repository.
    pub path: String,
    pub mode: String,
}

pub fn tree_entry(entry: TreeEntry) -> TreeEntryBody {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    TreeEntryBody {
        id: entry.id.to_string(),
        name: text(entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()),
        r#type: match entry.kind() {
            EntryKind::Directory => "tree",
            EntryKind::File => "blob",
            EntryKind::Submodule => "commit",
        },
        path: text(&entry.path),
        mode: format!("{:06o}", entry.mode),
    }
}
