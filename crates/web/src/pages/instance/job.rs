//! The background jobs, for administrators.

use holdfast_app::Error;
use holdfast_app::worker::job;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::instance::job_list::jobs_page;

/// The maximum number of jobs that the page shows. Arbitrary.
const MAX_JOBS: i64 = 100;

pub fn declare(pages: &mut Pages) {
    let operate = Access::Instance(InstanceAction::OperateInstance);
    pages.get("/admin/jobs", operate, Cost::Normal, "Jobs", list).confirmed();
    pages.post("/admin/jobs/:id/retry", operate, Cost::Cheap, "Retry a job", retry).confirmed();
}

params! {
    struct OneJob {
        required id: i64,
    }
}

async fn list(context: RequestContext, (): ()) -> PageResult {
    let report = job::report(context.app(), &context.actor, MAX_JOBS).await?;
    respond::html(&jobs_page(context.layout(), &report, MAX_JOBS, context.now()))
}

async fn retry(context: RequestContext, OneJob { id }: OneJob) -> PageResult {
    let flash = match job::retry(context.app(), &context.actor, id.into()).await {
        Ok(()) => FlashCode::JobRetried,
        // The job may have finished since the page was loaded.
        Err(Error::NotFound(_)) => FlashCode::JobNotRetried,
        Err(error) => return Err(error.into()),
    };
    Ok(respond::see_other("/admin/jobs").with_flash(flash))
}
