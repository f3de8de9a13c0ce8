//! A client that pushes, fetches and clones through random nodes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

use super::Harness;
use super::git::{MAIN, NewCommit};
use super::known_refs::KnownRefs;
use super::node::Node;
use super::push::{Expected, RefUpdate, push};
use super::rest::Project;
use super::setup::PROJECTS;
use super::wire::Wire;

/// A client with its own local repository and its own refs in each project.
pub struct Client {
    pub harness: Arc<Harness>,
    pub name: String,
    pub random: StdRng,
    /// Local repository for all projects. A push sends the objects that the project lacks.
    pub repository: PathBuf,
    pub known_refs: KnownRefs,
    pub wire: Wire,
    commits: u64,
}

/// Number of branches, and of tags, of each client in each project.
const REFS_PER_KIND: u32 = 6;
/// Packs with this much incompressible data are stored in the object store instead of the database.
const LARGE_CONTENT_BYTES: std::ops::Range<usize> = 70_000..400_000;

pub async fn run(harness: Arc<Harness>, number: u16) -> anyhow::Result<()> {
    let mut client = Client::new(harness, number).await?;
    while !client.harness.finished.is_cancelled() {
        client.run_operation().await?;
    }
    Ok(())
}

impl Client {
    pub async fn new(harness: Arc<Harness>, number: u16) -> anyhow::Result<Self> {
        let name = format!("c{number}");
        let repository = harness.directory.join(format!("client-{number}.git"));
        let path = repository.to_string_lossy().into_owned();
        let origin = harness.origin.to_string_lossy().into_owned();
        harness.git.run_local(&harness.directory, &["clone", "--quiet", "--mirror", &origin, &path], b"").await?;
        let random = StdRng::seed_from_u64(harness.seed.wrapping_add(1 + u64::from(number)));
        Ok(Self { harness, name, random, repository, known_refs: KnownRefs::default(), wire: Wire::new()?, commits: 0 })
    }

    async fn run_operation(&mut self) -> anyhow::Result<()> {
        let project = {
            let projects = self.harness.projects();
            projects.choose(&mut self.random).cloned()
        };
        let Some(project) = project else { return Ok(()) };
        if self.harness.faults.is_store_failing {
            match self.random.random_range(0..100) {
                0..55 => return self.update_refs(&project).await,
                55..58 => return self.fork(&project).await,
                _ => {}
            }
        }
        match self.random.random_range(0..100) {
            0..22 => self.push_one(&project, false).await,
            22..32 => self.push_one(&project, true).await,
            32..46 => self.push_several(&project).await,
            46..54 => self.delete_ref(&project).await,
            54..72 => self.race(&project).await,
            72..76 => self.push_rejected(&project).await,
            76..88 => self.list_refs(&project).await,
            88..95 => self.fetch(&project).await,
            95..98 => self.clone_all(&project).await,
            _ => self.fork(&project).await,
        }
    }

    /// Picks a running node, and waits for one if all are down. The node can be killed right after.
    pub async fn pick_node(&mut self) -> Arc<Node> {
        loop {
            let running: Vec<&Arc<Node>> = self.harness.nodes.iter().filter(|node| node.life().is_some()).collect();
            if let Some(node) = running.choose(&mut self.random) {
                return Arc::clone(node);
            }
            if !self.harness.pause(Duration::from_millis(50)).await {
                return self.harness.nodes[0].clone();
            }
        }
    }

    pub fn random_branch(&mut self) -> String {
        format!("refs/heads/{}/b{}", self.name, self.random.random_range(0..REFS_PER_KIND))
    }

    pub fn random_tag(&mut self) -> String {
        format!("refs/tags/{}-t{}", self.name, self.random.random_range(0..REFS_PER_KIND))
    }

    async fn commit(&mut self, parent: Option<&str>, is_large: bool) -> anyhow::Result<String> {
        self.commits += 1;
        let size =
            if is_large { self.random.random_range(LARGE_CONTENT_BYTES) } else { self.random.random_range(10..2000) };
        let mut content = vec![0; size];
        self.random.fill_bytes(&mut content);
        let file = format!("{}-{}", self.name, self.random.random_range(0..20));
        let name = format!("{}-{}", self.name, self.commits);
        let new = NewCommit { name: &name, parent, file: &file, content: &content };
        self.harness.git.commit(&self.repository, &new).await
    }

