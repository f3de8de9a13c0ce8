//! A stream that breaks off when nothing moves on it for too long, in either direction, or when somebody cuts it. Who is
//! kept waiting by a peer that is gone, or that means to keep us waiting, is free again.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

pub struct Line<S> {
    inner: S,
    patience: Duration,
    is_waiting: bool,
    waiting_since: Instant,
    timer: Pin<Box<Sleep>>,
    work: TaskTracker,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<S: Unpin> Line<S> {
    pub fn new(inner: S, patience: Duration) -> Self {
        Self::with(inner, patience, TaskTracker::new(), CancellationToken::new())
    }

    /// While some of `work` is being done the peer may be silent.
    pub fn with(inner: S, patience: Duration, work: TaskTracker, cut: CancellationToken) -> Self {
        Self {
            inner,
            patience,
            is_waiting: false,
            waiting_since: Instant::now(),
            timer: Box::pin(tokio::time::sleep_until(Instant::now() + patience)),
            work,
            cut: Box::pin(cut.cancelled_owned()),
        }
    }

    fn watched<T>(&mut self, moved: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if moved.is_ready() {
            self.is_waiting = false;
            return moved;
        }
        if self.cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the connection was cut")));
        }
        if !self.is_waiting || !self.work.is_empty() {
            self.is_waiting = true;
            self.waiting_since = Instant::now();
        }
        // The timer is set anew only when it rings: much moves in the meantime.
        while self.timer.as_mut().poll(context).is_ready() {
            let due = self.waiting_since + self.patience;
            if due <= Instant::now() {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nothing moved for too long")));
            }
            self.timer.as_mut().reset(due);
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Line<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let moved = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.watched(moved, context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Line<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let moved = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watched(moved, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let moved = Pin::new(&mut self.inner).poll_flush(context);
        self.watched(moved, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let moved = Pin::new(&mut self.inner).poll_shutdown(context);
        self.watched(moved, context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn silence_ends_it_and_traffic_does_not() {
        let (mut peer, ours) = tokio::io::duplex(8);
        let mut line = Line::new(ours, PATIENCE);
        for _ in 0..5 {
            tokio::time::advance(PATIENCE / 2).await;
            peer.write_all(b"x").await.unwrap();
            assert_eq!(line.read_u8().await.unwrap(), b'x');
        }
        // Time in which nobody waited for the peer does not count.
        tokio::time::advance(PATIENCE * 3).await;
        let begun = Instant::now();
        assert_eq!(line.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_listen_is_left() {
        let (_peer, ours) = tokio::io::duplex(8);
        let mut line = Line::new(ours, PATIENCE);
        assert_eq!(line.write_all(&[0; 64]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn work_excuses_silence_and_a_cut_ends_it() {
        let (_peer, ours) = tokio::io::duplex(8);
        let (work, cut) = (TaskTracker::new(), CancellationToken::new());
        let mut line = Line::with(ours, PATIENCE, work.clone(), cut.clone());
        let busy = work.token();
        let reading = tokio::time::timeout(PATIENCE * 10, line.read_u8()).await;
        assert!(reading.is_err(), "it was still waiting: {reading:?}");
        drop(busy);
        cut.cancel();
        assert_eq!(line.read_u8().await.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
    }
}
