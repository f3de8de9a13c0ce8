use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::git_output::GitOutput;
use super::shared_response::{ResponseReader, Retained, SharedResponse};
use super::state::Budget;
use super::{FetchKey, SharedFetches};
use crate::Error;

const CHUNK_SIZE: usize = 64 << 10;
const LARGE_DISK: u64 = 1 << 30;

/// Sets its flag when it is dropped together with the output of git.
struct DropFlag(Arc<AtomicBool>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns an output with this many chunks, each filled with another byte.
fn git_output(chunks: usize, dropped: &Arc<AtomicBool>) -> GitOutput {
    let drop_flag = DropFlag(dropped.clone());
    let chunks = (0..chunks).map(|n| Ok(Bytes::from(vec![n as u8; CHUNK_SIZE])));
    stream::iter(chunks).chain(stream::once(async move { drop(drop_flag) }).filter_map(async |()| None)).boxed()
}

fn expected(chunks: usize) -> Vec<u8> {
    (0..chunks).flat_map(|n| vec![n as u8; CHUNK_SIZE]).collect()
}

async fn read_rest(reader: &mut ResponseReader) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(part) = reader.next(|_| ()).await? {
        all.extend_from_slice(&part);
    }
    Ok(all)
}

struct Fixture {
    budget: Arc<Budget>,
    directory: tempfile::TempDir,
    dropped: Arc<AtomicBool>,
    starts: AtomicU64,
}

impl Fixture {
    fn new(disk: u64) -> Self {
        Self {
            budget: Arc::new(Budget::new(disk)),
            directory: tempfile::tempdir().unwrap(),
            dropped: Arc::default(),
            starts: AtomicU64::new(0),
        }
    }

    fn response(&self) -> Arc<SharedResponse> {
        SharedResponse::new(&self.budget, self.directory.path().to_owned(), false)
    }

    async fn start(&self, reader: &mut ResponseReader, chunks: usize) {
        let start = async {
            self.starts.fetch_add(1, Ordering::Relaxed);
            Ok(git_output(chunks, &self.dropped))
        };
        assert!(reader.ensure_started(start).await.unwrap());
    }
}

#[tokio::test]
async fn a_small_response_is_computed_once_and_retained() {
    let fixture = Fixture::new(LARGE_DISK);
    let response = fixture.response();
    let (mut one, mut two) = (response.join().unwrap(), response.join().unwrap());
    fixture.start(&mut one, 10).await;
    fixture.start(&mut two, 10).await;
    assert_eq!(fixture.starts.load(Ordering::Relaxed), 1);
    let first = one.next(|_| ()).await.unwrap().unwrap();
    assert_eq!(read_rest(&mut two).await.unwrap(), expected(10));
    assert_eq!(response.retained(), Some(Retained::InMemory(10 * CHUNK_SIZE as u64)));
    assert!(fixture.dropped.load(Ordering::Relaxed), "what git held is let go of at the end");
    assert_eq!([first.to_vec(), read_rest(&mut one).await.unwrap()].concat(), expected(10));
    assert_eq!(read_rest(&mut response.join().unwrap()).await.unwrap(), expected(10));
}

#[tokio::test]
async fn a_large_shared_response_is_spilled_to_disk() {
    let fixture = Fixture::new(LARGE_DISK);
    let response = fixture.response();
    let (mut fast, mut slow) = (response.join().unwrap(), response.join().unwrap());
    fixture.start(&mut fast, 200).await;
    for _ in 0..150 {
        fast.next(|_| ()).await.unwrap().unwrap();
    }
    assert!(fixture.budget.memory() <= 2 << 20, "{} bytes in memory", fixture.budget.memory());
    // The temporary file has no name, and readers can still join.
    assert_eq!(std::fs::read_dir(fixture.directory.path()).unwrap().count(), 0);
    let mut late = response.join().unwrap();
    let first_chunk = slow.next(|_| ()).await.unwrap().unwrap();
    assert_eq!(read_rest(&mut fast).await.unwrap().len(), 50 * CHUNK_SIZE);
    assert_eq!(read_rest(&mut late).await.unwrap(), expected(200));
    assert!(read_rest(&mut slow).await.unwrap() == expected(200)[first_chunk.len()..], "it goes on where it was");
    assert_eq!(response.retained(), Some(Retained::InFile(200 * CHUNK_SIZE as u64)));
    drop((fast, slow, late, response));
    assert_eq!((fixture.budget.memory(), fixture.budget.disk()), (0, 0));
}

#[tokio::test]
async fn a_large_response_with_one_reader_is_not_retained() {
    let fixture = Fixture::new(LARGE_DISK);
    let response = fixture.response();
    let mut reader = response.join().unwrap();
    fixture.start(&mut reader, 200).await;
    for _ in 0..100 {
        reader.next(|_| ()).await.unwrap().unwrap();
    }
    assert!(response.join().is_none(), "what was is forgotten");
    assert!(fixture.budget.memory() <= CHUNK_SIZE as u64);
    assert_eq!(read_rest(&mut reader).await.unwrap(), expected(200)[100 * CHUNK_SIZE..]);
    assert_eq!((response.retained(), fixture.budget.disk()), (None, 0));
}

