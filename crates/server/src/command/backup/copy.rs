//! Copies objects from one object store to another.

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
pub struct CopySummary {
    /// Number of objects that were copied because the target did not have them.
    pub count: u64,
    pub bytes: u64,
    /// Keys of objects that the source does not have.
    pub missing: Vec<String>,
}

enum CopyOutcome {
    Present,
    Copied(u64),
    Missing(String),
}

const MAX_CONCURRENT_COPIES: usize = 8;
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Copies all objects that the file lists and the target does not have yet. Prints the progress every five seconds.
pub async fn copy(source: &Objects, target: &Objects, list: &Path, total: u64) -> anyhow::Result<CopySummary> {
    let lines = BufReader::new(File::open(list).await?).lines();
    let keys = stream::try_unfold(lines, |mut lines| async move {
        let key = lines.next_line().await?;
        std::io::Result::Ok(key.map(|key| (key, lines)))
    });
    let (done, bytes) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let outcomes = keys
        .map(|key| async move {
            let outcome = copy_object(source, target, key?).await?;
            done.fetch_add(1, Ordering::Relaxed);
            if let CopyOutcome::Copied(count) = outcome {
                bytes.fetch_add(count, Ordering::Relaxed);
            }
            anyhow::Ok(outcome)
        })
        .buffer_unordered(MAX_CONCURRENT_COPIES);
    let work = outcomes.try_fold(CopySummary::default(), |mut summary, outcome| async move {
        match outcome {
            CopyOutcome::Present => {}
            CopyOutcome::Copied(bytes) => {
                summary.count += 1;
                summary.bytes += bytes;
            }
            CopyOutcome::Missing(key) => summary.missing.push(key),
        }
        Ok(summary)
    });
    let mut work = std::pin::pin!(work);
    let mut interval = tokio::time::interval(PROGRESS_INTERVAL);
    interval.tick().await;
    loop {
        tokio::select! {
            copied = &mut work => return copied,
            _ = interval.tick() => {
                let (done, bytes) = (done.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
                print(format!("{done} of {total} objects, {} MB copied", bytes >> 20))?;
            }
        }
    }
}

async fn copy_object(source: &Objects, target: &Objects, key: String) -> anyhow::Result<CopyOutcome> {
    let describe = || format!("cannot copy {key}");
    if target.size(&key).await.with_context(describe)?.is_some() {
        return Ok(CopyOutcome::Present);
    }
    let Some(mut content) = source.get(&key).await.with_context(describe)? else {
        return Ok(CopyOutcome::Missing(key));
    };
    let mut sink = target.writer(&key)?;
    let mut bytes = 0;
    let copying = async {
        while let Some(chunk) = content.try_next().await? {
            bytes += chunk.len() as u64;
            sink.write(chunk).await?;
        }
        anyhow::Ok(())
    };
    match copying.await {
        Ok(()) => sink.finish().await.with_context(describe)?,
        Err(error) => {
            sink.abort().await;
            return Err(error.context(describe()));
        }
    }
    Ok(CopyOutcome::Copied(bytes))
}
