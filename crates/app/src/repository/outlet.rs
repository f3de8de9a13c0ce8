//! What is passed on to a client while it is made. It goes on only as fast as it is taken, but not for ever; and what breaks
//! off is never taken for whole.

use std::io;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::mpsc::{self, Sender};

/// A client that takes nothing for so long has gone, or wants to keep the place from others.
const STALLED: Duration = Duration::from_secs(120);
/// The same for one that takes less than this in a second, all in all.
const SLOWEST: u64 = 16 << 10;

/// Where the parts go in.
pub(super) struct Outlet<T> {
    /// Nothing is the end.
    sender: Sender<io::Result<Option<T>>>,
    waited: Duration,
    bytes: u64,
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
    (Outlet { sender, waited: Duration::ZERO, bytes: 0 }, parts.boxed())
}

pub(super) fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl<T: Send + 'static> Outlet<T> {
    /// A part of about so many bytes. Fails if nobody takes it.
    pub async fn send(&mut self, part: T, bytes: usize) -> io::Result<()> {
        self.bytes += bytes as u64;
        let begin = Instant::now();
        self.sender.send_timeout(Ok(Some(part)), STALLED).await.map_err(|_| gone())?;
        self.waited += begin.elapsed();
        let is_too_slow = self.waited > STALLED + Duration::from_secs(self.bytes / SLOWEST);
        if is_too_slow { Err(gone()) } else { Ok(()) }
    }

    /// That was all of it.
    pub async fn end(self) {
        self.sender.send_timeout(Ok(None), STALLED).await.ok();
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

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_left() {
        let (mut outlet, parts) = outlet(1);
        outlet.send(1, 1).await.unwrap();
        assert!(outlet.send(2, 1).await.is_err());
        outlet.break_off(gone());
        let parts: Vec<io::Result<u8>> = parts.collect().await;
        assert!(matches!(parts[..], [Ok(1), Err(_)]), "{parts:?}");
    }
}
