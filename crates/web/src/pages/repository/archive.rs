//! Archives of the files of a revision.

use holdfast_app::repository::browse::archive::{self, ArchiveFormat};
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, OCTET_STREAM, UserContent};

use super::address::RevisionPathParams;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages
        .get("/:namespace/:project/archive/*rest", read, Cost::Heavy, "Archive", show)
        .api("GET /projects/:id/repository/archive");
}

/// Responds with an archive. The end of the address, such as `.tar.gz`, is its format, and the rest is the revision.
async fn show(context: RequestContext, RevisionPathParams { project, rest }: RevisionPathParams) -> PageResult {
    let (revision, format) = split_format(&rest).ok_or(Error::NotFound(Resource::File))?;
    let found = archive::show(context.app(), &context.actor, &project.reference(), Some(revision), format).await?;
    ensure_address(&context, &found.project)?;
    let user_content = UserContent {
        content_type: if format == ArchiveFormat::Zip { "application/zip" } else { OCTET_STREAM },
        bytes: None,
        attachment: Some(found.file_name),
        cache_control: "private, no-cache",
    };
    Ok(respond::complete(user_content.respond(found.content)))
}

fn split_format(name: &str) -> Option<(&str, ArchiveFormat)> {
    let split = |format: ArchiveFormat| Some((name.strip_suffix(format.suffix())?.strip_suffix('.')?, format));
    ArchiveFormat::ALL.into_iter().find_map(split).filter(|(revision, _)| !revision.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_of_an_archive_is_its_format() {
        assert_eq!(split_format("main.tar.gz"), Some(("main", ArchiveFormat::TarGz)));
        assert_eq!(split_format("feature/x.tar"), Some(("feature/x", ArchiveFormat::Tar)));
        assert_eq!(split_format("v1.2.tar.bz2"), Some(("v1.2", ArchiveFormat::TarBz2)));
        assert_eq!(split_format("v1.zip"), Some(("v1", ArchiveFormat::Zip)));
        for wrong in ["main", "main.rar", ".zip", "zip"] {
            assert_eq!(split_format(wrong), None, "{wrong}");
        }
    }
}
