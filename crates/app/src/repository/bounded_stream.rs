//! Streams data to a client while it is produced.
//!
//! - The producer waits for the client, and disconnects one that is below the minimum rate.
//! - A stream ends without an error only after [`StreamSender::finish`], so that an aborted one is never taken for
//!   complete.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{Instant, timeout};

use crate::progress_budget::ProgressBudget;

/// How long the producer waits for a client that has received nothing yet.
const FIRST_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the producer waits at most for a client that has received much.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Minimum rate of a client: a slower one holds permits that others need.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;
const CHUNK_SIZE: usize = 64 << 10;

/// The sending half of a bounded stream.
pub(super) struct StreamSender<T> {
    /// `None` marks the end of a complete stream.
    sender: Sender<io::Result<Option<T>>>,
    budget: ProgressBudget,
    /// The sizes of the parts that the client may not have received yet.
    in_flight: VecDeque<usize>,
    capacity: usize,
}

fn budget() -> ProgressBudget {
    ProgressBudget::new(FIRST_TIMEOUT, STALL_TIMEOUT, MIN_BYTES_PER_SECOND)
}

/// Copies a stream to a client. Fails if the client is below the minimum rate, as in a bounded stream.
pub(super) async fn copy_to_client(
    input: &mut (impl AsyncRead + Unpin),
    output: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let (mut budget, mut chunk) = (budget(), vec![0; CHUNK_SIZE]);
    loop {
        let bytes = match input.read(&mut chunk).await? {
            0 => return output.flush().await,
            bytes => bytes,
        };
        let started_at = Instant::now();
        let write = async {
            output.write_all(&chunk[..bytes]).await?;
            output.flush().await
        };
        timeout(budget.left(), write).await.map_err(|_| client_disconnected())??;
        budget.spend(started_at.elapsed());
        budget.earn(bytes);
    }
}

/// Creates a stream that queues at most `capacity` parts.
pub(super) fn bounded_stream<T: Send + 'static>(
    capacity: usize,
) -> (StreamSender<T>, BoxStream<'static, io::Result<T>>) {
    let (sender, receiver) = mpsc::channel::<io::Result<Option<T>>>(capacity);
    let parts = stream::unfold(Some(receiver), |receiver| async {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Ok(Some(part))) => Some((Ok(part), Some(receiver))),
            Some(Ok(None)) => None,
            Some(Err(error)) => Some((Err(error), None)),
            // The sender was dropped without finishing the stream.
            None => Some((Err(client_disconnected()), None)),
        }
    });
    (
        StreamSender { sender, budget: budget(), in_flight: VecDeque::with_capacity(capacity + 1), capacity },
        parts.boxed(),
    )
}

pub(super) fn client_disconnected() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl<T: Send + 'static> StreamSender<T> {
    /// Sends a part of about this many bytes. Fails if the client has disconnected or is too slow.
    pub async fn send(&mut self, part: T, bytes: usize) -> io::Result<()> {
        let started_at = Instant::now();
        self.sender.send_timeout(Ok(Some(part)), self.budget.left()).await.map_err(|_| client_disconnected())?;
        self.budget.spend(started_at.elapsed());
        // The channel holds at most `capacity` parts, so the one before these has been received.
        self.in_flight.push_back(bytes);
        if self.in_flight.len() > self.capacity
            && let Some(received) = self.in_flight.pop_front()
        {
            self.budget.earn(received);
        }
        Ok(())
    }

    /// Marks the stream as complete.
    pub async fn finish(self) {
        self.sender.send_timeout(Ok(None), STALL_TIMEOUT).await.ok();
    }

    /// Ends the stream with an error. If the channel is full, the error is dropped, and the stream ends with one anyway
    /// because its end mark is missing.
    pub fn abort(self, error: io::Error) {
        self.sender.try_send(Err(error)).ok();
    }

    /// Completes when the receiver has been dropped.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + use<T> {
        let sender = self.sender.clone();
        async move { sender.closed().await }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn receive_all(make: impl AsyncFnOnce(StreamSender<u8>)) -> (Vec<u8>, bool) {
        let (sender, mut parts) = bounded_stream(8);
        make(sender).await;
        let mut received = Vec::new();
        while let Some(part) = parts.next().await {
            let Ok(part) = part else { return (received, false) };
            received.push(part);
        }
        (received, true)
    }

    #[tokio::test]
    async fn a_stream_without_finish_ends_with_an_error() {
        let finished = async |mut sender: StreamSender<u8>| {
            sender.send(1, 1).await.unwrap();
            sender.finish().await;
        };
        assert_eq!(receive_all(finished).await, (vec![1], true));
        let dropped = async |mut sender: StreamSender<u8>| sender.send(1, 1).await.unwrap();
        assert_eq!(receive_all(dropped).await, (vec![1], false));
        let aborted = async |mut sender: StreamSender<u8>| {
            sender.send(1, 1).await.unwrap();
            sender.abort(client_disconnected());
        };
        assert_eq!(receive_all(aborted).await, (vec![1], false));
    }

    /// Anonymous requests for archives that were never read held all fetch permits of a node for two minutes,
    /// repeatedly.
    #[tokio::test(start_paused = true)]
    async fn a_stalled_client_is_disconnected() {
        let (mut sender, parts) = bounded_stream(1);
        sender.send(1, 1 << 20).await.unwrap();
        let started_at = Instant::now();
        assert!(sender.send(2, 1).await.is_err());
        assert!((FIRST_TIMEOUT..FIRST_TIMEOUT * 2).contains(&started_at.elapsed()), "{:?}", started_at.elapsed());
        sender.abort(client_disconnected());
        let parts: Vec<io::Result<u8>> = parts.collect().await;
        assert!(matches!(parts[..], [Ok(1), Err(_)]), "{parts:?}");
    }
    /// A stalled client does not keep git running on a stateful connection either.
    #[tokio::test(start_paused = true)]
    async fn a_copy_to_a_stalled_client_fails() {
        let (mut ours, _theirs) = tokio::io::duplex(1000);
        let started_at = Instant::now();
        assert!(copy_to_client(&mut tokio::io::repeat(0), &mut ours).await.is_err());
        assert!((FIRST_TIMEOUT..FIRST_TIMEOUT * 2).contains(&started_at.elapsed()), "{:?}", started_at.elapsed());
    }

    /// Receiving a part now and then does not keep a stream alive.
    #[tokio::test(start_paused = true)]
    async fn a_client_below_the_minimum_rate_is_disconnected() {
        let (mut sender, mut parts) = bounded_stream(1);
        let send = async {
            while sender.send(0, 1000).await.is_ok() {}
            drop(sender);
        };
        let take = async {
            let mut interval = tokio::time::interval(FIRST_TIMEOUT / 3);
            let mut taken = 0;
            while let Some(Ok(_)) = parts.next().await {
                taken += 1;
                interval.tick().await;
            }
            taken
        };
        let ((), taken) = tokio::join!(send, take);
        assert!((2..20).contains(&taken), "{taken}");
    }
}
