//! The sections of the files of a diff, as a stream of HTML.

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use holdfast_app::repository::browse::changes::Changes;

use crate::views::repository::diff::{DiffAddress, interrupted, section_html};

/// Renders the sections of the files, one at a time. If the diff fails, the last part says so.
pub fn file_sections(changes: Changes, address: DiffAddress) -> BoxStream<'static, String> {
    let Changes { listing, diffs, .. } = changes;
    let state = (diffs, Arc::new(address), listing.files.into_iter().enumerate());
    let sections = stream::unfold(Some(state), |state| async {
        let (mut diffs, address, mut files) = state?;
        let (index, file) = files.next()?;
        match diffs.next().await.transpose() {
            Ok(change) => {
                let html = section_html(index, &file, change, &address);
                Some((html, Some((diffs, address, files))))
            }
            Err(error) => Some((interrupted(&error), None)),
        }
    });
    sections.boxed()
}

#[cfg(test)]
mod tests {
    use std::io;

    use holdfast_app::repository::browse::changes::{ChangedLines, DiffListing, FileSelection, ListedFile};
    use holdfast_domain::site::ProjectLinks;

    use super::*;
    use crate::views::repository::diff::{DiffLayout, INTERRUPTED};
    use crate::views::repository::diff_notes::DiffNotes;

    fn file() -> ListedFile {
        ListedFile {
            old_path: b"src/a.rs".to_vec(),
            new_path: b"src/a.rs".to_vec(),
            old_mode: Some("100644".into()),
            new_mode: Some("100644".into()),
            is_renamed: false,
            lines: Some(ChangedLines { added: 1, removed: 1 }),
        }
    }

    #[tokio::test]
    async fn a_diff_that_fails_ends_with_a_notice() {
        let address = DiffAddress {
            path: "/a/b/commit/1".into(),
            layout: DiffLayout::Unified,
            parameters: Vec::new(),
            links: ProjectLinks::new("a/b"),
            revision: None,
            editable_branch: None,
            notes: DiffNotes::default(),
        };
        let failing = stream::iter([Err(io::Error::other("git failed"))]).boxed();
        let mut listing = DiffListing::default();
        listing.files.extend([file(), file()]);
        let changes = Changes { selection: FileSelection::First, listing, diffs: failing };
        let parts: Vec<String> = file_sections(changes, address).collect().await;
        assert_eq!(parts, [INTERRUPTED]);
    }
}
