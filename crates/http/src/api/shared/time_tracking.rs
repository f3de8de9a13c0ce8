//! Estimated and spent time of issues and merge requests. The versions differ in how a path names the target.

use holdfast_app::planning::note::NoteTarget;
use holdfast_app::planning::time_tracking::{self, TimeChange};
use holdfast_app::projects::project::ProjectRef;

use super::ApiResult;
use crate::RequestContext;
use crate::present::time_stats::{TimeStatsBody, present_time_stats};

pub async fn show(context: &RequestContext, id: &ProjectRef, target: NoteTarget) -> ApiResult<TimeStatsBody> {
    let stats = time_tracking::show(context.app(), &context.actor, id, target).await?;
    Ok(present_time_stats(stats))
}

pub async fn update(
    context: &RequestContext,
    id: &ProjectRef,
    target: NoteTarget,
    change: TimeChange,
) -> ApiResult<TimeStatsBody> {
    let stats = time_tracking::update(context.app(), &context.actor, id, target, change).await?;
    Ok(present_time_stats(stats))
}

/// Declares the routes of the times of one kind of target. Only what adds something responds 201.
///
/// `$One` are the parameters in the path. They have the `id` of the project and a function `find_target`.
macro_rules! time_routes {
    ($module:ident, $One:ident, $path:literal, $what:literal) => {
        mod $module {
            use axum::http::Method;
            use holdfast_app::planning::time_tracking::TimeChange;

            use super::$One;
            use crate::api::ApiResult;
            use crate::api::shared::time_tracking;
            use crate::present::time_stats::TimeStatsBody;
            use crate::response::{Body, Created};
            use crate::{Access, RequestContext, Routes, params};

            params! {
                struct WithDuration {
                    flatten target: $One,
                    /// Duration such as `3h30m`. A day has 8 hours, a week 5 days and a month (`mo`) 4 weeks.
                    required duration: String,
                }
            }

            async fn show(context: RequestContext, params: $One) -> ApiResult<Body<TimeStatsBody>> {
                let target = params.find_target(&context).await?;
                Ok(Body(time_tracking::show(&context, &params.id, target).await?))
            }

            async fn set_estimate(context: RequestContext, params: WithDuration) -> ApiResult<Body<TimeStatsBody>> {
                let target = params.target.find_target(&context).await?;
                let change = TimeChange::SetEstimate(params.duration);
                Ok(Body(time_tracking::update(&context, &params.target.id, target, change).await?))
            }

            async fn reset_estimate(context: RequestContext, params: $One) -> ApiResult<Body<TimeStatsBody>> {
                let target = params.find_target(&context).await?;
                Ok(Body(time_tracking::update(&context, &params.id, target, TimeChange::ResetEstimate).await?))
            }

            async fn add_spent(context: RequestContext, params: WithDuration) -> ApiResult<Created<TimeStatsBody>> {
                let target = params.target.find_target(&context).await?;
                let change = TimeChange::AddSpent(params.duration);
                Ok(Created(time_tracking::update(&context, &params.target.id, target, change).await?))
            }

            async fn reset_spent(context: RequestContext, params: $One) -> ApiResult<Body<TimeStatsBody>> {
                let target = params.find_target(&context).await?;
                Ok(Body(time_tracking::update(&context, &params.id, target, TimeChange::ResetSpent).await?))
            }

            pub fn routes(routes: &mut Routes, read: Access, write: Access) {
                let path = concat!($path, "/time_stats");
                routes.add(Method::GET, path, read, concat!("Get the times of ", $what), show);
                let path = concat!($path, "/time_estimate");
                routes.add(Method::POST, path, write, concat!("Set the time estimate of ", $what), set_estimate);
                let path = concat!($path, "/reset_time_estimate");
                routes.add(Method::POST, path, write, concat!("Remove the time estimate of ", $what), reset_estimate);
                let path = concat!($path, "/add_spent_time");
                routes.add(Method::POST, path, write, concat!("Add spent time to ", $what), add_spent);
                let path = concat!($path, "/reset_spent_time");
                routes.add(Method::POST, path, write, concat!("Remove the spent time of ", $what), reset_spent);
            }
        }
    };
}

pub(in crate::api) use time_routes;
