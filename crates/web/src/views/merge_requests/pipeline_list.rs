//! The pipelines of a merge request.

use askama::Template;
use holdfast_app::merge_requests::page::RequestPage;
use holdfast_app::merge_requests::pipeline::RequestPipeline;
use holdfast_domain::page::Page;

use super::frame::{RequestHead, RequestTab, RequestViewer, request_frame};
use crate::layout::Layout;
use crate::views::repository::commit_line::short_id;
use crate::views::status::StatusView;
use crate::views::{Pages, ProjectLinks};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "merge_requests/pipelines.html")]
pub struct RequestPipelinesPage {
    pub layout: Layout,
    pub head: RequestHead,
    pub pipelines: Vec<PipelineRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct PipelineRow {
    pub id: i64,
    pub url: String,
    pub status: StatusView,
    pub short_id: String,
    pub duration: Option<String>,
    pub created: Time,
}

pub fn request_pipelines_page(
    layout: Layout,
    page: &RequestPage,
    pipelines: &Page<RequestPipeline>,
    viewer: RequestViewer,
) -> RequestPipelinesPage {
    let links = ProjectLinks::new(&page.project.full_path());
    let (layout, head) = request_frame(layout, page, viewer, RequestTab::Pipelines);
    let row = |pipeline: &RequestPipeline| {
        let duration = pipeline.started_at.zip(pipeline.finished_at).map(|(start, end)| (end - start).num_seconds());
        PipelineRow {
            id: pipeline.id.get(),
            url: ProjectLinks::new(&pipeline.project_path).pipeline(pipeline.id),
            status: pipeline.status.into(),
            short_id: short_id(&pipeline.sha).to_owned(),
            duration: duration.map(words::duration),
            created: Time::age(pipeline.created_at, viewer.now),
        }
    };
    RequestPipelinesPage {
        layout,
        head,
        pipelines: pipelines.items.iter().map(row).collect(),
        pages: Pages::new(pipelines, &links.merge_request_page(page.request.iid, "pipelines"), &[]),
    }
}
