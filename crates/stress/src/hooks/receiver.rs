//! The receiver of all hooks. It fails in many ways at random until [`Receiver::stop_failing`] is called.

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

use super::check::ReceiverEvent;
use super::received_delivery::{Hook, ReceivedDelivery};
use super::request::{self, Request};

/// The reaction to a complete request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReceiverBehavior {
    Accept,
    AcceptLate,
    Error,
    Redirect,
    Reset,
    Hang,
    BreakBeforeResponse,
    BreakWithinHead,
    BreakWithinBody,
}

impl ReceiverBehavior {
    const FAILURES: [Self; 7] = [
        Self::Error,
        Self::Redirect,
        Self::Reset,
        Self::Hang,
        Self::BreakBeforeResponse,
        Self::BreakWithinHead,
        Self::BreakWithinBody,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Self::Accept => "answered 200",
            Self::AcceptLate => "answered 200 after some time",
            Self::Error => "answered 500",
            Self::Redirect => "answered 302",
            Self::Reset => "reset",
            Self::Hang => "never answered",
            Self::BreakBeforeResponse => "disconnected before the response",
            Self::BreakWithinHead => "disconnected within the head of a 200",
            Self::BreakWithinBody => "disconnected within the body of a 200",
        }
    }

    /// Returns whether the sender may count the delivery as accepted. A response that breaks off after its head has a
    /// status of 200, so a node may count it as a success, but need not.
    fn is_accepting(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptLate | Self::BreakWithinBody)
    }
}

/// Share of requests that fail. Each failure delays its hook by about a second.
const FAILURE_RATE: f64 = 0.015;
/// Share of requests that are accepted late.
const DELAY_RATE: f64 = 0.01;
/// Range of milliseconds of a late response; well below the timeout of nodes, which is one second.
const DELAY_MILLIS: std::ops::Range<u64> = 20..400;
/// Range of milliseconds between two outages.
const UP_MILLIS: std::ops::Range<u64> = 5000..25_000;
/// Range of milliseconds of an outage.
const DOWN_MILLIS: std::ops::Range<u64> = 500..3000;
/// How long the receiver hangs before it reports a violation. Nodes must disconnect after one second.
const HANG_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Receiver {
    hooks: Vec<Hook>,
    clock: Clock,
    rng: Mutex<StdRng>,
    with_log: Mutex<ReceiverLog>,
    /// Notified of each request before the response is sent.
    pub request: Arc<Notify>,
    failures_stopped: CancellationToken,
}

#[derive(Clone, Default)]
pub struct ReceiverLog {
    /// Events of each hook, in order.
    pub histories: Vec<Vec<ReceiverEvent>>,
    /// Sequence numbers of the accepted push events of each hook.
    pub delivered: Vec<HashSet<u64>>,
    pub behaviors: BTreeMap<ReceiverBehavior, u64>,
    pub outages: u64,
    /// Descriptions of requests that are not valid deliveries.
    pub unexpected: Vec<String>,
}

impl ReceiverLog {
    pub fn requests(&self) -> u64 {
        self.behaviors.values().sum()
    }

