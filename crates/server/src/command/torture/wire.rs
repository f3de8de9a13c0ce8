//! A push without git: refs that are moved among objects that are there need no pack worth the name, and thousands of
//! processes would take an hour.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::World;
use super::ledger::{Fate, Push};
use super::node::Node;
use super::push::{Circumstances, Wish, is_refusal, judge};
use super::rest::Project;

pub struct Wire(reqwest::Client);

/// No answer after this time is as bad as a wrong one.
const PATIENCE: Duration = Duration::from_secs(120);
const NO_ID: &str = "0000000000000000000000000000000000000000";
/// A head that says there is nothing in it, and its checksum.
const EMPTY_PACK: &[u8] =
    b"PACK\0\0\0\x02\0\0\0\0\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e";

/// Where a ref is, and where it shall go.
pub struct Move {
    pub wish: Wish,
    pub old: Option<String>,
}

impl Wire {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self(reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?))
    }

    /// What became of each ref.
    pub async fn push(&self, world: &World, project: &Project, node: &Node, moves: &[Move]) -> Vec<Fate> {
        let (life, since) = (node.life(), Instant::now());
        let answered = self.send(world, &project.url(node), "git-receive-pack", body(moves)).await;
        let was_harmed = life.is_none() || node.life() != life;
        let (report, said) = match answered {
            Ok(answer) => (read_report(&answer), String::from_utf8_lossy(&answer).into_owned()),
            Err(error) => (HashMap::new(), format!("{error:#}")),
        };
        let fate_of = |it: &Move| report.get(&it.wish.name).map_or(Fate::Unknown, |reason| fate(reason.as_deref(), it));
        let fates: Vec<Fate> = moves.iter().map(fate_of).collect();
        let refs = moves.iter().zip(&fates).map(|(it, fate)| it.wish.tried(fate)).collect();
        let push = Push { project: project.id, node: node.name.clone(), atomic: false, refs };
        let wishes: Vec<Wish> = moves.iter().map(|it| it.wish.clone()).collect();
        judge(world, &push, &wishes, Circumstances { was_harmed, may_lose: false, said: &said, since });
        world.ledger.record(push);
        fates
    }

    /// Fetches a thin pack of what is wanted, claiming to have some commits, and returns the bytes of the pack.
    pub async fn fetch_thin(&self, world: &World, url: &str, claims: &Claims<'_>) -> anyhow::Result<Vec<u8>> {
        let response = self.send(world, url, "git-upload-pack", claims.request(true)).await?;
        Ok(packets(&response).filter_map(|data| data.strip_prefix(b"\x01")).collect::<Vec<_>>().concat())
    }

    /// Names commits without being done, and returns whether the server goes on negotiating and acknowledges none.
    pub async fn acknowledges_none(&self, world: &World, url: &str, claims: &Claims<'_>) -> anyhow::Result<bool> {
        let response = self.send(world, url, "git-upload-pack", claims.request(false)).await?;
        let lines: Vec<&[u8]> = packets(&response).map(<[u8]>::trim_ascii_end).collect();
        Ok(lines == [b"acknowledgments".as_slice(), b"NAK", b""])
    }

    async fn send(&self, world: &World, url: &str, service: &str, body: Vec<u8>) -> anyhow::Result<Vec<u8>> {
        let request = self.0.post(format!("{url}/{service}"));
        let request = request
            .header("Authorization", &world.git.authorization)
            .header("Content-Type", format!("application/x-{service}-request"))
            .header("Git-Protocol", "version=2")
            .body(body);
        let answer = request.send().await?.error_for_status()?;
        Ok(answer.bytes().await.context("the answer broke off")?.to_vec())
    }
}

/// What a client says in a fetch.
pub struct Claims<'a> {
    pub want: &'a str,
    pub haves: Vec<&'a str>,
    /// Where the history of the client ends. Git then looks for bases of deltas in all commits that the client has.
    pub shallow: Option<&'a str>,
}

