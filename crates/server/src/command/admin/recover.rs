//! The command `admin recover`: lists and re-applies pushes that are in the object store but not in the database.

use anyhow::bail;
use clap::Args;
use holdfast_app::repository::recovery::{self, LostPushState, ObjectTotals, PushFilter};
use holdfast_app::repository::transfer::receipt::Receipt;
use holdfast_app::{Actor, App};
use holdfast_store::objects::Options;

use super::{cli_error, print};
use crate::configuration::Configuration;

#[derive(Args)]
pub struct Arguments {
    /// Restore the pushes that can be restored. Without this they are only listed.
    #[arg(long)]
    apply: bool,
    /// Include pushes that the database knows as started and not finished. Some of them may have been rejected by the
    /// server, or aborted by the client.
    #[arg(long)]
    unfinished: bool,
    /// Consider only this object, for example to select one of several conflicting pushes. Can be repeated.
    #[arg(long, value_name = "OBJECT")]
    only: Vec<String>,
}

pub async fn run(configuration: &Configuration, app: &App, arguments: Arguments) -> anyhow::Result<()> {
    let (database, storage) = (configuration.database_location(), &configuration.storage.url);
    // Opening the object store would create the directory.
    if let Options::Directory(directory) = configuration.storage.options()?
        && !directory.is_dir()
    {
        bail!("the directory {} does not exist: set storage.url to the object store of before", directory.display());
    }
    print(format!("searching {storage} for pushes that are not in the database {database}"))?;
    let scope = PushFilter { includes_unfinished: arguments.unfinished, only_keys: arguments.only };
    let found = recovery::search(app, &Actor::Operator, &scope).await.map_err(cli_error)?;
    let (mut done, mut open, mut failed) = (0, 0, 0);
    for lost in &found.lost {
        let part = |refs: usize| match lost.receipt.ref_updates.len().saturating_sub(refs) {
            0 => String::new(),
            left => format!(", except {left} of its refs, which have other values now"),
        };
        let text = match &lost.state {
            LostPushState::Applicable { .. } if arguments.apply => {
                match recovery::apply(app, &Actor::Operator, lost).await {
                    Ok(refs) => {
                        done += 1;
                        format!("restored{}", part(refs))
                    }
                    Err(error) => {
                        failed += 1;
                        format!("cannot be restored: {}", cli_error(error))
                    }
                }
            }
            LostPushState::Applicable { refs } => {
                open += 1;
                format!("can be restored{}", part(*refs))
            }
            LostPushState::Contested { name } => {
                format!(
                    "cannot be restored: it conflicts with another push to {name} from the same base; select one with \
                     --only"
                )
            }
            LostPushState::Present => "is not lost: the refs have the values of this push".into(),
            LostPushState::Logged => "is not lost: it is in the ref log".into(),
            LostPushState::NoProject => "cannot be restored: the project does not exist".into(),
            LostPushState::RefChanged { name, current: is } => {
                format!(
                    "cannot be restored: {name} is {}",
                    is.as_ref().map_or("missing".into(), |is| format!("now at {is}"))
                )
            }
        };
        print(format!("{}\n  {text}\n  object: {}", describe(&lost.receipt), lost.key))?;
    }
    for (key, why) in &found.untrusted {
        print(format!("{key}\n  cannot be checked: {why}"))?;
    }
    if found.filtered_out > 0 && scope.only_keys.is_empty() {
        print(format!(
            "{} pushes were started and not finished, or are still running; --unfinished includes them",
            found.filtered_out
        ))?;
    }
    if found.without_receipt.count > 0 {
        let ObjectTotals { count, bytes } = found.without_receipt;
        print(format!(
            "{count} more objects ({bytes} bytes) without a receipt are not in the database: from maintenance or imports"
        ))?;
    }
    if found.objects == 0 {
        print("the object store has no packs; check storage.url")?;
    }
    match (done, open, failed) {
        (0, 0, 0) => print("no pushes to restore")?,
        (done, 0, 0) => print(format!("{} restored", count_pushes(done)))?,
        (done, 0, failed) => bail!("{} restored, {failed} cannot be restored; see above", count_pushes(done)),
        (_, open, _) => {
            let pushes = count_pushes(open);
            print(format!("{pushes} can be restored; restore with `holdfast admin recover --apply`"))?
        }
    }
    match found.untrusted.first() {
        None => Ok(()),
        Some((_, why)) => bail!("{} cannot be checked: {why}", count_pushes(found.untrusted.len())),
    }
}

fn count_pushes(count: usize) -> String {
    if count == 1 { "1 push".into() } else { format!("{count} pushes") }
}

fn describe(receipt: &Receipt) -> String {
    let short = |id: &Option<String>| id.as_deref().map_or("-".repeat(10), |id| id.chars().take(10).collect());
    let updates = receipt.ref_updates.iter().take(5);
    let updates: Vec<String> =
        updates.map(|it| format!("{} {}..{}", it.name, short(&it.old), short(&it.new))).collect();
    let more = receipt.ref_updates.len().saturating_sub(updates.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let user = receipt.user.map_or("no user".into(), |id| format!("user {id}"));
    format!("{}  {}  {user}  {}{more}", receipt.at, receipt.path, updates.join(", "))
}