    /// Plans an update of one of this client's own refs: usually a fast-forward of a branch, sometimes a forced update.
    async fn plan_update(&mut self, project: &Project, name: String, is_large: bool) -> anyhow::Result<RefUpdate> {
        let expected = self.known_refs.expected(project.id, &name, project.is_fork());
        let last = self.known_refs.last(project.id, &name).map(str::to_owned);
        let is_tag = name.starts_with("refs/tags/");
        let is_reset = self.random.random_bool(0.2);
        let base = format!("refs/origin/{}", self.random.random_range(0..PROJECTS));
        let parent = if is_tag || is_reset { None } else { last };
        let mut new = self.commit(Some(parent.as_deref().unwrap_or(&base)), is_large).await?;
        if is_tag && self.random.random_bool(0.5) {
            new = self.harness.git.tag(&self.repository, &name["refs/tags/".len()..], &new).await?;
        }
        Ok(RefUpdate { name, new: Some(new), is_forced: is_tag || is_reset, expected })
    }

    pub async fn push(&mut self, project: &Project, updates: &[RefUpdate], is_atomic: bool) -> anyhow::Result<()> {
        let node = self.pick_node().await;
        let outcomes = push(&self.harness, &self.repository, project, &node, updates, is_atomic).await?;
        for (update, outcome) in updates.iter().zip(&outcomes) {
            if update.name.contains(&self.name) {
                self.known_refs.record(project.id, update, outcome);
            }
        }
        Ok(())
    }

    pub async fn push_one(&mut self, project: &Project, is_large: bool) -> anyhow::Result<()> {
        let name = if self.random.random_bool(0.25) { self.random_tag() } else { self.random_branch() };
        let update = self.plan_update(project, name, is_large).await?;
        self.push(project, &[update], false).await
    }

    /// Pushes several refs at once, sometimes together with a ref that other clients update, too.
    async fn push_several(&mut self, project: &Project) -> anyhow::Result<()> {
        let mut updates: Vec<RefUpdate> = Vec::new();
        for _ in 0..self.random.random_range(2..6) {
            let name = if self.random.random_bool(0.3) { self.random_tag() } else { self.random_branch() };
            if updates.iter().any(|wish| wish.name == name) {
                continue;
            }
            let expected = self.known_refs.expected(project.id, &name, project.is_fork());
            let exists = self.known_refs.last(project.id, &name).is_some();
            updates.push(match exists && self.random.random_bool(0.25) {
                true => RefUpdate { name, new: None, is_forced: false, expected },
                false => self.plan_update(project, name, false).await?,
            });
        }
        if self.random.random_bool(0.3) {
            let new = self.commit(None, false).await?;
            updates.push(RefUpdate {
                name: SHARED.into(),
                new: Some(new),
                is_forced: true,
                expected: Expected::Anything,
            });
        }
        let is_atomic = self.random.random_bool(0.5);
        self.push(project, &updates, is_atomic).await
    }

    async fn delete_ref(&mut self, project: &Project) -> anyhow::Result<()> {
        let name = if self.random.random_bool(0.4) { self.random_tag() } else { self.random_branch() };
        if self.known_refs.last(project.id, &name).is_none() {
            return Ok(());
        }
        let expected = self.known_refs.expected(project.id, &name, project.is_fork());
        self.push(project, &[RefUpdate { name, new: None, is_forced: false, expected }], false).await
    }

    /// Updates a branch that all clients update: the default branch by a fast-forward, or the shared one by force.
    async fn race(&mut self, project: &Project) -> anyhow::Result<()> {
        let (name, is_forced) = if self.random.random_bool(0.6) { (MAIN, false) } else { (SHARED, true) };
        let mut parent = None;
        if !is_forced {
            let local_ref = format!("refs/seen/{}", project.id);
            if !self.fetch_main(project, &local_ref).await? {
                return Ok(());
            }
            parent = Some(local_ref);
        }
        let new = self.commit(parent.as_deref(), false).await?;
        let update = RefUpdate { name: name.into(), new: Some(new), is_forced, expected: Expected::Anything };
        self.push(project, &[update], false).await
    }

    async fn push_rejected(&mut self, project: &Project) -> anyhow::Result<()> {
        let blocked = self.random_branch();
        let exists = self.known_refs.last(project.id, &blocked).is_some();
        let is_certain = self.known_refs.expected(project.id, &blocked, project.is_fork()) == Expected::Success;
        let (name, new) = match self.random.random_range(0..3) {
            0 if exists && is_certain => (format!("{blocked}/below"), Some(self.commit(None, false).await?)),
            // The default branch is protected.
            1 if !project.is_fork() => (MAIN.into(), Some(self.commit(None, false).await?)),
            _ => (MAIN.into(), None),
        };
        self.push(project, &[RefUpdate { name, new, is_forced: true, expected: Expected::Rejection }], false).await
    }
}

/// An unprotected branch that all clients update.
const SHARED: &str = "refs/heads/shared";
