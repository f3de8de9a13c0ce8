//! Closes issues that commits on the default branch name with a closing pattern. The push enqueues a job, which acts on
//! behalf of the user who pushed.

use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_store::worker::close_issues::IssueClosure;

use super::issue;
use crate::accounts::user;
use crate::{App, Error, Result};

/// Closes the issues that the user may close. Others are skipped.
pub(crate) async fn run(app: &App, project: ProjectId, user: UserId, issue_closures: Vec<IssueClosure>) -> Result<()> {
    let Some(actor) = user::actor_for_user(app, user).await? else { return Ok(()) };
    for IssueClosure { commit, iids } in issue_closures {
        for iid in iids {
            match issue::close(app, &actor, project, iid, commit.clone()).await {
                Ok(()) | Err(Error::NotFound(_) | Error::Forbidden(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
