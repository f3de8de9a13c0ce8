//! Links to the archives of a revision.

use holdfast_app::repository::browse::archive::ArchiveFormat;

use crate::views::ProjectLinks;

#[derive(Clone, Debug)]
pub struct ArchiveLink {
    /// The suffix of the file.
    pub format: &'static str,
    pub url: String,
}

/// The formats that pages offer. A plain tar archive is only larger.
const OFFERED: [ArchiveFormat; 3] = [ArchiveFormat::Zip, ArchiveFormat::TarGz, ArchiveFormat::TarBz2];

/// Returns the links to the archives of a revision.
pub fn archive_links(links: &ProjectLinks, revision: &str) -> Vec<ArchiveLink> {
    let link = |format: ArchiveFormat| {
        let format = format.suffix();
        ArchiveLink { format, url: links.archive(revision, format) }
    };
    OFFERED.into_iter().map(link).collect()
}