impl Claims<'_> {
    fn request(&self, is_done: bool) -> Vec<u8> {
        let mut body = b"0011command=fetch0001".to_vec();
        let shallow = self.shallow.map(|id| format!("shallow {id}"));
        let haves = self.haves.iter().map(|id| format!("have {id}"));
        let first = ["thin-pack".into(), "no-progress".into(), format!("want {}", self.want)];
        for line in first.into_iter().chain(shallow).chain(haves) {
            body.extend(format!("{:04x}{line}", line.len() + 4).into_bytes());
        }
        body.extend_from_slice(if is_done { b"0008done0000" } else { b"0000" });
        body
    }
}

fn body(moves: &[Move]) -> Vec<u8> {
    let mut body = String::new();
    let mut capabilities = "\0 report-status object-format=sha1 agent=torture";
    for Move { wish, old } in moves {
        let (old, new) = (old.as_deref().unwrap_or(NO_ID), wish.new.as_deref().unwrap_or(NO_ID));
        let line = format!("{old} {new} {}{capabilities}", wish.name);
        capabilities = "";
        body += &format!("{:04x}{line}", line.len() + 4);
    }
    let mut body = (body + "0000").into_bytes();
    if moves.iter().any(|it| it.wish.new.is_some()) {
        body.extend(EMPTY_PACK);
    }
    body
}

/// Returns the data of each packet, up to one that is not complete.
fn packets(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_at_checked(4)?;
        let length = usize::from_str_radix(std::str::from_utf8(length).ok()?, 16).ok()?;
        let (data, rest) = rest.split_at_checked(length.saturating_sub(4))?;
        bytes = rest;
        Some(data)
    })
}

/// By ref, why it was not moved. What is not whole is not believed.
fn read_report(answer: &[u8]) -> HashMap<String, Option<String>> {
    let mut report = HashMap::new();
    for line in packets(answer) {
        let line = String::from_utf8_lossy(line);
        match line.trim_end().split_once(' ') {
            Some(("ok", name)) => _ = report.insert(name.to_owned(), None),
            Some(("ng", rest)) => {
                let (name, reason) = rest.split_once(' ').unwrap_or((rest, ""));
                report.insert(name.to_owned(), Some(reason.to_owned()));
            }
            _ => {}
        }
    }
    report
}

fn fate(reason: Option<&str>, it: &Move) -> Fate {
    match reason {
        None => Fate::Moved { old: Some(it.old.clone()) },
        Some(reason) if is_refusal(reason) => Fate::Refused(reason.to_owned()),
        Some(reason) => Fate::Failed(reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::torture::push::Expected;

    fn to(name: &str, old: Option<&str>, new: Option<&str>) -> Move {
        let text = |id: Option<&str>| id.map(str::to_owned);
        let wish = Wish { name: name.into(), new: text(new), force: true, expected: Expected::Success };
        Move { wish, old: text(old) }
    }

    #[test]
    fn a_push_has_a_pack_unless_it_only_removes() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let body = |moves: &[Move]| String::from_utf8_lossy(&super::body(moves)).into_owned();
        let removed = body(&[to("refs/heads/a", Some(&one), None)]);
        assert!(removed.starts_with(&format!("0092{one} {NO_ID} refs/heads/a\0 report-status")), "{removed}");
        assert!(removed.ends_with("0000"), "{removed}");
        let both = body(&[to("refs/heads/a", Some(&one), None), to("refs/heads/b", None, Some(&two))]);
        assert!(both.contains(&format!("0062{NO_ID} {two} refs/heads/b0000PACK")), "{both}");
    }

    #[test]
    fn a_report_is_read_as_far_as_it_came() {
        let whole = b"000eunpack ok\n0014ok refs/heads/a\n0020ng refs/heads/b fetch first\n0000";
        let report = read_report(whole);
        assert_eq!(report["refs/heads/a"], None);
        assert_eq!(report["refs/heads/b"].as_deref(), Some("fetch first"));
        let cut = read_report(&whole[..30]);
        assert_eq!(cut.len(), 0);
        assert_eq!(read_report(b"zzzz").len(), 0);
        let it = to("refs/heads/b", None, None);
        assert!(matches!(fate(report["refs/heads/b"].as_deref(), &it), Fate::Refused(_)));
        assert!(matches!(fate(Some("unpacker error"), &it), Fate::Failed(_)));
        assert_eq!(fate(None, &it), Fate::Moved { old: Some(None) });
    }
}
