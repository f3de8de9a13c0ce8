//! Calling a receiver: only where that is allowed, and without being led elsewhere.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Semaphore;
use url::{Host, Url};

use crate::network::{Guard, NOT_ALLOWED};
use crate::{Error, Result};

pub(super) struct Client {
    verifying: reqwest::Client,
    /// For receivers whose certificates nobody vouches for.
    trusting: reqwest::Client,
    guard: Guard,
    timeout: Duration,
}

pub(super) struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// How it begins.
    pub body: Vec<u8>,
}

/// What came of a call, and how long that took. Of an address that may not be called not even that is told.
pub(super) struct Called {
    pub answer: std::result::Result<Answer, String>,
    pub took: Option<Duration>,
}

/// Of an answer, so much is kept.
const LONGEST_BODY: usize = 4096;
/// Long enough for the next delivery to the same receiver, short enough for thousands of receivers.
const IDLE: Duration = Duration::from_secs(1);
const IDLE_PER_HOST: usize = 64;

/// Asks for the addresses of a name.
pub(super) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Names that are looked up at once. Each holds a thread until it is answered, also if nobody waits any more; there are
/// twice as many threads, and others need some.
const LOOKUPS: usize = 256;

pub(super) fn system_lookup() -> Lookup {
    let places = Arc::new(Semaphore::new(LOOKUPS));
    Arc::new(move |name| {
        let places = places.clone();
        Box::pin(async move {
            let place = places.acquire_owned().await.map_err(io::Error::other)?;
            let looking = tokio::task::spawn_blocking(move || {
                let _place = place;
                Ok((name, 0).to_socket_addrs()?.collect())
            });
            looking.await.map_err(io::Error::other)?
        })
    })
}

/// The addresses that were checked are those that are dialled: each connection asks once.
struct Resolver {
    guard: Guard,
    lookup: Lookup,
}

