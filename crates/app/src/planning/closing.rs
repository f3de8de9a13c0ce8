//! Commits on the default branch that say which issues they close. The push queues a job, which acts for who pushed.

use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_store::worker::closing::Closing;

use super::issue;
use crate::accounts::user;
use crate::{App, Error, Result};

/// What cannot be closed by that user is left alone.
pub async fn run(app: &App, project: ProjectId, user: UserId, closings: Vec<Closing>) -> Result<()> {
    let Some(actor) = user::acting(app, user).await? else { return Ok(()) };
    for Closing { commit, iids } in closings {
        for iid in iids {
            match issue::close(app, &actor, project, iid, commit.clone()).await {
                Ok(()) | Err(Error::NotFound(_) | Error::Forbidden(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
