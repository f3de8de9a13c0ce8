//! The HTTP client that sends requests to receivers: only to allowed addresses, and without following redirects.

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

use crate::network::{AddressGuard, NOT_ALLOWED};
use crate::{Error, Result};

pub(super) struct Client {
    verifying: reqwest::Client,
    /// For hooks without certificate verification.
    insecure: reqwest::Client,
    guard: AddressGuard,
    timeout: Duration,
}

pub(super) struct ReceiverResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The beginning of the body.
    pub body: Vec<u8>,
}

/// The outcome of a call and its duration. The duration is `None` if no request was sent. For an address that is not
/// allowed it would reveal something about the internal network.
pub(super) struct CallResult {
    pub response: std::result::Result<ReceiverResponse, String>,
    pub duration: Option<Duration>,
}

/// Maximum number of bytes of a response body that are stored.
const MAX_BODY_BYTES: usize = 4096;
/// How long an idle connection is kept: long enough for the next delivery to the same receiver, short enough for
/// thousands of receivers.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_IDLE_PER_HOST: usize = 64;

/// A function that resolves a host name.
pub(super) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Maximum number of concurrent DNS lookups. Each occupies a blocking thread until it ends, even after the request has
/// timed out. The runtime has twice as many blocking threads, and other work needs some of them.
const MAX_CONCURRENT_LOOKUPS: usize = 256;

