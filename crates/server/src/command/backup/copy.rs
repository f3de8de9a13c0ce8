//! Copying objects from one store to another.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::{StreamExt, TryStreamExt, stream};
use holdfast_store::Objects;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, BufReader};

use super::print;

#[derive(Default)]
pub struct Copied {
    /// Those that were not there before.
    pub count: u64,
    pub bytes: u64,
    /// Those that the source does not have.
    pub missing: Vec<String>,
}

enum Outcome {
    Here,
    Copied(u64),
    Missing(String),
}

const AT_ONCE: usize = 8;
const NEWS: Duration = Duration::from_secs(5);

/// All that the file lists and the target does not have yet. Says now and then how far it is.
pub async fn copy(source: &Objects, target: &Objects, list: &Path, total: u64) -> anyhow::Result<Copied> {
    let lines = BufReader::new(File::open(list).await?).lines();
    let keys = stream::try_unfold(lines, |mut lines| async move {
        let key = lines.next_line().await?;
        std::io::Result::Ok(key.map(|key| (key, lines)))
    });
    let (done, bytes) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let outcomes = keys
        .map(|key| async move {
            let outcome = one(source, target, key?).await?;
            done.fetch_add(1, Ordering::Relaxed);
            if let Outcome::Copied(count) = outcome {
                bytes.fetch_add(count, Ordering::Relaxed);
            }
            anyhow::Ok(outcome)
        })
        .buffer_unordered(AT_ONCE);
    let work = outcomes.try_fold(Copied::default(), |mut all, outcome| async move {
        match outcome {
            Outcome::Here => {}
            Outcome::Copied(bytes) => {
                all.count += 1;
                all.bytes += bytes;
            }
            Outcome::Missing(key) => all.missing.push(key),
        }
        Ok(all)
    });
    let mut work = std::pin::pin!(work);
    let mut every = tokio::time::interval(NEWS);
    every.tick().await;
    loop {
        tokio::select! {
            copied = &mut work => return copied,
            _ = every.tick() => {
                let (done, bytes) = (done.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
                print(format!("{done} of {total} objects, {} MB copied", bytes >> 20))?;
            }
        }
    }
}

async fn one(source: &Objects, target: &Objects, key: String) -> anyhow::Result<Outcome> {
    let what = || format!("cannot copy {key}");
    if target.size(&key).await.with_context(what)?.is_some() {
        return Ok(Outcome::Here);
    }
    let Some(mut content) = source.get(&key).await.with_context(what)? else { return Ok(Outcome::Missing(key)) };
    let mut sink = target.sink(&key)?;
    let mut bytes = 0;
    let copying = async {
        while let Some(some) = content.try_next().await? {
            bytes += some.len() as u64;
            sink.write(some).await?;
        }
        anyhow::Ok(())
    };
    match copying.await {
        Ok(()) => sink.finish().await.with_context(what)?,
        Err(error) => {
            sink.abort().await;
            return Err(error.context(what()));
        }
    }
    Ok(Outcome::Copied(bytes))
}
