//! Reading what was written, through other nodes than it was written through.

use std::collections::BTreeMap;
use std::time::Instant;

use super::client::{Client, MAIN};
use super::full::Attempt;
use super::git::{Ended, read_refs};
use super::node::Node;
use super::rest::Project;

impl Client {
    /// Whether a read went well. If not, its node was killed; or, where others move refs back and away, one of them was
    /// moved between question and answer. Anything else must not be.
    async fn read(
        &mut self,
        project: &Project,
        node: &Node,
        arguments: &[&str],
        may_be_outrun: bool,
    ) -> anyhow::Result<Option<Ended>> {
        let (life, since) = (node.life(), Instant::now());
        let ended = self.world.git.run(&self.repository, arguments, b"").await?;
        self.world.ledger.count(|counts| counts.reads += 1);
        if ended.success {
            return Ok(Some(ended));
        }
        let was_harmed = life.is_none() || node.life() != life;
        let was_outrun = may_be_outrun && ended.said.contains("not our ref");
        self.world.ledger.count(|counts| match was_outrun {
            true => counts.outrun_reads += 1,
            false => counts.broken_reads += 1,
        });
        let attempt = Attempt { node: &node.name, project: Some(project.id), since };
        if !was_harmed && !was_outrun && !self.world.excuses(attempt, &ended.said) {
            let (seed, said) = (self.world.seed, ended.said.trim());
            let text = format!("seed {seed}: git {arguments:?} failed though {} was not killed: {said}", node.name);
            self.world.ledger.violate(text);
        }
        Ok(None)
    }

    fn compare(&mut self, project: &Project, node: &Node, seen: &BTreeMap<&str, &str>) {
        for wrong in self.branches.compare(project.id, seen) {
            let seed = self.world.seed;
            self.world.ledger.violate(format!("seed {seed}: read from {} by {}: {wrong}", node.name, self.name));
        }
    }

    pub async fn look(&mut self, project: &Project) -> anyhow::Result<()> {
        let node = self.node().await;
        let url = project.url(&node);
        if let Some(listed) = self.read(project, &node, &["ls-remote", "--quiet", &url], false).await? {
            self.compare(project, &node, &read_refs(&listed.output).collect());
        }
        Ok(())
    }

    /// The branch that is only ever moved forward.
    pub async fn fetch_main(&mut self, project: &Project, here: &str) -> anyhow::Result<bool> {
        self.fetch_into(project, &format!("+{MAIN}:{here}"), false).await
    }

    async fn fetch_into(&mut self, project: &Project, refspec: &str, may_be_outrun: bool) -> anyhow::Result<bool> {
        let node = self.node().await;
        let url = project.url(&node);
        Ok(self.read(project, &node, &["fetch", "--quiet", "--no-tags", &url, refspec], may_be_outrun).await?.is_some())
    }

    pub async fn fetch(&mut self, project: &Project) -> anyhow::Result<()> {
        self.fetch_into(project, &format!("+refs/heads/*:refs/fetched/{}/*", project.id), true).await?;
        Ok(())
    }

    /// Checks every object, and that all of this client's refs have arrived.
    pub async fn clone_all(&mut self, project: &Project) -> anyhow::Result<()> {
        let node = self.node().await;
        let place = tempfile::Builder::new().prefix("clone-").tempdir_in(&self.world.directory)?;
        let (url, path) = (project.url(&node), place.path().to_string_lossy().into_owned());
        if self.read(project, &node, &["clone", "--quiet", "--mirror", &url, &path], true).await?.is_some() {
            let refs =
                self.world.git.local(place.path(), &["for-each-ref", "--format=%(objectname) %(refname)"], b"").await?;
            self.compare(project, &node, &read_refs(&refs).collect());
        }
        Ok(())
    }

    /// Into a new group. What this client had in the source it has in the fork.
    pub async fn fork(&mut self, source: &Project) -> anyhow::Result<()> {
        if self.world.has_forks_enough() {
            return self.look(source).await;
        }
        let node = self.node().await;
        let (life, since) = (node.life(), Instant::now());
        let path = format!("fork-{}-{}", self.name, rand::RngExt::random::<u32>(&mut self.random));
        let forked = async {
            self.world.rest.create_group(&node, &path).await?;
            self.world.rest.fork(&node, source, &path).await
        };
        match forked.await {
            Ok(mut fork) => {
                self.world.ledger.count(|counts| counts.forks += 1);
                // Where the source has just been deleted, the answer does not name it.
                fork.forked_from_project.get_or_insert_default();
                self.branches.copy(source.id, fork.id);
                let commits = self.world.first_commits().get(&source.id).cloned();
                self.world.first_commits().extend(commits.map(|commits| (fork.id, commits)));
                self.world.projects().push(fork.clone());
                self.look(&fork).await
            }
            Err(error) => {
                let attempt = Attempt { node: &node.name, project: Some(source.id), since };
                if life.is_some() && node.life() == life && !self.world.excuses(attempt, &format!("{error:#}")) {
                    let seed = self.world.seed;
                    let text =
                        format!("seed {seed}: {} was not killed, but did not fork {source:?}: {error:#}", node.name);
                    self.world.ledger.violate(text);
                }
                Ok(())
            }
        }
    }
}
