//! What is passed on to a client while it is made. It goes on only as fast as it is taken, but not for ever; and what breaks
//! off is never taken for whole.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{Instant, timeout};

use crate::progress_budget::ProgressBudget;

/// How long a client may keep us waiting that has taken nothing yet.
const FIRST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a client may keep us waiting that has taken much.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// A client that takes less for long keeps the place from others.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;
const CHUNK_SIZE: usize = 64 << 10;

/// Where the parts go in.
pub(super) struct Outlet<T> {
    /// Nothing is the end.
    sender: Sender<io::Result<Option<T>>>,
    budget: ProgressBudget,
    /// The sizes of the parts that are possibly still on their way.
    on_the_way: VecDeque<usize>,
    room: usize,
}

fn budget() -> ProgressBudget {
    ProgressBudget::new(FIRST_TIMEOUT, STALL_TIMEOUT, MIN_BYTES_PER_SECOND)
}

/// Copies to a client under the same conditions. Fails if the client does not take it.
pub(super) async fn copy(
    input: &mut (impl AsyncRead + Unpin),
    output: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let (mut budget, mut chunk) = (budget(), vec![0; CHUNK_SIZE]);
    loop {
        let bytes = match input.read(&mut chunk).await? {
            0 => return output.flush().await,
            bytes => bytes,
        };
        let begin = Instant::now();
        let write = async {
            output.write_all(&chunk[..bytes]).await?;
            output.flush().await
        };
        timeout(budget.left(), write).await.map_err(|_| gone())??;
        budget.spend(begin.elapsed());
        budget.earn(bytes);
    }
}

/// With room for so many parts on their way.
pub(super) fn outlet<T: Send + 'static>(room: usize) -> (Outlet<T>, BoxStream<'static, io::Result<T>>) {
    let (sender, receiver) = mpsc::channel::<io::Result<Option<T>>>(room);
    let parts = stream::unfold(Some(receiver), |receiver| async {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Ok(Some(part))) => Some((Ok(part), Some(receiver))),
            Some(Ok(None)) => None,
            Some(Err(error)) => Some((Err(error), None)),
            // Whoever made it went away without a word.
            None => Some((Err(gone()), None)),
        }
    });
    (Outlet { sender, budget: budget(), on_the_way: VecDeque::with_capacity(room + 1), room }, parts.boxed())
}

pub(super) fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl<T: Send + 'static> Outlet<T> {
    /// A part of about so many bytes. Fails if nobody takes it.
    pub async fn send(&mut self, part: T, bytes: usize) -> io::Result<()> {
        let begin = Instant::now();
        self.sender.send_timeout(Ok(Some(part)), self.budget.left()).await.map_err(|_| gone())?;
        self.budget.spend(begin.elapsed());
        // There was room for this one, so those before it that fill the room were not the last to be taken.
        self.on_the_way.push_back(bytes);
        if self.on_the_way.len() > self.room
            && let Some(taken) = self.on_the_way.pop_front()
        {
            self.budget.earn(taken);
        }
        Ok(())
    }

    /// That was all of it.
    pub async fn end(self) {
        self.sender.send_timeout(Ok(None), STALL_TIMEOUT).await.ok();
    }

    /// That was not all of it. Where there is no room to say why, the end that is missing says enough.
    pub fn break_off(self, error: io::Error) {
        self.sender.try_send(Err(error)).ok();
    }

    /// When nobody listens any more.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + use<T> {
        let sender = self.sender.clone();
        async move { sender.closed().await }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn taken(make: impl AsyncFnOnce(Outlet<u8>)) -> (Vec<u8>, bool) {
        let (outlet, mut parts) = outlet(8);
        make(outlet).await;
        let mut taken = Vec::new();
        while let Some(part) = parts.next().await {
            let Ok(part) = part else { return (taken, false) };
            taken.push(part);
        }
        (taken, true)
    }

    #[tokio::test]
    async fn only_what_was_ended_is_whole() {
        let ended = async |mut outlet: Outlet<u8>| {
            outlet.send(1, 1).await.unwrap();
            outlet.end().await;
        };
        assert_eq!(taken(ended).await, (vec![1], true));
        let dropped = async |mut outlet: Outlet<u8>| outlet.send(1, 1).await.unwrap();
        assert_eq!(taken(dropped).await, (vec![1], false));
        let broken = async |mut outlet: Outlet<u8>| {
            outlet.send(1, 1).await.unwrap();
            outlet.break_off(gone());
        };
        assert_eq!(taken(broken).await, (vec![1], false));
    }

    /// Anonymous archives that nobody reads kept all fetches of a node from others for two minutes, again and again.
    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_left() {
        let (mut outlet, parts) = outlet(1);
        outlet.send(1, 1 << 20).await.unwrap();
        let begin = Instant::now();
        assert!(outlet.send(2, 1).await.is_err());
        assert!((FIRST_TIMEOUT..FIRST_TIMEOUT * 2).contains(&begin.elapsed()), "{:?}", begin.elapsed());
        outlet.break_off(gone());
        let parts: Vec<io::Result<u8>> = parts.collect().await;
        assert!(matches!(parts[..], [Ok(1), Err(_)]), "{parts:?}");
    }
    /// Nor does it keep git on a connection that stays.
    #[tokio::test(start_paused = true)]
    async fn a_copy_to_a_client_that_takes_nothing_ends() {
        let (mut ours, _theirs) = tokio::io::duplex(1000);
        let begin = Instant::now();
        assert!(copy(&mut tokio::io::repeat(0), &mut ours).await.is_err());
        assert!((FIRST_TIMEOUT..FIRST_TIMEOUT * 2).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    }

    /// To take a part now and then does not keep the place for ever.
    #[tokio::test(start_paused = true)]
    async fn a_client_below_the_minimum_rate_is_left() {
        let (mut outlet, mut parts) = outlet(1);
        let send = async {
            while outlet.send(0, 1000).await.is_ok() {}
            drop(outlet);
        };
        let take = async {
            let mut every = tokio::time::interval(FIRST_TIMEOUT / 3);
            let mut taken = 0;
            while let Some(Ok(_)) = parts.next().await {
                taken += 1;
                every.tick().await;
            }
            taken
        };
        let ((), taken) = tokio::join!(send, take);
        assert!((2..20).contains(&taken), "{taken}");
    }
}
