//! Where all hooks lead: a receiver that fails in every way that receivers do, until it is told to behave.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use holdfast_app::Clock;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::check::Happening;
use super::receipt::{Hook, Receipt};
use super::request::{self, Request};

/// What becomes of a request that has arrived whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mood {
    Accept,
    AcceptLate,
    Error,
    Redirect,
    Reset,
    Hang,
    BreakBeforeAnswer,
    BreakWithinHead,
    BreakWithinBody,
}

impl Mood {
    const FAILURES: [Self; 7] = [
        Self::Error,
        Self::Redirect,
        Self::Reset,
        Self::Hang,
        Self::BreakBeforeAnswer,
        Self::BreakWithinHead,
        Self::BreakWithinBody,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Accept => "answered 200",
            Self::AcceptLate => "answered 200 after some time",
            Self::Error => "answered 500",
            Self::Redirect => "answered 302",
            Self::Reset => "reset",
            Self::Hang => "never answered",
            Self::BreakBeforeAnswer => "broken off before the answer",
            Self::BreakWithinHead => "broken off within the head of a 200",
            Self::BreakWithinBody => "broken off within the body of a 200",
        }
    }

    /// Whether the sender is told so. What comes behind the head of an answer does not change what it says, so that a
    /// node may take one that breaks off there for a success; it need not.
    fn accepts(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptLate | Self::BreakWithinBody)
    }
}

/// Share of requests. Each failure costs its hook about a second.
const FAILING: f64 = 0.015;
const LATE: f64 = 0.01;
/// In milliseconds; well below the time after which nodes give up.
const LATENESS: std::ops::Range<u64> = 20..400;
/// In milliseconds: how long the receiver is there, and how long it is not.
const UP: std::ops::Range<u64> = 5000..25_000;
const DOWN: std::ops::Range<u64> = 500..3000;
/// Nodes give up after a second.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Receiver {
    hooks: Vec<Hook>,
    clock: Clock,
    dice: Mutex<StdRng>,
    seen: Mutex<Seen>,
    /// Told of each request before it is answered.
    pub request: Arc<Notify>,
    calm: CancellationToken,
}

#[derive(Clone, Default)]
pub struct Seen {
    /// For each hook.
    pub histories: Vec<Vec<Happening>>,
    /// For each hook, the numbers of the pushes that were accepted.
    pub told: Vec<HashSet<u64>>,
    pub moods: BTreeMap<Mood, u64>,
    pub outages: u64,
    /// What cannot be counted as a delivery.
    pub strange: Vec<String>,
}

impl Seen {
    pub fn requests(&self) -> u64 {
        self.moods.values().sum()
    }

    pub fn accepted(&self) -> u64 {
        self.moods.iter().filter(|(mood, _)| mood.accepts()).map(|(_, count)| count).sum()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Receiver {
    pub fn new(hooks: Vec<Hook>, seed: u64) -> Self {
        let seen = Seen {
            histories: vec![Vec::new(); hooks.len()],
            told: vec![HashSet::new(); hooks.len()],
            ..Seen::default()
        };
        Self {
            hooks,
            clock: Clock::system(),
            dice: Mutex::new(StdRng::seed_from_u64(seed.rotate_left(32))),
            seen: Mutex::new(seen),
            request: Arc::default(),
            calm: CancellationToken::new(),
        }
    }

    /// From now on it behaves.
    pub fn calm_down(&self) {
        self.calm.cancel();
    }

    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    pub fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&lock(&self.seen))
    }

    fn milliseconds(&self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(lock(&self.dice).random_range(range))
    }

    fn mood(&self) -> Mood {
        let mut dice = lock(&self.dice);
        if self.calm.is_cancelled() {
            Mood::Accept
        } else if dice.random_bool(FAILING) {
            *Mood::FAILURES.choose(&mut *dice).unwrap_or(&Mood::Error)
        } else if dice.random_bool(LATE) {
            Mood::AcceptLate
        } else {
            Mood::Accept
        }
    }

    pub async fn run(self: Arc<Self>, address: SocketAddr) -> anyhow::Result<Infallible> {
        loop {
            let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen at {address}"))?;
            tokio::select! {
                failed = self.clone().listen(listener) => return failed,
                () = self.next_outage() => {}
            }
            lock(&self.seen).outages += 1;
            let down = self.milliseconds(DOWN);
            tokio::time::timeout(down, self.calm.cancelled()).await.ok();
        }
    }

    async fn next_outage(&self) {
        let up = self.milliseconds(UP);
        if tokio::time::timeout(up, self.calm.cancelled()).await.is_ok() {
            std::future::pending().await
        }
    }

