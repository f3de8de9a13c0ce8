use axum::http::Method;
use chrono::{Days, NaiveDate, NaiveTime};
use holdfast_app::accounts::user;
use holdfast_app::activity::feed::{self, Period};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ReadUsers};
use holdfast_domain::policy::ProjectAction::Read;

use super::ApiResult;
use crate::present::v4::event::{FeedEvent, present_event};
use crate::response::PageBody;
use crate::{Access, RequestContext, Routes, params};

params! {
    /// What all lists of events have in common.
    struct EventFilter {
        /// Only events before this day, as `YYYY-MM-DD`.
        optional before: NaiveDate,
        /// Only events after this day, as `YYYY-MM-DD`.
        optional after: NaiveDate,
    }
}

impl EventFilter {
    fn into_period(self) -> Period {
        let midnight = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
        let next_day = |day: NaiveDate| day.checked_add_days(Days::new(1)).unwrap_or(day);
        Period { from: self.after.map(next_day).map(midnight), until: self.before.map(midnight) }
    }
}

async fn list_own(context: RequestContext, params: EventFilter) -> ApiResult<PageBody<FeedEvent>> {
    let page = feed::list_own_in(context.app(), &context.actor, params.into_period(), context.page).await?;
    Ok(PageBody(page.map(|event| present_event(event, context.site()))))
}

params! {
    struct ProjectEvents {
        required id: ProjectRef,
        flatten filter: EventFilter,
    }
}

async fn list_for_project(context: RequestContext, params: ProjectEvents) -> ApiResult<PageBody<FeedEvent>> {
    let period = params.filter.into_period();
    let page = feed::list_for_project_in(context.app(), &context.actor, &params.id, period, context.page).await?;
    Ok(PageBody(page.map(|event| present_event(event, context.site()))))
}

params! {
    struct UserEvents {
        /// User id or username.
        required id: String,
        flatten filter: EventFilter,
    }
}

async fn list_for_user(context: RequestContext, params: UserEvents) -> ApiResult<PageBody<FeedEvent>> {
    let period = params.filter.into_period();
    let user = match params.id.parse::<i64>() {
        Ok(id) => UserId::from(id),
        Err(_) => user::show_profile(context.app(), &context.actor, &params.id).await?.id,
    };
    let page = feed::list_for_user_in(context.app(), &context.actor, user, period, context.page).await?;
    Ok(PageBody(page.map(|event| present_event(event, context.site()))))
}

pub fn routes(routes: &mut Routes) {
    let (read, users) = (Access::Project(Read), Access::Instance(ReadUsers));
    let own = Access::Instance(ManageOwnAccount);
    routes.add(Method::GET, "/events", own, "List the events of the current user", list_own);
    routes.add(Method::GET, "/projects/:id/events", read, "List project events", list_for_project);
    routes.add(Method::GET, "/users/:id/events", users, "List user events", list_for_user);
}
