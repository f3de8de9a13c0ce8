//! Somebody who works with git, as anybody would but faster, through whichever node comes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, RngExt as _, SeedableRng as _};

use super::World;
use super::branches::Branches;
use super::git::NewCommit;
use super::node::Node;
use super::push::{Expected, Wish, push};
use super::rest::Project;
use super::wire::Wire;

pub struct Client {
    pub world: Arc<World>,
    pub name: String,
    pub random: StdRng,
    /// One for all projects: what one of them lacks is sent along.
    pub repository: PathBuf,
    pub branches: Branches,
    pub wire: Wire,
    commits: u64,
}

/// Branches and tags of each client in each project.
const NAMES: u32 = 6;
/// A pack with this much that cannot be compressed goes to the object store.
const LARGE: std::ops::Range<usize> = 70_000..400_000;

pub async fn run(world: Arc<World>, number: u16) -> anyhow::Result<()> {
    let mut client = Client::new(world, number).await?;
    while !client.world.over.is_cancelled() {
        client.act().await?;
    }
    Ok(())
}

impl Client {
    pub async fn new(world: Arc<World>, number: u16) -> anyhow::Result<Self> {
        let name = format!("c{number}");
        let repository = world.directory.join(format!("client-{number}.git"));
        let path = repository.to_string_lossy().into_owned();
        let origin = world.origin.to_string_lossy().into_owned();
        world.git.local(&world.directory, &["clone", "--quiet", "--mirror", &origin, &path], b"").await?;
        let random = StdRng::seed_from_u64(world.seed.wrapping_add(1 + u64::from(number)));
        Ok(Self { world, name, random, repository, branches: Branches::default(), wire: Wire::new()?, commits: 0 })
    }

    async fn act(&mut self) -> anyhow::Result<()> {
        let project = {
            let projects = self.world.projects();
            projects.choose(&mut self.random).cloned()
        };
        let Some(project) = project else { return Ok(()) };
        if self.world.faults.store_fails {
            match self.random.random_range(0..100) {
                0..55 => return self.move_refs(&project).await,
                55..58 => return self.fork(&project).await,
                _ => {}
            }
        }
        match self.random.random_range(0..100) {
            0..22 => self.push_one(&project, false).await,
            22..32 => self.push_one(&project, true).await,
            32..46 => self.push_several(&project).await,
            46..54 => self.remove_one(&project).await,
            54..72 => self.race(&project).await,
            72..76 => self.push_what_is_refused(&project).await,
            76..88 => self.look(&project).await,
            88..95 => self.fetch(&project).await,
            95..98 => self.clone_all(&project).await,
            _ => self.fork(&project).await,
        }
    }

    /// Nearly always one that is up, if there is one.
    pub async fn node(&mut self) -> Arc<Node> {
        loop {
            let up: Vec<&Arc<Node>> = self.world.nodes.iter().filter(|node| node.life().is_some()).collect();
            if let Some(node) = up.choose(&mut self.random) {
                return Arc::clone(node);
            }
            if !self.world.pause(Duration::from_millis(50)).await {
                return self.world.nodes[0].clone();
            }
        }
    }

    pub fn branch(&mut self) -> String {
        format!("refs/heads/{}/b{}", self.name, self.random.random_range(0..NAMES))
    }

    pub fn tag(&mut self) -> String {
        format!("refs/tags/{}-t{}", self.name, self.random.random_range(0..NAMES))
    }

    async fn commit(&mut self, parent: Option<&str>, is_large: bool) -> anyhow::Result<String> {
        self.commits += 1;
        let size = if is_large { self.random.random_range(LARGE) } else { self.random.random_range(10..2000) };
        let mut content = vec![0; size];
        self.random.fill_bytes(&mut content);
        let file = format!("{}-{}", self.name, self.random.random_range(0..20));
        let name = format!("{}-{}", self.name, self.commits);
        let new = NewCommit { name: &name, parent, file: &file, content: &content };
        self.world.git.commit(&self.repository, &new).await
    }

