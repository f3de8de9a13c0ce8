//! Where a repository is copied from. What was checked is what is called: the address is passed on, not the name.

use std::net::SocketAddr;
use std::time::Duration;

use holdfast_domain::repository::ImportUrl;
use holdfast_git::import::Source;
use url::{Host, Url};

use crate::network::{Guard, NOT_ALLOWED};
use crate::{App, Error, Result};

const MOST_REDIRECTS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(30);

async fn address(app: &App, url: &ImportUrl) -> Result<SocketAddr> {
    let guard = Guard::new(&app.settings.import_networks);
    let looking = tokio::time::timeout(PATIENCE, guard.find(url.host(), url.port())).await;
    let found = looking.ok().flatten().and_then(|found| found.first().copied());
    found.ok_or_else(|| Error::Refused(NOT_ALLOWED.into()))
}

/// Follows redirects, each to an address that was checked, until somebody answers for the repository itself.
pub(super) async fn find(app: &App, url: ImportUrl) -> Result<Source> {
    let mut url = url;
    for _ in 0..=MOST_REDIRECTS {
        let address = address(app, &url).await?;
        match url.url().scheme() {
            "http" | "https" => match redirect(&url, address).await? {
                None => return Ok(over_http(&url, address)),
                Some(next) => url = next,
            },
            "git" => return Ok(by_address(&url, address, "git")),
            _ => return Ok(by_address(&url, address, "ssh")),
        }
    }
    Err(Error::Refused("The address redirects too often".into()))
}

fn over_http(url: &ImportUrl, address: SocketAddr) -> Source {
    let resolved = match url.host() {
        Host::Domain(name) => Some(format!("{name}:{}:{}", url.port(), address.ip())),
        _ => None,
    };
    let protocol = if url.url().scheme() == "https" { "https" } else { "http" };
    Source { url: url.url().to_string(), protocol, resolved, authorization: authorization(url) }
}

fn authorization(url: &ImportUrl) -> Option<String> {
    let credentials = encoded_credentials(url.username.as_deref()?, url.password.as_deref());
    Some(format!("Basic {credentials}"))
}

/// Returns a name and a password as they are sent over HTTP.
pub(super) fn encoded_credentials(username: &str, password: Option<&str>) -> String {
    use base64::Engine as _;
    let both = format!("{username}:{}", password.unwrap_or_default());
    base64::engine::general_purpose::STANDARD.encode(both)
}

/// These protocols have no place for a name beside the address.
fn by_address(url: &ImportUrl, address: SocketAddr, protocol: &'static str) -> Source {
    let user = match (protocol, &url.username) {
        ("ssh", Some(name)) => format!("{name}@"),
        _ => String::new(),
    };
    let path = url.url().path();
    Source { url: format!("{protocol}://{user}{address}{path}"), protocol, resolved: None, authorization: None }
}

/// Where it leads to, if it is not the thing itself.
async fn redirect(url: &ImportUrl, address: SocketAddr) -> Result<Option<ImportUrl>> {
    const SUFFIX: &str = "/info/refs?service=git-upload-pack";
    let unreachable = |_| Error::Refused(NOT_ALLOWED.into());
    let mut client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(PATIENCE)
        .timeout(PATIENCE);
    if let Host::Domain(name) = url.host() {
        client = client.resolve(name, address);
    }
    let asked = format!("{}{SUFFIX}", url.url().as_str().trim_end_matches('/'));
    let mut request = client.build().map_err(unreachable)?.get(&asked);
    if let Some(value) = authorization(url) {
        request = request.header("Authorization", value);
    }
    let answer = request.send().await.map_err(unreachable)?;
    match answer.status().as_u16() {
        200 => {
            let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
            if kind == Some("application/x-git-upload-pack-advertisement") {
                return Ok(None);
            }
            return Err(Error::Refused("There is no git server at this address that speaks its smart protocol".into()));
        }
        301 | 302 | 307 | 308 => {}
        401 | 403 | 404 => {
            let text = "There is no repository at this address, or it wants a name and a password \
                        (https://NAME:PASSWORD@HOST/…)";
            return Err(Error::Refused(text.into()));
        }
        status => return Err(Error::Refused(format!("The server at this address answered {status}"))),
    }
    let broken = || Error::Refused("The address redirects to something that is no repository".into());
    let to = answer.headers().get("location").and_then(|to| to.to_str().ok()).ok_or_else(broken)?;
    let to: Url = Url::parse(&asked).and_then(|from| from.join(to)).map_err(|_| broken())?;
    let base = to.as_str().strip_suffix(SUFFIX).ok_or_else(broken)?;
    let mut next = ImportUrl::parse(base).map_err(|_| broken())?;
    // A password goes to whom it was given for, and to nobody else.
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

    /// A name leads outside when it is checked, and inside when it is asked for again: what was found the first time is
    /// passed on to git for every protocol.
    #[test]
    fn git_is_told_the_address_that_was_checked() {
        let checked = |port| SocketAddr::new([1, 2, 3, 4].into(), port);
        let source = over_http(&parse("https://code.example/a/b.git"), checked(443));
        assert_eq!(source.resolved.as_deref(), Some("code.example:443:1.2.3.4"));
        assert_eq!(source.url, "https://code.example/a/b.git");
        let source = over_http(&parse("http://code.example:8080/b.git"), checked(8080));
        assert_eq!(source.resolved.as_deref(), Some("code.example:8080:1.2.3.4"));
        let source = by_address(&parse("git://code.example/b.git"), checked(9418), "git");
        assert_eq!((source.url.as_str(), source.protocol), ("git://1.2.3.4:9418/b.git", "git"));
        let source = by_address(&parse("ssh://me@code.example/b.git"), checked(22), "ssh");
        assert_eq!((source.url.as_str(), source.protocol), ("ssh://me@1.2.3.4:22/b.git", "ssh"));
        let v6 = SocketAddr::new([0x2a00, 0, 0, 0, 0, 0, 0, 1].into(), 22);
        assert_eq!(by_address(&parse("ssh://code.example/b"), v6, "ssh").url, "ssh://[2a00::1]:22/b");
    }

    /// So does our own look. No resolver knows this name: whoever asked one would get nowhere.
    #[tokio::test]
    async fn the_look_goes_to_the_address_that_was_checked() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/x-git-upload-pack-advertisement\r\n\
                          content-length: 0\r\n\r\n";
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request[..count]).into_owned()
        };
        let url = parse(&format!("http://import.invalid:{}/x.git", address.port()));
        let (found, request) = tokio::join!(redirect(&url, address), serve);
        assert_eq!(found.unwrap(), None, "it is the thing itself");
        assert!(request.starts_with("GET /x.git/info/refs?service=git-upload-pack HTTP/1.1\r\n"), "{request}");
        assert!(request.contains(&format!("host: import.invalid:{}\r\n", address.port())), "{request}");
    }
}
