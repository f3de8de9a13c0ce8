//! A minimal git client over HTTP. Ref updates among existing objects need only an empty pack, and starting a git
//! process for each of thousands of pushes would take too long.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::Harness;
use super::history::{Push, UpdateOutcome};
use super::node::Node;
use super::push::{PushContext, RefUpdate, check_outcomes, is_rejection};
use super::rest::Project;

pub struct Wire(reqwest::Client);

/// A response that takes longer than this is a violation.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);
const NO_ID: &str = "0000000000000000000000000000000000000000";
/// A pack without objects: the header and its checksum.
const EMPTY_PACK: &[u8] =
    b"PACK\0\0\0\x02\0\0\0\0\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e";

/// A ref update with the current value of the ref.
pub struct PlannedUpdate {
    pub update: RefUpdate,
    pub old: Option<String>,
}

impl Wire {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self(reqwest::Client::builder().no_proxy().timeout(RESPONSE_TIMEOUT).build()?))
    }

    /// Pushes ref updates among existing objects, records the push, and returns the outcome of each update.
    pub async fn push(
        &self,
        harness: &Harness,
        project: &Project,
        node: &Node,
        updates: &[PlannedUpdate],
    ) -> Vec<UpdateOutcome> {
        let (run, since) = (node.life(), Instant::now());
        let result = self.send(harness, &project.url(node), "git-receive-pack", request_body(updates)).await;
        let was_killed = run.is_none() || node.life() != run;
        let (report, output) = match result {
            Ok(response) => (read_report(&response), String::from_utf8_lossy(&response).into_owned()),
            Err(error) => (HashMap::new(), format!("{error:#}")),
        };
        let outcome_of = |it: &PlannedUpdate| {
            report.get(&it.update.name).map_or(UpdateOutcome::Unknown, |reason| classify(reason.as_deref(), it))
        };
        let outcomes: Vec<UpdateOutcome> = updates.iter().map(outcome_of).collect();
        let refs = updates.iter().zip(&outcomes).map(|(it, fate)| it.update.attempted(fate)).collect();
        let push = Push { project: project.id, node: node.name.clone(), is_atomic: false, refs };
        let ref_updates: Vec<RefUpdate> = updates.iter().map(|it| it.update.clone()).collect();
        check_outcomes(
            harness,
            &push,
            &ref_updates,
            PushContext { was_killed, can_be_rejected: false, output: &output, since },
        );
        harness.history.record(push);
        outcomes
    }

    /// Fetches a thin pack of the wanted commit while claiming to have others, and returns the bytes of the pack.
    pub async fn fetch_thin(&self, harness: &Harness, url: &str, claims: &Claims<'_>) -> anyhow::Result<Vec<u8>> {
        let response = self.send(harness, url, "git-upload-pack", claims.request(true)).await?;
        Ok(packets(&response).filter_map(|data| data.strip_prefix(b"\x01")).collect::<Vec<_>>().concat())
    }

    /// Sends haves without `done`, and returns whether the server continues the negotiation and acknowledges none.
    pub async fn acknowledges_none(&self, harness: &Harness, url: &str, claims: &Claims<'_>) -> anyhow::Result<bool> {
        let response = self.send(harness, url, "git-upload-pack", claims.request(false)).await?;
        let lines: Vec<&[u8]> = packets(&response).map(<[u8]>::trim_ascii_end).collect();
        Ok(lines == [b"acknowledgments".as_slice(), b"NAK", b""])
    }

    async fn send(&self, harness: &Harness, url: &str, service: &str, body: Vec<u8>) -> anyhow::Result<Vec<u8>> {
        let request = self.0.post(format!("{url}/{service}"));
        let request = request
            .header("Authorization", &harness.git.authorization)
            .header("Content-Type", format!("application/x-{service}-request"))
            .header("Git-Protocol", "version=2")
            .body(body);
        let response = request.send().await?.error_for_status()?;
        Ok(response.bytes().await.context("the response ended early")?.to_vec())
    }
}

