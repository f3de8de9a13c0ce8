//! The command `admin recover`: lists and re-applies pushes that are in the object store but not in the database.

use anyhow::bail;
use clap::Args;
use holdfast_app::repository::recovery::{self, LostPushState, ObjectTotals, PushFilter};
use holdfast_app::repository::transfer::receipt::Receipt;
use holdfast_app::{Actor, App};

use super::{cli_error, print};

#[derive(Args)]
pub struct Arguments {
    /// Re-apply the pushes that can be restored. Without this they are only listed.
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

pub async fn run(app: &App, arguments: Arguments) -> anyhow::Result<()> {
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
                        format!("failed: {}", cli_error(error))
                    }
                }
            }
            LostPushState::Applicable { refs } => {
                open += 1;
                format!("can be restored{}", part(*refs))
            }
            LostPushState::Contested { name } => {
                format!("conflicts with another push to {name} from the same base; select one with --only")
            }
            LostPushState::Present => "already applied: the refs have the values of this push".into(),
            LostPushState::Logged => "already in the ref log".into(),
            LostPushState::NoProject => "project not found".into(),
            LostPushState::RefChanged { name, current: is } => {
                format!(
                    "cannot be applied: {name} is {}",
                    is.as_ref().map_or("missing".into(), |is| format!("now at {is}"))
                )
            }
        };
        print(format!("{}\n  {text}\n  object: {}", describe(&lost.receipt), lost.key))?;
    }
    for (key, why) in &found.untrusted {
        print(format!("{key}\n  receipt not trusted: {why}"))?;
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
    match (done, open, failed) {
        (0, 0, 0) => print("no pushes to restore"),
        (done, 0, 0) => print(format!("pushes restored: {done}")),
        (done, 0, failed) => bail!("{done} pushes restored, {failed} failed; see above"),
        (_, open, _) => {
            print(format!("{open} pushes can be restored; apply them with `holdfast admin recover --apply`"))
        }
    }
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
