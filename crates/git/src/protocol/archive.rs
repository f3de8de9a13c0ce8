//! Parses requests of `git archive --remote`, and rewrites them for `git upload-archive`. Archives of the API are
//! created by [`crate::archive`].

use bytes::BytesMut;
use gix::ObjectId;
use tokio::io::AsyncRead;

use crate::pkt::{self, Packet, PacketWriter};
use crate::{Error, Result};

/// A request for an archive. Every argument is parsed and unknown options are rejected, because `git archive` has
/// options that write files and start programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveRequest {
    options: Vec<Vec<u8>>,
    /// The branch, tag or commit as the client named it.
    pub revision: String,
    paths: Vec<Vec<u8>>,
}

const MAX_ARGUMENTS: usize = 64;
const FORMATS: [&[u8]; 4] = [b"tar", b"zip", b"tar.gz", b"tgz"];

/// Reads a request. Returns None if the client sends nothing.
pub async fn read_request(input: &mut (impl AsyncRead + Unpin)) -> Result<Option<ArchiveRequest>> {
    let mut arguments = Vec::new();
    loop {
        match pkt::read(input).await? {
            None if arguments.is_empty() => return Ok(None),
            Some(Packet::Flush) => return ArchiveRequest::from_arguments(arguments).map(Some),
            Some(Packet::Data(data)) if arguments.len() < MAX_ARGUMENTS => {
                let argument = pkt::strip_newline(&data).strip_prefix(b"argument ");
                arguments.push(argument.ok_or_else(|| Error::protocol("the request has no arguments"))?.to_vec());
            }
            Some(Packet::Data(_)) => return Err(Error::protocol("too many arguments")),
            _ => return Err(Error::protocol("the request ended within the arguments")),
        }
    }
}

impl ArchiveRequest {
    fn from_arguments(arguments: Vec<Vec<u8>>) -> Result<Self> {
        let mut request = Self::default();
        let mut names = Vec::new();
        let mut has_options_ended = false;
        for argument in arguments {
            match argument.as_slice() {
                b"--" if !has_options_ended => has_options_ended = true,
                option if !has_options_ended && option.starts_with(b"-") => {
                    if !is_allowed_option(option) {
                        let option = String::from_utf8_lossy(option).into_owned();
                        return Err(Error::protocol(format!("the option {option:?} is not supported")));
                    }
                    request.options.push(argument);
                }
                _ => names.push(argument),
            }
        }
        let mut names = names.into_iter();
        let revision = names.next().and_then(|name| String::from_utf8(name).ok());
        request.revision = revision.ok_or_else(|| Error::protocol("name a branch, a tag or a commit"))?;
        request.paths = names.collect();
        Ok(request)
    }

    /// Returns the request as pkt-lines for git, with the revision replaced by the commit it was resolved to.
    pub fn to_pkt_lines(&self, commit: ObjectId) -> BytesMut {
        let mut buffer = BytesMut::new();
        let mut argument = |word: &[u8]| buffer.put_packet(&[b"argument ", word, b"\n"].concat());
        self.options.iter().for_each(|option| argument(option));
        argument(b"--");
        argument(commit.to_hex().to_string().as_bytes());
        self.paths.iter().for_each(|path| argument(path));
        buffer.put_flush();
        buffer
    }
}

fn is_allowed_option(option: &[u8]) -> bool {
    if let Some(format) = option.strip_prefix(b"--format=") {
        return FORMATS.contains(&format);
    }
    // The prefix must not make the archive unpack outside of its target directory.
    if let Some(prefix) = option.strip_prefix(b"--prefix=") {
        return !prefix.starts_with(b"/") && !prefix.split(|byte| *byte == b'/').any(|part| part == b"..");
    }
    matches!(option, [b'-', b'0'..=b'9'])
}

/// Returns a response that says why there is no archive.
pub fn error_response(text: &str) -> BytesMut {
    let mut buffer = BytesMut::new();
    buffer.put_packet(format!("NACK {text}\n").as_bytes());
    buffer.put_flush();
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(arguments: &[&str]) -> Result<Option<ArchiveRequest>> {
        let mut buffer = BytesMut::new();
        for argument in arguments {
            buffer.put_packet(format!("argument {argument}\n").as_bytes());
        }
        buffer.put_flush();
        read_request(&mut &buffer[..]).await
    }

    #[tokio::test]
    async fn request_is_rewritten_with_the_commit_id() {
        let request = read(&["--format=tgz", "main", "-9", "--prefix=a/", "docs", "src"]).await.unwrap().unwrap();
        assert_eq!(request.revision, "main");
        let pkt_lines = request.to_pkt_lines(ObjectId::null(gix::hash::Kind::Sha1));
        let id = "0".repeat(40);
        let expected = read(&["--format=tgz", "-9", "--prefix=a/", "--", &id, "docs", "src"]).await.unwrap().unwrap();
        assert_eq!(read_request(&mut &pkt_lines[..]).await.unwrap().unwrap(), expected);
    }

    #[tokio::test]
    async fn arguments_after_the_commit_are_paths() {
        let request = read(&["--", "main", "--output=/tmp/x"]).await.unwrap().unwrap();
        assert_eq!(request.paths, [b"--output=/tmp/x".to_vec()]);
        assert!(
            String::from_utf8_lossy(&request.to_pkt_lines(ObjectId::null(gix::hash::Kind::Sha1)))
                .contains("argument --\n")
        );
    }

    /// An attacker passes options of git instead of a revision (Gogs GHSA-9pp6-wq8c-3w2c and similar).
    #[tokio::test]
    async fn unknown_options_are_rejected() {
        let options = [
            "--output=/tmp/x",
            "-o",
            "--exec=sh",
            "--remote=x",
            "--add-file=/etc/passwd",
            "--add-virtual-file=a:b",
            "--format=evil",
            "--format",
            "--worktree-attributes",
            "-99",
            "--prefix=../",
            "--prefix=/etc/",
            "-l",
            "-",
        ];
        for option in options {
            assert!(read(&[option, "main"]).await.is_err(), "{option}");
            assert!(read(&["main", option]).await.is_err(), "{option} behind");
        }
        assert!(read(&[]).await.is_err());
    }
}
