use axum::http::Method;
use chrono::TimeDelta;
use holdfast_app::accounts::status::{self, SetStatus};
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ReadUsers};

use super::ApiResult;
use crate::present::v4::user_status::{UserStatusBody, present_status};
use crate::response::Body;
use crate::{Access, RequestContext, Routes, choice, params};

async fn show_own(context: RequestContext, (): ()) -> ApiResult<Body<UserStatusBody>> {
    Ok(Body(present_status(status::show_own(context.app(), &context.actor).await?)))
}

params! {
    struct StatusOfUser {
        /// Id or username of the user.
        required id: String,
    }
}

async fn show(context: RequestContext, params: StatusOfUser) -> ApiResult<Body<UserStatusBody>> {
    Ok(Body(present_status(status::show(context.app(), &context.actor, &params.id).await?)))
}

choice! {
    enum Availability { NotSet = "not_set", Busy = "busy" }
}

choice! {
    /// How long a status is shown.
    enum ClearAfter {
        HalfHour = "30_minutes",
        ThreeHours = "3_hours",
        EightHours = "8_hours",
        OneDay = "1_day",
        ThreeDays = "3_days",
        SevenDays = "7_days",
        ThirtyDays = "30_days",
    }
}

impl ClearAfter {
    const fn duration(self) -> TimeDelta {
        match self {
            Self::HalfHour => TimeDelta::minutes(30),
            Self::ThreeHours => TimeDelta::hours(3),
            Self::EightHours => TimeDelta::hours(8),
            Self::OneDay => TimeDelta::days(1),
            Self::ThreeDays => TimeDelta::days(3),
            Self::SevenDays => TimeDelta::days(7),
            Self::ThirtyDays => TimeDelta::days(30),
        }
    }
}

params! {
    /// The new status. What is absent is removed from the one before.
    struct SetOwnStatus {
        /// Name of an emoji, without colons; `speech_balloon` by default.
        optional emoji: String,
        /// One line of at most 100 characters.
        optional message: String,
        optional availability: Availability,
        /// When the status ends by itself. By default it does not.
        optional clear_status_after: ClearAfter,
    }
}

async fn set_own(context: RequestContext, params: SetOwnStatus) -> ApiResult<Body<UserStatusBody>> {
    let input = SetStatus {
        emoji: params.emoji,
        message: params.message,
        is_busy: params.availability == Some(Availability::Busy),
        clear_after: params.clear_status_after.map(ClearAfter::duration),
    };
    Ok(Body(present_status(status::set_own(context.app(), &context.actor, input).await?)))
}

pub fn routes(routes: &mut Routes) {
    let own = Access::Instance(ManageOwnAccount);
    routes.add(Method::GET, "/user/status", own, "Get the status of the current user", show_own);
    routes.add(Method::PUT, "/user/status", own, "Set the status of the current user", set_own);
    routes.add(Method::GET, "/users/:id/status", Access::Instance(ReadUsers), "Get the status of a user", show);
}