    pub fn accepted(&self) -> u64 {
        self.behaviors.iter().filter(|(mood, _)| mood.is_accepting()).map(|(_, count)| count).sum()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Receiver {
    pub fn new(hooks: Vec<Hook>, seed: u64) -> Self {
        let log = ReceiverLog {
            histories: vec![Vec::new(); hooks.len()],
            delivered: vec![HashSet::new(); hooks.len()],
            ..ReceiverLog::default()
        };
        Self {
            hooks,
            clock: Clock::system(),
            rng: Mutex::new(StdRng::seed_from_u64(seed.rotate_left(32))),
            with_log: Mutex::new(log),
            request: Arc::default(),
            failures_stopped: CancellationToken::new(),
        }
    }

    /// Makes the receiver accept everything from now on.
    pub fn stop_failing(&self) {
        self.failures_stopped.cancel();
    }

    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    pub fn seen<T>(&self, look: impl FnOnce(&ReceiverLog) -> T) -> T {
        look(&lock(&self.with_log))
    }

    fn milliseconds(&self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(lock(&self.rng).random_range(range))
    }

    fn choose_behavior(&self) -> ReceiverBehavior {
        let mut rng = lock(&self.rng);
        if self.failures_stopped.is_cancelled() {
            ReceiverBehavior::Accept
        } else if rng.random_bool(FAILURE_RATE) {
            *ReceiverBehavior::FAILURES.choose(&mut *rng).unwrap_or(&ReceiverBehavior::Error)
        } else if rng.random_bool(DELAY_RATE) {
            ReceiverBehavior::AcceptLate
        } else {
            ReceiverBehavior::Accept
        }
    }

    pub async fn run(self: Arc<Self>, address: SocketAddr) -> anyhow::Result<Infallible> {
        loop {
            let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen at {address}"))?;
            tokio::select! {
                failed = self.clone().listen(listener) => return failed,
                () = self.wait_for_outage() => {}
            }
            lock(&self.with_log).outages += 1;
            let down = self.milliseconds(DOWN_MILLIS);
            tokio::time::timeout(down, self.failures_stopped.cancelled()).await.ok();
        }
    }

    async fn wait_for_outage(&self) {
        let up = self.milliseconds(UP_MILLIS);
        if tokio::time::timeout(up, self.failures_stopped.cancelled()).await.is_ok() {
            std::future::pending().await
        }
    }

    /// Accepts connections. Dropping the future closes all of them.
    async fn listen(self: Arc<Self>, listener: TcpListener) -> anyhow::Result<Infallible> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    connections.spawn(self.clone().serve_connection(accepted?.0));
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }

    async fn serve_connection(self: Arc<Self>, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some(request) = request::read(&mut stream).await {
            let behavior = self.choose_behavior();
            let Some((hook, sequence, is_push)) = self.record(&request, behavior) else { return };
            self.request.notify_waiters();
            if behavior == ReceiverBehavior::AcceptLate {
                let delay = self.milliseconds(DELAY_MILLIS);
                tokio::time::timeout(delay, self.failures_stopped.cancelled()).await.ok();
            }
            if behavior.is_accepting() {
                let mut log = lock(&self.with_log);
                log.histories[hook].push(ReceiverEvent::Accepted { sequence, at: self.clock.now() });
                if is_push {
                    log.delivered[hook].insert(sequence);
                }
            }
            if !self.respond(&mut stream, behavior).await {
                return;
            }
        }
    }

    /// Records a request. Returns the index of its hook, its sequence number, and whether it is a push event; `None` if
    /// it is not a valid delivery.
    fn record(&self, request: &Request, behavior: ReceiverBehavior) -> Option<(usize, u64, bool)> {
        let number = request.path.strip_prefix('/').and_then(|path| path.parse().ok());
        let found = number.and_then(|number: usize| Some((number, self.hooks.get(number)?)));
        let receipt = match found {
            Some((_, hook)) => ReceivedDelivery::parse(hook, request, self.clock.now()),
            None => Err("no hook has this path".into()),
        };
        let mut log = lock(&self.with_log);
        match (found, receipt) {
            (Some((number, _)), Ok(receipt)) => {
                let (sequence, is_push) = (receipt.sequence, receipt.event.is_some());
                log.histories[number].push(ReceiverEvent::Received(receipt));
                *log.behaviors.entry(behavior).or_default() += 1;
                Some((number, sequence, is_push))
            }
            (_, Err(error)) => {
                log.unexpected.push(format!("{error}: {} {} {:?}", request.method, request.path, request.headers));
                None
            }
            (None, Ok(_)) => None,
        }
    }

    /// Sends the response. Returns whether the connection stays open.
    async fn respond(&self, stream: &mut BufReader<TcpStream>, behavior: ReceiverBehavior) -> bool {
        let text = match behavior {
            ReceiverBehavior::Accept | ReceiverBehavior::AcceptLate => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            ReceiverBehavior::Error => "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\nno",
            ReceiverBehavior::Redirect => "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
            ReceiverBehavior::BreakBeforeResponse => "",
            ReceiverBehavior::BreakWithinHead => "HTTP/1.1 200 OK\r\nContent-Le",
            ReceiverBehavior::BreakWithinBody => "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok",
            ReceiverBehavior::Reset => {
                stream.get_ref().set_zero_linger().ok();
                ""
            }
            ReceiverBehavior::Hang => {
                let outcome = tokio::time::timeout(HANG_TIMEOUT, stream.read_u8()).await;
                if !matches!(outcome, Ok(Err(_))) {
                    let action = if outcome.is_ok() { "sent more" } else { "still waited" };
                    let text = format!("a node {action} on a connection on which it must give up after a second");
                    lock(&self.with_log).unexpected.push(text);
                }
                ""
            }
        };
        let is_written = stream.write_all(text.as_bytes()).await.is_ok();
        is_written
            && matches!(
                behavior,
                ReceiverBehavior::Accept
                    | ReceiverBehavior::AcceptLate
                    | ReceiverBehavior::Error
                    | ReceiverBehavior::Redirect
            )
    }
}

#[cfg(test)]
mod tests {
    use super::super::received_delivery::HookEvents;
    use super::*;

