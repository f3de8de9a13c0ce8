//! What is done once a day.

use chrono::TimeDelta;
use holdfast_domain::activity::Action;
use holdfast_store::activity::{event, partition};
use holdfast_store::commit;
use holdfast_store::projects::{expiry, upload};
use holdfast_store::worker::job;

use super::removal::remove_objects;
use crate::projects::notice;
use crate::{App, Result};

pub async fn sweep(app: &App) -> Result<()> {
    let now = app.clock.now();
    let mut connection = app.database.connection().await?;
    partition::make(&mut connection, now.date_naive()).await?;
    job::forget(&mut connection, now - TimeDelta::days(30)).await?;
    drop(connection);
    loop {
        let mut connection = app.database.connection().await?;
        let some = upload::some_unfinished(&mut connection, now - TimeDelta::days(1), 100).await?;
        drop(connection);
        if some.is_empty() {
            break;
        }
        remove_objects(app, some).await?;
    }
    remove_expired_members(app).await
}

/// A membership that has run out counts for nothing already; here it leaves the table, and the feed tells of it.
async fn remove_expired_members(app: &App) -> Result<()> {
    loop {
        let now = app.clock.now();
        let mut transaction = app.database.begin().await?;
        let expired = expiry::take_expired_members(&mut transaction, app.today(), 100).await?;
        for (project, user, level) in &expired {
            let found = crate::projects::project::load(app, &mut transaction, *project, None).await;
            if let Ok(found) = found {
                let left = notice::left(&found, user, *level);
                event::record(&mut transaction, *project, user.id, Action::Expired, &left, now).await?;
            }
        }
        commit(transaction).await?;
        if expired.is_empty() {
            return Ok(());
        }
    }
}
