//! Presents releases and their links.

use holdfast_app::repository::browse::archive::ArchiveFormat;
use holdfast_app::repository::refs::release::{ReleaseDetails, ReleaseLink};
use holdfast_domain::site::ProjectLinks;
use serde::Serialize;
use utoipa::ToSchema;

use super::commit::{CommitBody, present_commit};
use super::user::{UserBasic, present_basic};
use crate::InstanceUrls;
use crate::present::Timestamp;

/// The release of a tag.
#[derive(Serialize, ToSchema)]
pub struct ProjectReleaseBody {
    pub tag_name: String,
    /// The name of the tag if the release has none of its own.
    pub name: String,
    /// Release notes in Markdown.
    pub description: String,
    pub created_at: Timestamp,
    pub released_at: Timestamp,
    /// Whether the release date is in the future.
    pub upcoming_release: bool,
    /// Null if the user was deleted, or if the release was created before its author was recorded.
    pub author: Option<UserBasic>,
    /// Null if the tag does not point to a commit.
    pub commit: Option<CommitBody>,
    /// Always empty: milestones do not belong to releases.
    pub milestones: Vec<String>,
    pub commit_path: Option<String>,
    pub tag_path: String,
    pub assets: ReleaseAssets,
    /// Always empty.
    pub evidences: Vec<String>,
    #[serde(rename = "_links")]
    pub links: ReleasePages,
}

/// The files of a release.
#[derive(Serialize, ToSchema)]
pub struct ReleaseAssets {
    /// Number of archives and links.
    pub count: usize,
    pub sources: Vec<ReleaseSource>,
    pub links: Vec<ReleaseLinkBody>,
}

/// An archive of the files of a release.
#[derive(Serialize, ToSchema)]
pub struct ReleaseSource {
    pub format: &'static str,
    pub url: String,
}

/// A link of a release to a file elsewhere.
#[derive(Serialize, ToSchema)]
pub struct ReleaseLinkBody {
    pub id: i64,
    pub name: String,
    pub url: String,
    /// The same as `url`.
    pub direct_asset_url: String,
    /// `other`, `runbook`, `image` or `package`.
    pub link_type: &'static str,
}

/// The pages of a release.
#[derive(Serialize, ToSchema)]
pub struct ReleasePages {
    #[serde(rename = "self")]
    pub own: String,
}

/// The archives of a release, in the order in which they are listed.
const SOURCES: [ArchiveFormat; 4] =
    [ArchiveFormat::Zip, ArchiveFormat::TarGz, ArchiveFormat::TarBz2, ArchiveFormat::Tar];

pub fn present_release(details: ReleaseDetails, project_path: &str, site: &InstanceUrls) -> ProjectReleaseBody {
    let ReleaseDetails { release, commit, is_upcoming } = details;
    let pages = ProjectLinks::new(project_path);
    let source = |format: ArchiveFormat| ReleaseSource {
        format: format.suffix(),
        url: site.url(&pages.archive(&release.tag, format.suffix())),
    };
    let tag_path = pages.tag(&release.tag);
    ProjectReleaseBody {
        assets: ReleaseAssets {
            count: SOURCES.len() + release.links.len(),
            sources: SOURCES.map(source).into(),
            links: release.links.into_iter().map(present_link).collect(),
        },
        name: release.name.unwrap_or_else(|| release.tag.clone()),
        tag_name: release.tag,
        description: release.description,
        created_at: release.created_at.into(),
        released_at: release.released_at.into(),
        upcoming_release: is_upcoming,
        author: release.author.map(|author| present_basic(&author, site)),
        commit_path: commit.as_ref().map(|commit| pages.commit(commit.id)),
        commit: commit.map(|commit| present_commit(commit, project_path, site)),
        milestones: Vec::new(),
        evidences: Vec::new(),
        links: ReleasePages { own: site.url(&tag_path) },
        tag_path,
    }
}

pub fn present_link(link: ReleaseLink) -> ReleaseLinkBody {
    ReleaseLinkBody {
        id: link.id,
        name: link.name,
        direct_asset_url: link.url.clone(),
        url: link.url,
        link_type: link.link_type.as_str(),
    }
}