    /// Returns the status that a client receives, and whether the body was complete; `None` if it received no head.
    async fn observe(behavior: ReceiverBehavior) -> Option<(u16, bool)> {
        let hook = Hook { id: 1, project: Some(1), token: "secret".into(), events: HookEvents::Branches };
        let receiver = Receiver::new(vec![hook], 1);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/0", listener.local_addr().unwrap());
        let serving = async {
            let mut stream = BufReader::new(listener.accept().await.unwrap().0);
            request::read(&mut stream).await.unwrap();
            receiver.respond(&mut stream, behavior).await
        };
        let requesting = async {
            let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
            let client = client.timeout(Duration::from_secs(3)).build().unwrap();
            let response = client.post(url).body("{}").send().await.ok()?;
            Some((response.status().as_u16(), response.bytes().await.is_ok()))
        };
        let (is_kept_open, learned) = tokio::join!(serving, requesting);
        assert_eq!(is_kept_open, learned.is_some_and(|(_, whole)| whole), "{behavior:?}");
        assert!(receiver.seen(|seen| seen.unexpected.is_empty()), "{behavior:?}");
        learned
    }

    #[tokio::test]
    async fn every_failure_mode_fails_at_the_client() {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        assert_eq!(observe(ReceiverBehavior::Accept).await, Some((200, true)));
        assert_eq!(observe(ReceiverBehavior::Error).await, Some((500, true)));
        assert_eq!(observe(ReceiverBehavior::Redirect).await, Some((302, true)));
        assert_eq!(observe(ReceiverBehavior::BreakWithinBody).await, Some((200, false)));
        for mood in [
            ReceiverBehavior::Reset,
            ReceiverBehavior::Hang,
            ReceiverBehavior::BreakBeforeResponse,
            ReceiverBehavior::BreakWithinHead,
        ] {
            assert_eq!(observe(mood).await, None, "{mood:?}");
        }
    }

    #[test]
    fn requests_for_unknown_hooks_are_recorded() {
        let receiver = Receiver::new(Vec::new(), 1);
        assert_eq!(
            receiver.record(&Request { path: "/0".into(), ..Request::default() }, ReceiverBehavior::Accept),
            None
        );
        assert_eq!(receiver.seen(|seen| seen.unexpected.len()), 1);
    }

    #[test]
    fn the_receiver_fails_randomly_until_failures_are_disabled() {
        let receiver = Receiver::new(Vec::new(), 1);
        let failures = || (0..10_000).filter(|_| !receiver.choose_behavior().is_accepting()).count();
        assert!((50..500).contains(&failures()));
        receiver.stop_failing();
        assert_eq!(failures(), 0);
    }
}
