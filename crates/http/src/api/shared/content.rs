//! Blobs and archives of a repository, which are sent as they are.

use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::archive::{self, ArchiveFormat};
use holdfast_app::repository::browse::blob;

use super::ApiResult;
use crate::user_content::{ArchiveResponse, RawFile};
use crate::{RequestContext, params};

params! {
    pub struct ReadBlob {
        required id: ProjectRef,
        /// Object id of the blob, or an unambiguous prefix of it.
        required sha: String,
    }
}

pub async fn show_blob(context: RequestContext, params: ReadBlob) -> ApiResult<RawFile> {
    Ok(RawFile(blob::show(context.app(), &context.actor, &params.id, &params.sha).await?))
}

params! {
    pub struct ReadArchive {
        required id: ProjectRef,
        /// Commit, branch or tag, the default branch by default.
        optional sha: String,
    }
}

pub async fn show_archive(
    context: RequestContext,
    params: ReadArchive,
    format: ArchiveFormat,
) -> ApiResult<ArchiveResponse> {
    let archive = archive::show(context.app(), &context.actor, &params.id, params.sha.as_deref(), format).await?;
    Ok(ArchiveResponse { archive, format })
}

/// The paths of archives in both versions of the API. The suffix selects the format.
pub const ARCHIVES: [(&str, ArchiveFormat); 11] = [
    ("/projects/:id/repository/archive", ArchiveFormat::TarGz),
    ("/projects/:id/repository/archive.tar.gz", ArchiveFormat::TarGz),
    ("/projects/:id/repository/archive.tgz", ArchiveFormat::TarGz),
    ("/projects/:id/repository/archive.gz", ArchiveFormat::TarGz),
    ("/projects/:id/repository/archive.tar.bz2", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.tbz", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.tbz2", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.tb2", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.bz2", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.tar", ArchiveFormat::Tar),
    ("/projects/:id/repository/archive.zip", ArchiveFormat::Zip),
];
