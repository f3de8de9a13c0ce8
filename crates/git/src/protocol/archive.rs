//! What a client asks for when it wants the files of a commit: `git archive --remote`.

use bytes::BytesMut;
use gix::ObjectId;
use tokio::io::AsyncRead;

use crate::pkt::{self, Packet, Write};
use crate::{Error, Result};

/// Understood word by word: what is not known is refused, for among the rest are options that write files and start
/// programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveRequest {
    options: Vec<Vec<u8>>,
    /// What people call the commit.
    pub revision: String,
    paths: Vec<Vec<u8>>,
}

const MOST_ARGUMENTS: usize = 64;
const FORMATS: [&[u8]; 4] = [b"tar", b"zip", b"tar.gz", b"tgz"];

/// None for a client that asks for nothing.
pub async fn read_request(input: &mut (impl AsyncRead + Unpin)) -> Result<Option<ArchiveRequest>> {
    let mut arguments = Vec::new();
    loop {
        match pkt::read(input).await? {
            None if arguments.is_empty() => return Ok(None),
            Some(Packet::Flush) => return ArchiveRequest::from_arguments(arguments).map(Some),
            Some(Packet::Data(data)) if arguments.len() < MOST_ARGUMENTS => {
                let argument = pkt::line(&data).strip_prefix(b"argument ");
                arguments.push(argument.ok_or_else(|| Error::protocol("an argument was expected"))?.to_vec());
            }
            Some(Packet::Data(_)) => return Err(Error::protocol("too many arguments")),
            _ => return Err(Error::protocol("the arguments break off")),
        }
    }
}

impl ArchiveRequest {
    fn from_arguments(arguments: Vec<Vec<u8>>) -> Result<Self> {
        let mut request = Self::default();
        let mut names = Vec::new();
        let mut only_names = false;
        for argument in arguments {
            match argument.as_slice() {
                b"--" if !only_names => only_names = true,
                option if !only_names && option.starts_with(b"-") => {
                    if !is_known(option) {
                        let option = String::from_utf8_lossy(option).into_owned();
                        return Err(Error::protocol(format!("the option {option:?} is not supported here")));
                    }
                    request.options.push(argument);
                }
                _ => names.push(argument),
            }
        }
        let mut names = names.into_iter();
        let revision = names.next().and_then(|name| String::from_utf8(name).ok());
        request.revision = revision.ok_or_else(|| Error::protocol("a branch, a tag or a commit is needed"))?;
        request.paths = names.collect();
        Ok(request)
    }

    /// For git, which reads it as if it came from the client: with the commit found out already.
    pub fn about(&self, commit: ObjectId) -> BytesMut {
        let mut buffer = BytesMut::new();
        let mut argument = |word: &[u8]| buffer.packet(&[b"argument ", word, b"\n"].concat());
        self.options.iter().for_each(|option| argument(option));
        argument(b"--");
        argument(commit.to_hex().to_string().as_bytes());
        self.paths.iter().for_each(|path| argument(path));
        buffer.flush_packet();
        buffer
    }
}

fn is_known(option: &[u8]) -> bool {
    if let Some(format) = option.strip_prefix(b"--format=") {
        return FORMATS.contains(&format);
    }
    // An archive is unpacked by somebody: none from here leads out of the place where that is done.
    if let Some(prefix) = option.strip_prefix(b"--prefix=") {
        return !prefix.starts_with(b"/") && !prefix.split(|byte| *byte == b'/').any(|part| part == b"..");
    }
    matches!(option, [b'-', b'0'..=b'9'])
}

/// Why there is no archive.
pub fn refusal(text: &str) -> BytesMut {
    let mut buffer = BytesMut::new();
    buffer.packet(format!("NACK {text}\n").as_bytes());
    buffer.flush_packet();
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(arguments: &[&str]) -> Result<Option<ArchiveRequest>> {
        let mut buffer = BytesMut::new();
        for argument in arguments {
            buffer.packet(format!("argument {argument}\n").as_bytes());
        }
        buffer.flush_packet();
        read_request(&mut &buffer[..]).await
    }

    #[tokio::test]
    async fn names_the_commit_by_its_id() {
        let request = read(&["--format=tgz", "main", "-9", "--prefix=a/", "docs", "src"]).await.unwrap().unwrap();
        assert_eq!(request.revision, "main");
        let about = request.about(ObjectId::null(gix::hash::Kind::Sha1));
        let id = "0".repeat(40);
        let expected = read(&["--format=tgz", "-9", "--prefix=a/", "--", &id, "docs", "src"]).await.unwrap().unwrap();
        assert_eq!(read_request(&mut &about[..]).await.unwrap().unwrap(), expected);
    }

    #[tokio::test]
    async fn what_follows_the_commit_is_no_option() {
        let request = read(&["--", "main", "--output=/tmp/x"]).await.unwrap().unwrap();
        assert_eq!(request.paths, [b"--output=/tmp/x".to_vec()]);
        assert!(
            String::from_utf8_lossy(&request.about(ObjectId::null(gix::hash::Kind::Sha1))).contains("argument --\n")
        );
    }

    /// Gogs GHSA-9pp6-wq8c-3w2c and its like: options of git in the place of names.
    #[tokio::test]
    async fn unknown_options_are_refused() {
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
