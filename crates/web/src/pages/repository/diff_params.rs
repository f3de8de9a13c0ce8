//! The parameters of pages with a diff.

use holdfast_app::repository::browse::changes::FileSelection;
use holdfast_http_core::params;

use crate::views::repository::diff::DiffLayout;

params! {
    pub struct DiffParams {
        /// `split` for two columns.
        optional view: String,
        /// The path of the only file to show.
        optional file: String,
        /// The path of the file before the first one to show.
        optional after: String,
        /// The generation of a ref update whose values are shown even if no ref reaches them.
        optional update: i64,
    }
}

impl DiffParams {
    pub fn layout(&self) -> DiffLayout {
        if self.view.as_deref() == Some("split") { DiffLayout::Split } else { DiffLayout::Unified }
    }

    pub fn selection(&self) -> FileSelection {
        let path =
            |text: &Option<String>| text.as_ref().filter(|path| !path.is_empty()).map(|path| path.as_bytes().to_vec());
        match (path(&self.file), path(&self.after)) {
            (Some(path), _) => FileSelection::Only(path),
            (None, Some(path)) => FileSelection::After(path),
            (None, None) => FileSelection::First,
        }
    }
}