    /// A wish for one of this client's own refs: a step forward, or now and then one aside.
    async fn wish(&mut self, project: &Project, name: String, is_large: bool) -> anyhow::Result<Wish> {
        let expected = self.branches.expected(project.id, &name, project.is_fork());
        let last = self.branches.last(project.id, &name).map(str::to_owned);
        let is_tag = name.starts_with("refs/tags/");
        let is_aside = self.random.random_bool(0.2);
        let base = format!("refs/origin/{}", self.random.random_range(0..super::setup::PROJECTS));
        let parent = if is_tag || is_aside { None } else { last };
        let mut new = self.commit(Some(parent.as_deref().unwrap_or(&base)), is_large).await?;
        if is_tag && self.random.random_bool(0.5) {
            new = self.world.git.tag(&self.repository, &name["refs/tags/".len()..], &new).await?;
        }
        Ok(Wish { name, new: Some(new), force: is_tag || is_aside, expected })
    }

    pub async fn push(&mut self, project: &Project, wishes: &[Wish], atomic: bool) -> anyhow::Result<()> {
        let node = self.node().await;
        let fates = push(&self.world, &self.repository, project, &node, wishes, atomic).await?;
        for (wish, fate) in wishes.iter().zip(&fates) {
            if wish.name.contains(&self.name) {
                self.branches.learn(project.id, wish, fate);
            }
        }
        Ok(())
    }

    pub async fn push_one(&mut self, project: &Project, is_large: bool) -> anyhow::Result<()> {
        let name = if self.random.random_bool(0.25) { self.tag() } else { self.branch() };
        let wish = self.wish(project, name, is_large).await?;
        self.push(project, &[wish], false).await
    }

    /// With one among them, sometimes, in which others may be quicker.
    async fn push_several(&mut self, project: &Project) -> anyhow::Result<()> {
        let mut wishes: Vec<Wish> = Vec::new();
        for _ in 0..self.random.random_range(2..6) {
            let name = if self.random.random_bool(0.3) { self.tag() } else { self.branch() };
            if wishes.iter().any(|wish| wish.name == name) {
                continue;
            }
            let expected = self.branches.expected(project.id, &name, project.is_fork());
            let is_there = self.branches.last(project.id, &name).is_some();
            wishes.push(match is_there && self.random.random_bool(0.25) {
                true => Wish { name, new: None, force: false, expected },
                false => self.wish(project, name, false).await?,
            });
        }
        if self.random.random_bool(0.3) {
            let new = self.commit(None, false).await?;
            wishes.push(Wish { name: SHARED.into(), new: Some(new), force: true, expected: Expected::Anything });
        }
        let atomic = self.random.random_bool(0.5);
        self.push(project, &wishes, atomic).await
    }

    async fn remove_one(&mut self, project: &Project) -> anyhow::Result<()> {
        let name = if self.random.random_bool(0.4) { self.tag() } else { self.branch() };
        if self.branches.last(project.id, &name).is_none() {
            return Ok(());
        }
        let expected = self.branches.expected(project.id, &name, project.is_fork());
        self.push(project, &[Wish { name, new: None, force: false, expected }], false).await
    }

    /// To a branch that all move: by a step forward from where it was a moment ago, or by force.
    async fn race(&mut self, project: &Project) -> anyhow::Result<()> {
        let (name, force) = if self.random.random_bool(0.6) { (MAIN, false) } else { (SHARED, true) };
        let mut parent = None;
        if !force {
            let here = format!("refs/seen/{}", project.id);
            if !self.fetch_main(project, &here).await? {
                return Ok(());
            }
            parent = Some(here);
        }
        let new = self.commit(parent.as_deref(), false).await?;
        let wish = Wish { name: name.into(), new: Some(new), force, expected: Expected::Anything };
        self.push(project, &[wish], false).await
    }

    async fn push_what_is_refused(&mut self, project: &Project) -> anyhow::Result<()> {
        let blocked = self.branch();
        let is_there = self.branches.last(project.id, &blocked).is_some();
        let is_certain = self.branches.expected(project.id, &blocked, project.is_fork()) == Expected::Success;
        let (name, new) = match self.random.random_range(0..3) {
            0 if is_there && is_certain => (format!("{blocked}/below"), Some(self.commit(None, false).await?)),
            // The default branch is protected.
            1 if !project.is_fork() => (MAIN.into(), Some(self.commit(None, false).await?)),
            _ => (MAIN.into(), None),
        };
        self.push(project, &[Wish { name, new, force: true, expected: Expected::Refusal }], false).await
    }
}

pub const MAIN: &str = "refs/heads/main";
/// Nobody's, and not protected.
const SHARED: &str = "refs/heads/shared";