pub(super) fn system_lookup() -> Lookup {
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_LOOKUPS));
    Arc::new(move |name| {
        let permits = permits.clone();
        Box::pin(async move {
            let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
            let lookup = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                Ok((name, 0).to_socket_addrs()?.collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    })
}

/// A resolver that returns addresses only if all of them are allowed. Each connection resolves its name once, so the
/// addresses that were checked are those that it connects to.
struct Resolver {
    guard: AddressGuard,
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
            let admitted = found.await.ok().and_then(|found| guard.require_all_allowed(found)).ok_or(NotAllowed)?;
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

impl Client {
    pub fn new(guard: AddressGuard, lookup: Lookup, timeout: Duration) -> Result<Self> {
        let build = |is_insecure: bool| {
            reqwest::Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .dns_resolver(Resolver { guard: guard.clone(), lookup: lookup.clone() })
                .tls_danger_accept_invalid_certs(is_insecure)
                .pool_idle_timeout(IDLE_TIMEOUT)
                .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
                .tcp_nodelay(true)
                .http1_only()
                .build()
                .map_err(|error| Error::Internal(error.into()))
        };
        Ok(Self { verifying: build(false)?, insecure: build(true)?, guard, timeout })
    }

    pub async fn post(
        &self,
        url: Url,
        verify_certificate: bool,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
    ) -> CallResult {
        let not_allowed = CallResult { response: Err(NOT_ALLOWED.into()), duration: None };
        // A literal IP address is not resolved, so the guard checks it here instead of in the resolver.
        let is_allowed = match url.host() {
            Some(Host::Ipv4(address)) => self.guard.allows(address.into()),
            Some(Host::Ipv6(address)) => self.guard.allows(address.into()),
            Some(Host::Domain(_)) => true,
            None => false,
        };
        let log_rejection = || {
            tracing::info!(
                host = url.host_str(),
                "webhook not sent: host cannot be resolved, or its address is not allowed by hooks.allowed_networks"
            )
        };
        if !is_allowed {
            log_rejection();
            return not_allowed;
        }
        let Some(headers) = header_map(headers) else {
            return CallResult {
                response: Err("The token contains control characters and cannot be sent. Set another token.".into()),
                duration: None,
            };
        };
        let client = if verify_certificate { &self.verifying } else { &self.insecure };
        let started_at = Instant::now();
        let sending = client.post(url.clone()).headers(headers).body(body).send();
        let sent = tokio::time::timeout(self.timeout, sending).await;
        let response = match sent {
            Err(_) => Err(format!("No response within {} s", self.timeout.as_secs())),
            Ok(Err(error)) => match root_cause(&error) {
                cause if cause.is::<NotAllowed>() => {
                    log_rejection();
                    return not_allowed;
                }
                cause => Err(cause.to_string()),
            },
            Ok(Ok(response)) => {
                let remaining = self.timeout.saturating_sub(started_at.elapsed());
                Ok(read_response(response, remaining).await)
            }
        };
        CallResult { response, duration: Some(started_at.elapsed()) }
    }
}

/// Returns `None` if one of the values is not a valid header value.
fn header_map(headers: Vec<(&'static str, String)>) -> Option<HeaderMap> {
    let value = |text: String| HeaderValue::from_bytes(text.as_bytes()).ok();
    headers.into_iter().map(|(name, text)| Some((HeaderName::from_static(name), value(text)?))).collect()
}

/// Returns the innermost cause. The outer errors repeat the URL.
fn root_cause(error: &reqwest::Error) -> &(dyn std::error::Error + 'static) {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause
}

/// Reads the beginning of the body. Errors and timeouts are ignored, because the status has been received.
async fn read_response(mut response: reqwest::Response, timeout: Duration) -> ReceiverResponse {
    let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let remaining = MAX_BODY_BYTES - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(remaining)]);
            if body.len() == MAX_BODY_BYTES {
                break;
            }
        }
    };
    tokio::time::timeout(timeout, reading).await.ok();
    ReceiverResponse { status, headers, body }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Starts a receiver that counts connections and responds with 200 to each.
    async fn receiver(address: &str, port: u16) -> (u16, Arc<Mutex<usize>>) {
        let listener = TcpListener::bind((address, port)).await.expect("a free port");
        let (port, calls) = (listener.local_addr().expect("it is bound").port(), Arc::new(Mutex::new(0)));
        let counted = calls.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                *counted.lock().expect("mutex is never poisoned: no code panics while holding it") += 1;
                let _ = stream.read(&mut [0; 4096]).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.ok();
            }
        });
        (port, calls)
    }

    /// Attack (DNS rebinding): a name resolves to an allowed address first, and to an internal address the next time,
    /// or to both.
    #[tokio::test]
    async fn dns_rebinding_is_rejected() {
        let (port, allowed) = receiver("127.0.0.2", 0).await;
        let (_, neighbour) = receiver("127.0.0.1", port).await;
        let answers: [&[&str]; 5] =
            [&["127.0.0.2"], &["127.0.0.1"], &["127.0.0.2", "127.0.0.1"], &["::ffff:127.0.0.1"], &["127.0.0.2"]];
        let mut answers = answers.into_iter();
        let next = Mutex::new(move || answers.next().expect("it is asked once for each connection"));
        let lookup: Lookup = Arc::new(move |_| {
            let answer = (next.lock().expect("mutex is never poisoned: no code panics while holding it"))();
            let parse = |text: &&str| SocketAddr::new(text.parse::<IpAddr>().expect("an address"), 0);
            let found = answer.iter().map(parse).collect();
            Box::pin(async move { Ok(found) })
        });
        let guard = AddressGuard::new(&["127.0.0.2/32".parse().expect("a network")]);
        let client = Client::new(guard, lookup, Duration::from_secs(5)).expect("a client");
        let url: Url = format!("http://rebound.example:{port}/").parse().expect("an address");
        let mut seen = Vec::new();
        for _ in 0..5 {
            let result = client.post(url.clone(), true, Vec::new(), Bytes::new()).await;
            seen.push(result.response.map(|answer| answer.status));
        }
        let refused = || Err(NOT_ALLOWED.to_owned());
        assert_eq!(seen, [Ok(200), refused(), refused(), refused(), Ok(200)]);
        let count =
            |calls: &Mutex<usize>| *calls.lock().expect("mutex is never poisoned: no code panics while holding it");
        assert_eq!((count(&allowed), count(&neighbour)), (2, 0));
    }
}
