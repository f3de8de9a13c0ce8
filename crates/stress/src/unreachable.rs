//! Checks that objects that are unreachable from the refs of a project cannot be read at any endpoint that takes an
//! object id, and that reachable ones can.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use holdfast_store::repository::audit::AuditedRepository;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use crate::Harness;
use crate::merge_history::SOURCE_BRANCH_INFIX;
use crate::node::Node;
use crate::wire::{Claims, Wire};

/// Number of unreachable objects to check that were pushed to this project, and to other projects.
const SAMPLE_COUNT: usize = 3;

/// A commit, and a file in it.
struct ProbeTarget {
    commit: String,
    blob: String,
    file: String,
}

pub async fn check(
    harness: &Harness,
    fresh: &Node,
    repository: &AuditedRepository,
    mirror: &Path,
) -> anyhow::Result<()> {
    let project = repository.project.get();
    let listed = harness.git.run_local(mirror, &["rev-list", "--objects", "--all"], b"").await?;
    let reachable: HashSet<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    let mut random = StdRng::seed_from_u64(harness.seed.wrapping_add(project.unsigned_abs()));
    // Heads of merge requests can be fetched as long as the request exists.
    let is_unreachable =
        |(_, name, id): &(i64, String, String)| !reachable.contains(id.as_str()) && !name.contains(SOURCE_BRANCH_INFIX);
    let unreachable = harness.history.pushed_ids().into_iter().filter(is_unreachable);
    let (own, others): (Vec<_>, Vec<_>) = unreachable.partition(|(pushed, ..)| *pushed == project);
    let mut samples: BTreeSet<(String, PathBuf)> = BTreeSet::new();
    for of in [&own, &others] {
        let sample = of.sample(&mut random, SAMPLE_COUNT);
        samples.extend(sample.filter_map(|(_, name, id)| Some((id.clone(), pusher_repository(harness, name)?))));
    }
    let url = format!("http://{}/{}.git", fresh.address, repository.path);
    let missing_id = format!("{:040x}", random.random::<u128>());
    let missing_target = ProbeTarget { commit: missing_id.clone(), blob: missing_id, file: "README".into() };
    let expected = probe(harness, fresh, project, &missing_target).await?;
    for (id, repository) in samples {
        if fetch(harness, mirror, &url, &id).await? {
            report_violation(harness, project, &format!("{id} was sent by a fetch"));
        }
        check_thin_pack(harness, project, mirror, &url, &id).await?;
        let Some(target) = find_target(harness, &repository, &id, &reachable).await? else { continue };
        if fetch(harness, mirror, &url, &target.blob).await? {
            report_violation(harness, project, &format!("the blob {} was sent by a fetch", target.blob));
        }
        for ((route, status), (_, expected_status)) in
            probe(harness, fresh, project, &target).await?.iter().zip(&expected)
        {
            if status != expected_status {
                report_violation(
                    harness,
                    project,
                    &format!("{route} returned {status}, not {expected_status} as for a nonexistent object"),
                );
            }
        }
        harness.history.count(|counts| counts.unreachable_probed += 1);
    }
    check_readable(harness, fresh, project, mirror).await
}

/// Fetches a thin pack while claiming to have an unreachable commit and the parent of the tip, without which the pack
/// would not be thin. The mirror has exactly the reachable objects, so it can complete the pack unless a delta is
/// based on another object.
async fn check_thin_pack(
    harness: &Harness,
    project: i64,
    mirror: &Path,
    url: &str,
    unreachable: &str,
) -> anyhow::Result<()> {
    let Ok(tip) = harness.git.run_local(mirror, &["rev-parse", "--verify", "HEAD^{commit}"], b"").await else {
        return Ok(());
    };
    let parent = harness.git.run_local(mirror, &["rev-parse", "--verify", "HEAD^"], b"").await;
    let wire = Wire::new()?;
    let mut claims = Claims { want: &tip, haves: vec![unreachable], shallow: None };
    if !wire.acknowledges_none(harness, url, &claims).await? {
        report_violation(harness, project, &format!("{unreachable} was acknowledged, or ended the negotiation"));
    }
    claims.haves.extend(parent.as_deref().ok());
    claims.shallow = parent.as_deref().ok();
    let pack = wire.fetch_thin(harness, url, &claims).await?;
    let completed = harness.git.run(mirror, &["index-pack", "--stdin", "--fix-thin"], &pack).await?;
    if !completed.is_success {
        let stderr = completed.stderr.trim();
        report_violation(
            harness,
            project,
            &format!("a pack for a client that claims to have {unreachable} cannot be completed: {stderr}"),
        );
    }
    Ok(())
}