#[tokio::test]
async fn an_aborted_response_fails_for_all_readers() {
    let fixture = Fixture::new(LARGE_DISK);
    let response = fixture.response();
    let (mut one, mut two) = (response.join().unwrap(), response.join().unwrap());
    let broken = stream::iter([Ok(Bytes::from_static(b"some")), Err(io::Error::other("git failed"))]).boxed();
    assert!(one.ensure_started(async { Ok(broken) }).await.unwrap());
    assert!(read_rest(&mut one).await.is_err());
    assert!(read_rest(&mut two).await.is_err());
    assert!(response.join().is_none());
    assert_eq!(response.retained(), None);
}

#[tokio::test]
async fn git_is_killed_when_the_last_reader_disconnects() {
    let fixture = Fixture::new(LARGE_DISK);
    let response = fixture.response();
    let (mut one, mut two) = (response.join().unwrap(), response.join().unwrap());
    fixture.start(&mut one, 100).await;
    drop(response);
    one.next(|_| ()).await.unwrap();
    drop(one);
    two.next(|_| ()).await.unwrap();
    assert!(!fixture.dropped.load(Ordering::Relaxed));
    drop(two);
    assert!(fixture.dropped.load(Ordering::Relaxed));
}

#[tokio::test]
async fn the_next_reader_starts_git_if_the_first_disconnects() {
    let fixture = Fixture::new(LARGE_DISK);
    let response = fixture.response();
    let (mut one, mut two) = (response.join().unwrap(), response.join().unwrap());
    {
        let mut pending_start = std::pin::pin!(one.ensure_started(std::future::pending()));
        assert!(futures_util::poll!(&mut pending_start).is_pending());
    }
    drop(one);
    fixture.start(&mut two, 3).await;
    assert_eq!(read_rest(&mut two).await.unwrap(), expected(3));
}

#[tokio::test]
async fn a_failed_start_is_reported_and_other_readers_retry() {
    let response = Fixture::new(LARGE_DISK).response();
    let (mut one, mut two) = (response.join().unwrap(), response.join().unwrap());
    assert!(one.ensure_started(async { Err(Error::Unauthenticated) }).await.is_err());
    assert!(!two.ensure_started(async { unreachable!("it is given up") }).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_drops_only_slow_readers() {
    let fixture = Fixture::new(5 << 20);
    let response = fixture.response();
    let (mut fast, mut slow, mut stuck) =
        (response.join().unwrap(), response.join().unwrap(), response.join().unwrap());
    fixture.start(&mut fast, 200).await;
    stuck.next(|_| ()).await.unwrap();
    let (fast, slow) = tokio::join!(read_rest(&mut fast), read_rest(&mut slow));
    assert_eq!(fast.unwrap(), expected(200));
    assert_eq!(slow.unwrap(), expected(200));
    assert!(read_rest(&mut stuck).await.is_err());
    assert!(fixture.budget.memory() <= 2 << 20);
}

#[tokio::test]
async fn a_late_reader_starts_a_response_that_others_share() {
    let fixture = Fixture::new(LARGE_DISK);
    let shared_fetches = Arc::new(SharedFetches::new(LARGE_DISK));
    let key = FetchKey([1; 32]);
    let join = |key| shared_fetches.join(key, fixture.directory.path().to_owned());
    let (mut first, is_shared) = join(key);
    assert!(!is_shared);
    fixture.start(&mut first, 200).await;
    for _ in 0..100 {
        first.next(|_| ()).await.unwrap();
    }
    let (mut second, is_shared) = join(key);
    assert!(!is_shared, "the first is alone by now");
    fixture.start(&mut second, 200).await;
    for _ in 0..100 {
        second.next(|_| ()).await.unwrap();
    }
    let (third, is_shared) = join(key);
    assert!(is_shared);
    let (other, is_shared) = join(FetchKey([2; 32]));
    assert!(!is_shared && !Weak::ptr_eq(&Arc::downgrade(other.response()), &Arc::downgrade(third.response())));
    let stream = shared_fetches
        .stream_to_client(third, Some(key), async { unreachable!("it is being made") })
        .await
        .unwrap()
        .unwrap();
    let content: Vec<_> = stream.map(Result::unwrap).collect().await;
    assert_eq!(content.concat(), expected(200));
    drop((first, second));
    // The finished response is retained for late requests.
    let mut late = join(key).0;
    assert_eq!(read_rest(&mut late).await.unwrap(), expected(200));
    shared_fetches.clear();
    assert!(!join(key).1);
}
