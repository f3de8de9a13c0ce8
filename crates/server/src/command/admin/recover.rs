//! Pushes that the database has forgotten.

use anyhow::bail;
use clap::Args;
use holdfast_app::repository::receipt::Receipt;
use holdfast_app::repository::recovery::{self, State, Wanted};
use holdfast_app::{Actor, App};

use super::{explain, print};

#[derive(Args)]
pub struct Arguments {
    /// Bring back what can be; without this it is only listed.
    #[arg(long)]
    apply: bool,
    /// Also what the database knows to be begun and not finished. Some of these pushes may have been refused, or broken off
    /// by who pushed.
    #[arg(long)]
    unfinished: bool,
    /// Look at these objects alone, for example at one of those that are at odds; may be repeated.
    #[arg(long, value_name = "OBJECT")]
    only: Vec<String>,
}

pub async fn run(app: &App, arguments: Arguments) -> anyhow::Result<()> {
    let wanted = Wanted { unfinished: arguments.unfinished, only: arguments.only };
    let found = recovery::search(app, &Actor::Operator, &wanted).await.map_err(explain)?;
    let (mut done, mut open, mut failed) = (0, 0, 0);
    for lost in &found.lost {
        let part = |refs: usize| match lost.receipt.moves.len().saturating_sub(refs) {
            0 => String::new(),
            left => format!(", but for {left} of its refs, which are elsewhere"),
        };
        let text = match &lost.state {
            State::Applicable { .. } if arguments.apply => match recovery::apply(app, lost).await {
                Ok(refs) => {
                    done += 1;
                    format!("is back{}", part(refs))
                }
                Err(error) => {
                    failed += 1;
                    format!("could not be brought back: {}", explain(error))
                }
            },
            State::Applicable { refs } => {
                open += 1;
                format!("can be brought back{}", part(*refs))
            }
            State::Contested { name } => {
                format!("is at odds with another one, which found {name} in the same place: choose one with --only")
            }
            State::Present => "is there: its refs are where it moved them".into(),
            State::Known => "was never lost: the log has it".into(),
            State::NoProject => "has no place: the project is not there".into(),
            State::Moved { name, is } => {
                format!("does not fit: {name} is {}", is.as_ref().map_or("gone".into(), |is| format!("at {is} now")))
            }
        };
        print(format!("{}\n  {text}\n  its objects: {}", describe(&lost.receipt), lost.key))?;
    }
    for (key, why) in &found.doubtful {
        print(format!("{key}\n  cannot be relied on: {why}"))?;
    }
    if found.left_out > 0 && wanted.only.is_empty() {
        print(format!(
            "{} pushes were begun and not finished, or are under way: --unfinished looks at them, too",
            found.left_out
        ))?;
    }
    if found.others.0 > 0 {
        let (count, bytes) = found.others;
        print(format!("{count} more objects ({bytes} bytes) are unknown and came by no push: maintenance or imports"))?;
    }
    match (done, open, failed) {
        (0, 0, 0) => print("there is nothing to bring back"),
        (done, 0, 0) => print(format!("all that could be brought back is back: {done}")),
        (done, 0, failed) => bail!("{done} came back, {failed} could not be brought back; see above"),
        (_, open, _) => print(format!("{open} pushes can be brought back: holdfast admin recover --apply")),
    }
}

fn describe(receipt: &Receipt) -> String {
    let short = |id: &Option<String>| id.as_deref().map_or("-".repeat(10), |id| id.chars().take(10).collect());
    let moves = receipt.moves.iter().take(5);
    let moves: Vec<String> = moves.map(|it| format!("{} {}..{}", it.name, short(&it.old), short(&it.new))).collect();
    let more = receipt.moves.len().saturating_sub(moves.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let who = receipt.user.map_or("nobody".into(), |id| format!("user {id}"));
    format!("{}  {}  {who}  {}{more}", receipt.at, receipt.path, moves.join(", "))
}
