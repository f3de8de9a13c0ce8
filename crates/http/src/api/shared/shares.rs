//! Deletes shares of projects with groups, for all versions of the API.

use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::share;
use holdfast_domain::ids::NamespaceId;

use super::ApiResult;
use crate::response::NoContent;
use crate::{RequestContext, params};

params! {
    pub struct OneShare {
        required id: ProjectRef,
        /// Id of the group.
        required group_id: NamespaceId,
    }
}

pub async fn delete(context: RequestContext, params: OneShare) -> ApiResult<NoContent> {
    share::delete(context.app(), &context.actor, &params.id, params.group_id).await?;
    Ok(NoContent)
}