fn report_violation(harness: &Harness, project: i64, text: &str) {
    harness
        .history
        .report_violation(format!("seed {}: project {project}: the object is unreachable, but {text}", harness.seed));
}

/// Checks that a reachable commit can be read at the same endpoints. Otherwise their rejections would prove nothing.
async fn check_readable(harness: &Harness, fresh: &Node, project: i64, mirror: &Path) -> anyhow::Result<()> {
    let Ok(commit) = harness.git.run_local(mirror, &["rev-parse", "--verify", "HEAD"], b"").await else {
        return Ok(());
    };
    let Some(target) = find_target(harness, mirror, &commit, &HashSet::new()).await? else { return Ok(()) };
    for (route, status) in probe(harness, fresh, project, &target).await? {
        if status != 200 {
            let text = format!("project {project}: {route} returned {status}, although the object is reachable");
            harness.history.report_violation(format!("seed {}: {text}", harness.seed));
        }
    }
    Ok(())
}

/// Returns the local repository of the client that owns a ref, which has its objects.
fn pusher_repository(harness: &Harness, name: &str) -> Option<PathBuf> {
    let name = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/"))?;
    let number: u16 = name.strip_prefix('c')?.split(['/', '-']).next()?.parse().ok()?;
    Some(harness.directory.join(format!("client-{number}.git")))
}

/// Returns the commit with an unreachable file, or `None` if the commit or all of its files are reachable.
async fn find_target(
    harness: &Harness,
    repository: &Path,
    id: &str,
    reachable: &HashSet<&str>,
) -> anyhow::Result<Option<ProbeTarget>> {
    let commit =
        harness.git.run_local(repository, &["rev-parse", "--verify", &format!("{id}^{{commit}}")], b"").await?;
    if reachable.contains(commit.as_str()) {
        return Ok(None);
    }
    let listed = harness.git.run_local(repository, &["ls-tree", "-r", &commit], b"").await?;
    let mut files = listed.lines().filter_map(|line| {
        let (entry, file) = line.split_once('\t')?;
        Some((entry.rsplit(' ').next()?, file))
    });
    let found = files.find(|(blob, _)| !reachable.contains(blob));
    Ok(found.map(|(blob, file)| ProbeTarget { blob: blob.to_owned(), file: file.to_owned(), commit }))
}

async fn fetch(harness: &Harness, mirror: &Path, url: &str, id: &str) -> anyhow::Result<bool> {
    Ok(harness.git.run(mirror, &["fetch", "--quiet", "--no-tags", url, id], b"").await?.is_success)
}

/// Requests the target at each endpoint that takes an object id, and returns paths and status codes.
async fn probe(
    harness: &Harness,
    fresh: &Node,
    project: i64,
    target: &ProbeTarget,
) -> anyhow::Result<Vec<(String, u16)>> {
    let ProbeTarget { commit, blob, file } = target;
    let routes = [
        format!("raw_blobs/{blob}"),
        format!("blobs/{commit}?filepath={file}"),
        format!("archive?sha={commit}"),
        format!("compare?from=main&to={commit}"),
        format!("compare?from={commit}&to=main"),
        format!("tree?ref_name={commit}"),
        format!("commits/{commit}/statuses"),
    ];
    let mut statuses = Vec::new();
    for route in routes {
        let path = format!("/projects/{project}/repository/{route}");
        let status = harness.rest.get_status(fresh, &path).await?;
        statuses.push((path, status));
    }
    Ok(statuses)
}