/// The wants and haves of a fetch request.
pub struct Claims<'a> {
    pub want: &'a str,
    pub haves: Vec<&'a str>,
    /// Shallow boundary of the client. With one, git searches delta bases in all commits that the client has.
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

fn request_body(updates: &[PlannedUpdate]) -> Vec<u8> {
    let mut body = String::new();
    let mut capabilities = "\0 report-status object-format=sha1 agent=torture";
    for PlannedUpdate { update, old } in updates {
        let (old, new) = (old.as_deref().unwrap_or(NO_ID), update.new.as_deref().unwrap_or(NO_ID));
        let line = format!("{old} {new} {}{capabilities}", update.name);
        capabilities = "";
        body += &format!("{:04x}{line}", line.len() + 4);
    }
    let mut body = (body + "0000").into_bytes();
    if updates.iter().any(|it| it.update.new.is_some()) {
        body.extend(EMPTY_PACK);
    }
    body
}

/// Returns the data of each pkt-line, up to the first one that is incomplete.
fn packets(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_at_checked(4)?;
        let length = usize::from_str_radix(std::str::from_utf8(length).ok()?, 16).ok()?;
        let (data, rest) = rest.split_at_checked(length.saturating_sub(4))?;
        bytes = rest;
        Some(data)
    })
}

/// Parses a push report to a map from ref name to the reason of its rejection, or `None` if the update was accepted.
/// Truncated lines are ignored.
fn read_report(response: &[u8]) -> HashMap<String, Option<String>> {
    let mut report = HashMap::new();
    for line in packets(response) {
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

fn classify(reason: Option<&str>, planned: &PlannedUpdate) -> UpdateOutcome {
    match reason {
        None => UpdateOutcome::Updated { old: Some(planned.old.clone()) },
        Some(reason) if is_rejection(reason) => UpdateOutcome::Rejected(reason.to_owned()),
        Some(reason) => UpdateOutcome::Failed(reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::Expected;

    fn planned(name: &str, old: Option<&str>, new: Option<&str>) -> PlannedUpdate {
        let text = |id: Option<&str>| id.map(str::to_owned);
        let wish = RefUpdate { name: name.into(), new: text(new), is_forced: true, expected: Expected::Success };
        PlannedUpdate { update: wish, old: text(old) }
    }

    #[test]
    fn a_push_has_a_pack_unless_it_only_deletes() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let body = |moves: &[PlannedUpdate]| String::from_utf8_lossy(&super::request_body(moves)).into_owned();
        let removed = body(&[planned("refs/heads/a", Some(&one), None)]);
        assert!(removed.starts_with(&format!("0092{one} {NO_ID} refs/heads/a\0 report-status")), "{removed}");
        assert!(removed.ends_with("0000"), "{removed}");
        let both = body(&[planned("refs/heads/a", Some(&one), None), planned("refs/heads/b", None, Some(&two))]);
        assert!(both.contains(&format!("0062{NO_ID} {two} refs/heads/b0000PACK")), "{both}");
    }

    #[test]
    fn truncated_reports_are_parsed_up_to_the_cut() {
        let whole = b"000eunpack ok\n0014ok refs/heads/a\n0020ng refs/heads/b fetch first\n0000";
        let report = read_report(whole);
        assert_eq!(report["refs/heads/a"], None);
        assert_eq!(report["refs/heads/b"].as_deref(), Some("fetch first"));
        let cut = read_report(&whole[..30]);
        assert_eq!(cut.len(), 0);
        assert_eq!(read_report(b"zzzz").len(), 0);
        let it = planned("refs/heads/b", None, None);
        assert!(matches!(classify(report["refs/heads/b"].as_deref(), &it), UpdateOutcome::Rejected(_)));
        assert!(matches!(classify(Some("unpacker error"), &it), UpdateOutcome::Failed(_)));
        assert_eq!(classify(None, &it), UpdateOutcome::Updated { old: Some(None) });
    }
}
