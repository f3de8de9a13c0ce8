use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::source::Source;
use super::spool::{Kept, Reader, Spool};
use super::state::Budget;
use super::{Answers, Key};
use crate::Error;

const CHUNK: usize = 64 << 10;
const PLENTY: u64 = 1 << 30;

/// Set when the source is dropped.
struct Ends(Arc<AtomicBool>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// So many chunks, each of another byte.
fn source(chunks: usize, dropped: &Arc<AtomicBool>) -> Source {
    let ends = Ends(dropped.clone());
    let chunks = (0..chunks).map(|n| Ok(Bytes::from(vec![n as u8; CHUNK])));
    stream::iter(chunks).chain(stream::once(async move { drop(ends) }).filter_map(async |()| None)).boxed()
}

fn expected(chunks: usize) -> Vec<u8> {
    (0..chunks).flat_map(|n| vec![n as u8; CHUNK]).collect()
}

async fn rest(reader: &mut Reader) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(part) = reader.next(|_| ()).await? {
        all.extend_from_slice(&part);
    }
    Ok(all)
}

struct World {
    budget: Arc<Budget>,
    directory: tempfile::TempDir,
    dropped: Arc<AtomicBool>,
    begun: AtomicU64,
}

impl World {
    fn new(disk: u64) -> Self {
        Self {
            budget: Arc::new(Budget::new(disk)),
            directory: tempfile::tempdir().unwrap(),
            dropped: Arc::default(),
            begun: AtomicU64::new(0),
        }
    }

    fn spool(&self) -> Arc<Spool> {
        Spool::new(&self.budget, self.directory.path().to_owned(), false)
    }

    async fn begin(&self, reader: &mut Reader, chunks: usize) {
        let start = async {
            self.begun.fetch_add(1, Ordering::Relaxed);
            Ok(source(chunks, &self.dropped))
        };
        assert!(reader.begin(start).await.unwrap());
    }
}

#[tokio::test]
async fn a_small_answer_is_made_once_and_kept() {
    let world = World::new(PLENTY);
    let spool = world.spool();
    let (mut one, mut two) = (spool.join().unwrap(), spool.join().unwrap());
    world.begin(&mut one, 10).await;
    world.begin(&mut two, 10).await;
    assert_eq!(world.begun.load(Ordering::Relaxed), 1);
    let first = one.next(|_| ()).await.unwrap().unwrap();
    assert_eq!(rest(&mut two).await.unwrap(), expected(10));
    assert_eq!(spool.kept(), Some(Kept::InMemory(10 * CHUNK as u64)));
    assert!(world.dropped.load(Ordering::Relaxed), "what git held is let go of at the end");
    assert_eq!([first.to_vec(), rest(&mut one).await.unwrap()].concat(), expected(10));
    assert_eq!(rest(&mut spool.join().unwrap()).await.unwrap(), expected(10));
}

#[tokio::test]
async fn a_large_answer_to_several_goes_into_a_file() {
    let world = World::new(PLENTY);
    let spool = world.spool();
    let (mut fast, mut slow) = (spool.join().unwrap(), spool.join().unwrap());
    world.begin(&mut fast, 200).await;
    for _ in 0..150 {
        fast.next(|_| ()).await.unwrap().unwrap();
    }
    assert!(world.budget.memory() <= 2 << 20, "{} bytes in memory", world.budget.memory());
    // The file is nowhere to be found, and nobody is too late.
    assert_eq!(std::fs::read_dir(world.directory.path()).unwrap().count(), 0);
    let mut late = spool.join().unwrap();
    let begun = slow.next(|_| ()).await.unwrap().unwrap();
    assert_eq!(rest(&mut fast).await.unwrap().len(), 50 * CHUNK);
    assert_eq!(rest(&mut late).await.unwrap(), expected(200));
    assert!(rest(&mut slow).await.unwrap() == expected(200)[begun.len()..], "it goes on where it was");
    assert_eq!(spool.kept(), Some(Kept::InFile(200 * CHUNK as u64)));
    drop((fast, slow, late, spool));
    assert_eq!((world.budget.memory(), world.budget.disk()), (0, 0));
}

#[tokio::test]
async fn a_large_answer_to_one_is_passed_on() {
    let world = World::new(PLENTY);
    let spool = world.spool();
    let mut reader = spool.join().unwrap();
    world.begin(&mut reader, 200).await;
    for _ in 0..100 {
        reader.next(|_| ()).await.unwrap().unwrap();
    }
    assert!(spool.join().is_none(), "what was is forgotten");
    assert!(world.budget.memory() <= CHUNK as u64);
    assert_eq!(rest(&mut reader).await.unwrap(), expected(200)[100 * CHUNK..]);
    assert_eq!((spool.kept(), world.budget.disk()), (None, 0));
}

