//! Whether what no ref of a project leads to is refused at every door that takes an id.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use holdfast_store::repository::audit::Audited;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use crate::command::torture::World;
use crate::command::torture::node::Node;
use crate::command::torture::wire::{Claims, Wire};

/// Of what was pushed to this project, and of what was pushed to others.
const SAMPLES: usize = 3;

/// A commit, and a file of it.
struct Target {
    commit: String,
    blob: String,
    file: String,
}

pub async fn check(world: &World, fresh: &Node, repository: &Audited, mirror: &Path) -> anyhow::Result<()> {
    let project = repository.project.get();
    let listed = world.git.local(mirror, &["rev-list", "--objects", "--all"], b"").await?;
    let reachable: HashSet<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    let mut random = StdRng::seed_from_u64(world.seed.wrapping_add(project.unsigned_abs()));
    let hidden = world.ledger.tried().into_iter().filter(|(_, _, id)| !reachable.contains(id.as_str()));
    let (own, others): (Vec<_>, Vec<_>) = hidden.partition(|(of, ..)| *of == project);
    let mut samples: BTreeSet<(String, PathBuf)> = BTreeSet::new();
    for of in [&own, &others] {
        let some = of.sample(&mut random, SAMPLES);
        samples.extend(some.filter_map(|(_, name, id)| Some((id.clone(), pusher(world, name)?))));
    }
    let url = format!("http://{}/{}.git", fresh.address, repository.path);
    let nothing = format!("{:040x}", random.random::<u128>());
    let of_nothing = Target { commit: nothing.clone(), blob: nothing, file: "README".into() };
    let answers = ask(world, fresh, project, &of_nothing).await?;
    for (id, repository) in samples {
        if fetch(world, mirror, &url, &id).await? {
            violate(world, project, &format!("{id} was given by a fetch"));
        }
        check_thin_pack(world, project, mirror, &url, &id).await?;
        let Some(target) = target(world, &repository, &id, &reachable).await? else { continue };
        if fetch(world, mirror, &url, &target.blob).await? {
            violate(world, project, &format!("the blob {} was given by a fetch", target.blob));
        }
        for ((door, status), (_, must_be)) in ask(world, fresh, project, &target).await?.iter().zip(&answers) {
            if status != must_be {
                violate(world, project, &format!("{door} was answered {status}, not {must_be} as for nothing"));
            }
        }
        world.ledger.count(|counts| counts.hidden += 1);
    }
    check_readable(world, fresh, project, mirror).await
}

/// Fetches a thin pack while claiming to have a hidden commit and, so that the pack is thin at all, the parent of the tip.
/// The mirror has exactly what refs reach: it completes the pack, unless a delta is one against something else.
async fn check_thin_pack(world: &World, project: i64, mirror: &Path, url: &str, hidden: &str) -> anyhow::Result<()> {
    let Ok(tip) = world.git.local(mirror, &["rev-parse", "--verify", "HEAD^{commit}"], b"").await else {
        return Ok(());
    };
    let parent = world.git.local(mirror, &["rev-parse", "--verify", "HEAD^"], b"").await;
    let wire = Wire::new()?;
    let mut claims = Claims { want: &tip, haves: vec![hidden], shallow: None };
    if !wire.acknowledges_none(world, url, &claims).await? {
        violate(world, project, &format!("{hidden} was acknowledged, or ended the negotiation"));
    }
    claims.haves.extend(parent.as_deref().ok());
    claims.shallow = parent.as_deref().ok();
    let pack = wire.fetch_thin(world, url, &claims).await?;
    let completed = world.git.run(mirror, &["index-pack", "--stdin", "--fix-thin"], &pack).await?;
    if !completed.success {
        let said = completed.said.trim();
        violate(
            world,
            project,
            &format!("a pack for a client that claims to have {hidden} cannot be completed: {said}"),
        );
    }
    Ok(())
}

fn violate(world: &World, project: i64, text: &str) {
    world.ledger.violate(format!("seed {}: project {project}: no ref leads there, but {text}", world.seed));
}

/// So that a refusal means something: what a ref leads to is given at the same doors.
async fn check_readable(world: &World, fresh: &Node, project: i64, mirror: &Path) -> anyhow::Result<()> {
    let Ok(commit) = world.git.local(mirror, &["rev-parse", "--verify", "HEAD"], b"").await else { return Ok(()) };
    let Some(target) = target(world, mirror, &commit, &HashSet::new()).await? else { return Ok(()) };
    for (door, status) in ask(world, fresh, project, &target).await? {
        if status != 200 {
            let text = format!("project {project}: {door} was answered {status}, though a ref leads there");
            world.ledger.violate(format!("seed {}: {text}", world.seed));
        }
    }
    Ok(())
}

/// The repository of the client that moves this ref alone, where its objects are.
fn pusher(world: &World, name: &str) -> Option<PathBuf> {
    let name = name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/"))?;
    let number: u16 = name.strip_prefix('c')?.split(['/', '-']).next()?.parse().ok()?;
    Some(world.directory.join(format!("client-{number}.git")))
}

/// None if all of it can be reached in another way.
async fn target(
    world: &World,
    repository: &Path,
    id: &str,
    reachable: &HashSet<&str>,
) -> anyhow::Result<Option<Target>> {
    let commit = world.git.local(repository, &["rev-parse", "--verify", &format!("{id}^{{commit}}")], b"").await?;
    if reachable.contains(commit.as_str()) {
        return Ok(None);
    }
    let listed = world.git.local(repository, &["ls-tree", "-r", &commit], b"").await?;
    let mut files = listed.lines().filter_map(|line| {
        let (of, file) = line.split_once('\t')?;
        Some((of.rsplit(' ').next()?, file))
    });
    let found = files.find(|(blob, _)| !reachable.contains(blob));
    Ok(found.map(|(blob, file)| Target { blob: blob.to_owned(), file: file.to_owned(), commit }))
}

async fn fetch(world: &World, mirror: &Path, url: &str, id: &str) -> anyhow::Result<bool> {
    Ok(world.git.run(mirror, &["fetch", "--quiet", "--no-tags", url, id], b"").await?.success)
}

/// The status at each door of the interface.
async fn ask(world: &World, fresh: &Node, project: i64, target: &Target) -> anyhow::Result<Vec<(String, u16)>> {
    let Target { commit, blob, file } = target;
    let doors = [
        format!("raw_blobs/{blob}"),
        format!("blobs/{commit}?filepath={file}"),
        format!("archive?sha={commit}"),
        format!("compare?from=main&to={commit}"),
        format!("compare?from={commit}&to=main"),
        format!("tree?ref_name={commit}"),
        format!("commits/{commit}/statuses"),
    ];
    let mut answers = Vec::new();
    for door in doors {
        let path = format!("/projects/{project}/repository/{door}");
        let status = world.rest.status(fresh, &path).await?;
        answers.push((path, status));
    }
    Ok(answers)
}
