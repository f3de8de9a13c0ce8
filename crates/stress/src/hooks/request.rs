//! A minimal HTTP parser for the webhook receiver, which must be able to close the connection at any byte.

use std::collections::HashMap;
use std::io::{self, ErrorKind};

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// Header values by lower-case name.
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Result<&str, String> {
        self.headers.get(name).map(String::as_str).ok_or_else(|| format!("there is no header {name}"))
    }
}

/// Reads a request. Returns `None` at the end of the connection, and for incomplete or malformed requests.
pub async fn read(input: &mut (impl AsyncBufRead + Unpin)) -> Option<Request> {
    read_whole(input).await.ok()
}

async fn read_whole(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Request> {
    let first = read_line(input).await?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = words.next().zip(words.next()).ok_or(ErrorKind::InvalidData)?;
    let mut headers = HashMap::new();
    loop {
        let line = read_line(input).await?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or(ErrorKind::InvalidData)?;
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    input.read_exact(&mut body).await?;
    Ok(Request { method, path, headers, body })
}

async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line).await?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pipelined_requests_are_read_until_truncated() {
        let mut input =
            &b"POST /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}POST /4 HTTP/1.1\r\n\r\nPOST /5 HTTP/1.1\r\n"
                [..];
        let first = read(&mut input).await.unwrap();
        assert_eq!((first.method.as_str(), first.path.as_str(), &first.body[..]), ("POST", "/3", &b"{}"[..]));
        assert_eq!(first.header("host"), Ok("a"));
        assert!(first.header("webhook-id").is_err());
        assert_eq!(read(&mut input).await.unwrap().path, "/4");
        assert!(read(&mut input).await.is_none());
    }
}