#[tokio::test]
async fn what_breaks_off_is_whole_for_nobody() {
    let world = World::new(PLENTY);
    let spool = world.spool();
    let (mut one, mut two) = (spool.join().unwrap(), spool.join().unwrap());
    let broken = stream::iter([Ok(Bytes::from_static(b"some")), Err(io::Error::other("git failed"))]).boxed();
    assert!(one.begin(async { Ok(broken) }).await.unwrap());
    assert!(rest(&mut one).await.is_err());
    assert!(rest(&mut two).await.is_err());
    assert!(spool.join().is_none());
    assert_eq!(spool.kept(), None);
}

#[tokio::test]
async fn it_ends_with_the_last_who_reads() {
    let world = World::new(PLENTY);
    let spool = world.spool();
    let (mut one, mut two) = (spool.join().unwrap(), spool.join().unwrap());
    world.begin(&mut one, 100).await;
    drop(spool);
    one.next(|_| ()).await.unwrap();
    drop(one);
    two.next(|_| ()).await.unwrap();
    assert!(!world.dropped.load(Ordering::Relaxed));
    drop(two);
    assert!(world.dropped.load(Ordering::Relaxed));
}

#[tokio::test]
async fn the_next_begins_if_the_first_leaves() {
    let world = World::new(PLENTY);
    let spool = world.spool();
    let (mut one, mut two) = (spool.join().unwrap(), spool.join().unwrap());
    {
        let mut waits = std::pin::pin!(one.begin(std::future::pending()));
        assert!(futures_util::poll!(&mut waits).is_pending());
    }
    drop(one);
    world.begin(&mut two, 3).await;
    assert_eq!(rest(&mut two).await.unwrap(), expected(3));
}

#[tokio::test]
async fn who_could_not_begin_says_why_and_the_others_try_themselves() {
    let spool = World::new(PLENTY).spool();
    let (mut one, mut two) = (spool.join().unwrap(), spool.join().unwrap());
    assert!(one.begin(async { Err(Error::Unauthenticated) }).await.is_err());
    assert!(!two.begin(async { unreachable!("it is given up") }).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_costs_only_those_who_hold_the_others_up() {
    let world = World::new(5 << 20);
    let spool = world.spool();
    let (mut fast, mut slow, mut stuck) = (spool.join().unwrap(), spool.join().unwrap(), spool.join().unwrap());
    world.begin(&mut fast, 200).await;
    stuck.next(|_| ()).await.unwrap();
    let (fast, slow) = tokio::join!(rest(&mut fast), rest(&mut slow));
    assert_eq!(fast.unwrap(), expected(200));
    assert_eq!(slow.unwrap(), expected(200));
    assert!(rest(&mut stuck).await.is_err());
    assert!(world.budget.memory() <= 2 << 20);
}

#[tokio::test]
async fn who_comes_too_late_makes_the_next_one_for_all() {
    let world = World::new(PLENTY);
    let answers = Arc::new(Answers::new(PLENTY));
    let key = Key([1; 32]);
    let join = |key| answers.join(key, world.directory.path().to_owned());
    let (mut first, is_shared) = join(key);
    assert!(!is_shared);
    world.begin(&mut first, 200).await;
    for _ in 0..100 {
        first.next(|_| ()).await.unwrap();
    }
    let (mut second, is_shared) = join(key);
    assert!(!is_shared, "the first is alone by now");
    world.begin(&mut second, 200).await;
    for _ in 0..100 {
        second.next(|_| ()).await.unwrap();
    }
    let (third, is_shared) = join(key);
    assert!(is_shared);
    let (other, is_shared) = join(Key([2; 32]));
    assert!(!is_shared && !Weak::ptr_eq(&Arc::downgrade(other.spool()), &Arc::downgrade(third.spool())));
    let answer = answers.give(third, Some(key), async { unreachable!("it is being made") }).await.unwrap().unwrap();
    let whole: Vec<_> = answer.map(Result::unwrap).collect().await;
    assert_eq!(whole.concat(), expected(200));
    drop((first, second));
    // It is kept for those who come a little later.
    let mut late = join(key).0;
    assert_eq!(rest(&mut late).await.unwrap(), expected(200));
    answers.forget();
    assert!(!join(key).1);
}