    /// All connections end with it.
    async fn listen(self: Arc<Self>, listener: TcpListener) -> anyhow::Result<Infallible> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    connections.spawn(self.clone().converse(accepted?.0));
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }

    async fn converse(self: Arc<Self>, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some(request) = request::read(&mut stream).await {
            let mood = self.mood();
            let Some((hook, sequence, is_push)) = self.take(&request, mood) else { return };
            self.request.notify_waiters();
            if mood == Mood::AcceptLate {
                let late = self.milliseconds(LATENESS);
                tokio::time::timeout(late, self.calm.cancelled()).await.ok();
            }
            if mood.accepts() {
                let mut seen = lock(&self.seen);
                seen.histories[hook].push(Happening::Accepted { sequence, at: self.clock.now() });
                if is_push {
                    seen.told[hook].insert(sequence);
                }
            }
            if !self.answer(&mut stream, mood).await {
                return;
            }
        }
    }

    /// Writes down which delivery of which hook it is, and whether it tells of a push.
    fn take(&self, request: &Request, mood: Mood) -> Option<(usize, u64, bool)> {
        let number = request.path.strip_prefix('/').and_then(|path| path.parse().ok());
        let found = number.and_then(|number: usize| Some((number, self.hooks.get(number)?)));
        let receipt = match found {
            Some((_, hook)) => Receipt::read(hook, request, self.clock.now()),
            None => Err("no hook leads there".into()),
        };
        let mut seen = lock(&self.seen);
        match (found, receipt) {
            (Some((number, _)), Ok(receipt)) => {
                let (sequence, is_push) = (receipt.sequence, receipt.event.is_some());
                seen.histories[number].push(Happening::Received(receipt));
                *seen.moods.entry(mood).or_default() += 1;
                Some((number, sequence, is_push))
            }
            (_, Err(error)) => {
                seen.strange.push(format!("{error}: {} {} {:?}", request.method, request.path, request.headers));
                None
            }
            (None, Ok(_)) => None,
        }
    }

    /// Whether the connection goes on.
    async fn answer(&self, stream: &mut BufReader<TcpStream>, mood: Mood) -> bool {
        let text = match mood {
            Mood::Accept | Mood::AcceptLate => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            Mood::Error => "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\nno",
            Mood::Redirect => "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
            Mood::BreakBeforeAnswer => "",
            Mood::BreakWithinHead => "HTTP/1.1 200 OK\r\nContent-Le",
            Mood::BreakWithinBody => "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok",
            Mood::Reset => {
                stream.get_ref().set_zero_linger().ok();
                ""
            }
            Mood::Hang => {
                let ended = tokio::time::timeout(PATIENCE, stream.read_u8()).await;
                if !matches!(ended, Ok(Err(_))) {
                    let said = if ended.is_ok() { "sent more" } else { "still waited" };
                    let text = format!("a node {said} on a connection on which it must give up after a second");
                    lock(&self.seen).strange.push(text);
                }
                ""
            }
        };
        let is_written = stream.write_all(text.as_bytes()).await.is_ok();
        is_written && matches!(mood, Mood::Accept | Mood::AcceptLate | Mood::Error | Mood::Redirect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client learns: the status and whether the body came whole; none if not even the head did.
    async fn learned(mood: Mood) -> Option<(u16, bool)> {
        let hook = Hook { id: 1, project: Some(1), token: "secret".into(), tags: false };
        let receiver = Receiver::new(vec![hook], 1);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/0", listener.local_addr().unwrap());
        let serving = async {
            let mut stream = BufReader::new(listener.accept().await.unwrap().0);
            request::read(&mut stream).await.unwrap();
            receiver.answer(&mut stream, mood).await
        };
        let asking = async {
            let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
            let client = client.timeout(Duration::from_secs(3)).build().unwrap();
            let answer = client.post(url).body("{}").send().await.ok()?;
            Some((answer.status().as_u16(), answer.bytes().await.is_ok()))
        };
        let (goes_on, learned) = tokio::join!(serving, asking);
        assert_eq!(goes_on, learned.is_some_and(|(_, whole)| whole), "{mood:?}");
        assert!(receiver.seen(|seen| seen.strange.is_empty()), "{mood:?}");
        learned
    }

    #[tokio::test]
    async fn every_failure_is_one_to_the_client() {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        assert_eq!(learned(Mood::Accept).await, Some((200, true)));
        assert_eq!(learned(Mood::Error).await, Some((500, true)));
        assert_eq!(learned(Mood::Redirect).await, Some((302, true)));
        assert_eq!(learned(Mood::BreakWithinBody).await, Some((200, false)));
        for mood in [Mood::Reset, Mood::Hang, Mood::BreakBeforeAnswer, Mood::BreakWithinHead] {
            assert_eq!(learned(mood).await, None, "{mood:?}");
        }
    }

    #[test]
    fn what_leads_nowhere_is_remembered() {
        let receiver = Receiver::new(Vec::new(), 1);
        assert_eq!(receiver.take(&Request { path: "/0".into(), ..Request::default() }, Mood::Accept), None);
        assert_eq!(receiver.seen(|seen| seen.strange.len()), 1);
    }

    #[test]
    fn it_fails_now_and_then_until_it_is_told_to_calm_down() {
        let receiver = Receiver::new(Vec::new(), 1);
        let failures = || (0..10_000).filter(|_| !receiver.mood().accepts()).count();
        assert!((50..500).contains(&failures()));
        receiver.calm_down();
        assert_eq!(failures(), 0);
    }
}