#[derive(Debug, thiserror::Error)]
#[error("{NOT_ALLOWED}")]
struct NotAllowed;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.lookup)(name.as_str().to_owned());
        let guard = self.guard.clone();
        Box::pin(async move {
            let admitted = found.await.ok().and_then(|found| guard.admit(found)).ok_or(NotAllowed)?;
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

impl Client {
    pub fn new(guard: Guard, lookup: Lookup, timeout: Duration) -> Result<Self> {
        let build = |is_trusting: bool| {
            reqwest::Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .dns_resolver(Resolver { guard: guard.clone(), lookup: lookup.clone() })
                .tls_danger_accept_invalid_certs(is_trusting)
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(IDLE_PER_HOST)
                .tcp_nodelay(true)
                .http1_only()
                .build()
                .map_err(|error| Error::Internal(error.into()))
        };
        Ok(Self { verifying: build(false)?, trusting: build(true)?, guard, timeout })
    }

    pub async fn post(
        &self,
        url: Url,
        verify_certificate: bool,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
    ) -> Called {
        let not_allowed = Called { answer: Err(NOT_ALLOWED.into()), took: None };
        // Nobody is asked for the address of an address.
        let is_allowed = match url.host() {
            Some(Host::Ipv4(address)) => self.guard.allows(address.into()),
            Some(Host::Ipv6(address)) => self.guard.allows(address.into()),
            Some(Host::Domain(_)) => true,
            None => false,
        };
        let refused = || {
            tracing::info!(
                host = url.host_str(),
                "hooks may not lead here (hooks.allowed_networks), or nobody knows where it is"
            )
        };
        if !is_allowed {
            refused();
            return not_allowed;
        }
        let Some(headers) = header_map(headers) else {
            return Called { answer: Err("The token cannot be sent: it holds control characters".into()), took: None };
        };
        let client = if verify_certificate { &self.verifying } else { &self.trusting };
        let begun = Instant::now();
        let sending = client.post(url.clone()).headers(headers).body(body).send();
        let sent = tokio::time::timeout(self.timeout, sending).await;
        let answer = match sent {
            Err(_) => Err(format!("There was no answer within {} s", self.timeout.as_secs())),
            Ok(Err(error)) => match innermost(&error) {
                cause if cause.is::<NotAllowed>() => {
                    refused();
                    return not_allowed;
                }
                cause => Err(cause.to_string()),
            },
            Ok(Ok(response)) => {
                let left = self.timeout.saturating_sub(begun.elapsed());
                Ok(read(response, left).await)
            }
        };
        Called { answer, took: Some(begun.elapsed()) }
    }
}

/// None if one of them is no header.
fn header_map(headers: Vec<(&'static str, String)>) -> Option<HeaderMap> {
    let value = |text: String| HeaderValue::from_bytes(text.as_bytes()).ok();
    headers.into_iter().map(|(name, text)| Some((HeaderName::from_static(name), value(text)?))).collect()
}

/// What went wrong in the end; what is around it repeats the address.
fn innermost(error: &reqwest::Error) -> &(dyn std::error::Error + 'static) {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause
}

/// It has answered: what becomes of the rest changes nothing.
async fn read(mut response: reqwest::Response, timeout: Duration) -> Answer {
    let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(some)) = response.chunk().await {
            let room = LONGEST_BODY - body.len();
            body.extend_from_slice(&some[..some.len().min(room)]);
            if body.len() == LONGEST_BODY {
                break;
            }
        }
    };
    tokio::time::timeout(timeout, reading).await.ok();
    Answer { status, headers, body }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Counts who calls, and is content with everybody.
    async fn receiver(address: &str, port: u16) -> (u16, Arc<Mutex<usize>>) {
        let listener = TcpListener::bind((address, port)).await.expect("a free port");
        let (port, calls) = (listener.local_addr().expect("it is bound").port(), Arc::new(Mutex::new(0)));
        let counted = calls.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                *counted.lock().expect("nothing panics while holding it") += 1;
                let _ = stream.read(&mut [0; 4096]).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.ok();
            }
        });
        (port, calls)
    }

    /// Rebinding: a name leads where it may when it is asked for first, and to a neighbour the next time, or to both.
    #[tokio::test]
    async fn a_name_is_believed_only_for_the_connection_it_was_checked_for() {
        let (port, welcome) = receiver("127.0.0.2", 0).await;
        let (_, neighbour) = receiver("127.0.0.1", port).await;
        let answers: [&[&str]; 5] =
            [&["127.0.0.2"], &["127.0.0.1"], &["127.0.0.2", "127.0.0.1"], &["::ffff:127.0.0.1"], &["127.0.0.2"]];
        let mut answers = answers.into_iter();
        let next = Mutex::new(move || answers.next().expect("it is asked once for each connection"));
        let lookup: Lookup = Arc::new(move |_| {
            let answer = (next.lock().expect("nothing panics while holding it"))();
            let parse = |text: &&str| SocketAddr::new(text.parse::<IpAddr>().expect("an address"), 0);
            let found = answer.iter().map(parse).collect();
            Box::pin(async move { Ok(found) })
        });
        let guard = Guard::new(&["127.0.0.2/32".parse().expect("a network")]);
        let client = Client::new(guard, lookup, Duration::from_secs(5)).expect("a client");
        let url: Url = format!("http://rebound.example:{port}/").parse().expect("an address");
        let mut seen = Vec::new();
        for _ in 0..5 {
            let called = client.post(url.clone(), true, Vec::new(), Bytes::new()).await;
            seen.push(called.answer.map(|answer| answer.status));
        }
        let refused = || Err(NOT_ALLOWED.to_owned());
        assert_eq!(seen, [Ok(200), refused(), refused(), refused(), Ok(200)]);
        let count = |calls: &Mutex<usize>| *calls.lock().expect("nothing panics while holding it");
        assert_eq!((count(&welcome), count(&neighbour)), (2, 0));
    }
}
