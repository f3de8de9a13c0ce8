//! Resolves and checks the source of an import. Git connects to the address that was checked, and does not resolve the
//! name again.

use std::net::SocketAddr;
use std::time::Duration;

use holdfast_domain::repository::ImportUrl;
use holdfast_git::import::ImportSource;
use url::{Host, Url};

use crate::network::{AddressGuard, NOT_ALLOWED};
use crate::{App, Error, Result};

const MAX_REDIRECTS: usize = 5;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

async fn resolve_address(app: &App, url: &ImportUrl) -> Result<SocketAddr> {
    let guard = AddressGuard::new(&app.settings.import_networks);
    let lookup = tokio::time::timeout(REQUEST_TIMEOUT, guard.resolve(url.host(), url.port())).await;
    let found = lookup.ok().flatten().and_then(|found| found.first().copied());
    found.ok_or_else(|| Error::Rejected(NOT_ALLOWED.into()))
}

/// Follows redirects, each to an address that was checked, until a server responds for the repository itself.
pub(super) async fn resolve(app: &App, url: ImportUrl) -> Result<ImportSource> {
    let mut url = url;
    for _ in 0..=MAX_REDIRECTS {
        let address = resolve_address(app, &url).await?;
        match url.url().scheme() {
            "http" | "https" => match find_redirect(&url, address).await? {
                None => return Ok(http_source(&url, address)),
                Some(next) => url = next,
            },
            "git" => return Ok(source_by_address(&url, address, "git")),
            _ => return Ok(source_by_address(&url, address, "ssh")),
        }
    }
    Err(Error::Rejected("The address redirects too many times".into()))
}

fn http_source(url: &ImportUrl, address: SocketAddr) -> ImportSource {
    let resolved = match url.host() {
        Host::Domain(name) => Some(format!("{name}:{}:{}", url.port(), address.ip())),
        _ => None,
    };
    let protocol = if url.url().scheme() == "https" { "https" } else { "http" };
    ImportSource { url: url.url().to_string(), protocol, resolved, authorization: authorization(url) }
}

fn authorization(url: &ImportUrl) -> Option<String> {
    let credentials = encode_credentials(url.username.as_deref()?, url.password.as_deref());
    Some(format!("Basic {credentials}"))
}

/// Returns a username and a password as they are sent over HTTP.
pub(super) fn encode_credentials(username: &str, password: Option<&str>) -> String {
    use base64::Engine as _;
    let credentials = format!("{username}:{}", password.unwrap_or_default());
    base64::engine::general_purpose::STANDARD.encode(credentials)
}

/// Returns a source with the address in its URL. With these protocols git cannot be given an address beside the name.
fn source_by_address(url: &ImportUrl, address: SocketAddr, protocol: &'static str) -> ImportSource {
    let user = match (protocol, &url.username) {
        ("ssh", Some(name)) => format!("{name}@"),
        _ => String::new(),
    };
    let path = url.url().path();
    ImportSource { url: format!("{protocol}://{user}{address}{path}"), protocol, resolved: None, authorization: None }
}

/// Requests the ref advertisement of a repository. Returns the target if the server redirects, or `None` if it serves
/// the repository.
async fn find_redirect(url: &ImportUrl, address: SocketAddr) -> Result<Option<ImportUrl>> {
    const SUFFIX: &str = "/info/refs?service=git-upload-pack";
    let unreachable = |_| Error::Rejected(NOT_ALLOWED.into());
    let mut client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(REQUEST_TIMEOUT)
        .timeout(REQUEST_TIMEOUT);
    if let Host::Domain(name) = url.host() {
        client = client.resolve(name, address);
    }
    let request_url = format!("{}{SUFFIX}", url.url().as_str().trim_end_matches('/'));
    let mut request = client.build().map_err(unreachable)?.get(&request_url);
    if let Some(value) = authorization(url) {
        request = request.header("Authorization", value);
    }
    let response = request.send().await.map_err(unreachable)?;
    match response.status().as_u16() {
        200 => {
            let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
            if kind == Some("application/x-git-upload-pack-advertisement") {
                return Ok(None);
            }
            return Err(Error::Rejected(
                "There is no git server at this address, or it does not support the smart HTTP protocol".into(),
            ));
        }
        301 | 302 | 307 | 308 => {}
        401 | 403 | 404 => {
            let text = "There is no repository at this address, or it requires a username and a password \
                        (https://NAME:PASSWORD@HOST/…)";
            return Err(Error::Rejected(text.into()));
        }
        status => return Err(Error::Rejected(format!("The server at this address responded with {status}"))),
    }
    let invalid_redirect = || Error::Rejected("The address redirects to a URL that is not a repository".into());
    let value =
        response.headers().get("location").and_then(|target| target.to_str().ok()).ok_or_else(invalid_redirect)?;
    let to: Url = Url::parse(&request_url).and_then(|from| from.join(value)).map_err(|_| invalid_redirect())?;
    let base = to.as_str().strip_suffix(SUFFIX).ok_or_else(invalid_redirect)?;
    let mut next = ImportUrl::parse(base).map_err(|_| invalid_redirect())?;
    // Credentials are sent only to the origin that they were given for.
    if next.url().origin() == url.url().origin() {
        (next.username, next.password) = (url.username.clone(), url.password.clone());
    }
    Ok(Some(next))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn parse(url: &str) -> ImportUrl {
        ImportUrl::parse(url).unwrap()
    }

    /// A name may resolve to an external address when it is checked, and to an internal one later. So git is given the
    /// checked address for every protocol.
    #[test]
    fn git_receives_the_checked_address() {
        let checked = |port| SocketAddr::new([1, 2, 3, 4].into(), port);
        let source = http_source(&parse("https://code.example/a/b.git"), checked(443));
        assert_eq!(source.resolved.as_deref(), Some("code.example:443:1.2.3.4"));
        assert_eq!(source.url, "https://code.example/a/b.git");
        let source = http_source(&parse("http://code.example:8080/b.git"), checked(8080));
        assert_eq!(source.resolved.as_deref(), Some("code.example:8080:1.2.3.4"));
        let source = source_by_address(&parse("git://code.example/b.git"), checked(9418), "git");
        assert_eq!((source.url.as_str(), source.protocol), ("git://1.2.3.4:9418/b.git", "git"));
        let source = source_by_address(&parse("ssh://me@code.example/b.git"), checked(22), "ssh");
        assert_eq!((source.url.as_str(), source.protocol), ("ssh://me@1.2.3.4:22/b.git", "ssh"));
        let v6 = SocketAddr::new([0x2a00, 0, 0, 0, 0, 0, 0, 1].into(), 22);
        assert_eq!(source_by_address(&parse("ssh://code.example/b"), v6, "ssh").url, "ssh://[2a00::1]:22/b");
    }

    /// No resolver knows this name, so the probe fails if it resolves the name again.
    #[tokio::test]
    async fn the_redirect_probe_connects_to_the_checked_address() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.unwrap();
            let response = "HTTP/1.1 200 OK\r\ncontent-type: application/x-git-upload-pack-advertisement\r\n\
                          content-length: 0\r\n\r\n";
            stream.write_all(response.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request[..count]).into_owned()
        };
        let url = parse(&format!("http://import.invalid:{}/x.git", address.port()));
        let (found, request) = tokio::join!(find_redirect(&url, address), serve);
        assert_eq!(found.unwrap(), None, "it is the thing itself");
        assert!(request.starts_with("GET /x.git/info/refs?service=git-upload-pack HTTP/1.1\r\n"), "{request}");
        assert!(request.contains(&format!("host: import.invalid:{}\r\n", address.port())), "{request}");
    }
}
