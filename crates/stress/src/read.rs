//! Reads of a client: lists, fetches, clones and forks, mostly through other nodes than the pushes.

use std::collections::BTreeMap;
use std::time::Instant;

use super::client::Client;
use super::faults::Attempt;
use super::git::{GitOutput, MAIN, read_refs};
use super::node::Node;
use super::rest::Project;

impl Client {
    /// Runs a reading git command. Returns `None` if it failed because its node was killed, because of a fault, or
    /// because a ref was rewound between the advertisement and the request. Any other failure is a violation.
    async fn run_read(
        &mut self,
        project: &Project,
        node: &Node,
        arguments: &[&str],
        can_race: bool,
    ) -> anyhow::Result<Option<GitOutput>> {
        let (run, since) = (node.life(), Instant::now());
        let output = self.harness.git.run(&self.repository, arguments, b"").await?;
        self.harness.history.count(|counts| counts.reads += 1);
        if output.is_success {
            return Ok(Some(output));
        }
        let was_killed = run.is_none() || node.life() != run;
        let was_raced = can_race && output.stderr.contains("not our ref");
        self.harness.history.count(|counts| match was_raced {
            true => counts.raced_reads += 1,
            false => counts.failed_reads += 1,
        });
        let attempt = Attempt { node: &node.name, project: Some(project.id), since };
        if !was_killed && !was_raced && !self.harness.is_explained(attempt, &output.stderr) {
            let (seed, stderr) = (self.harness.seed, output.stderr.trim());
            let text = format!("seed {seed}: git {arguments:?} failed though {} was not killed: {stderr}", node.name);
            self.harness.history.report_violation(text);
        }
        Ok(None)
    }

    fn compare(&mut self, project: &Project, node: &Node, seen: &BTreeMap<&str, &str>) {
        for mismatch in self.known_refs.compare(project.id, seen) {
            let seed = self.harness.seed;
            self.harness
                .history
                .report_violation(format!("seed {seed}: read from {} by {}: {mismatch}", node.name, self.name));
        }
    }

    pub async fn list_refs(&mut self, project: &Project) -> anyhow::Result<()> {
        let node = self.pick_node().await;
        let url = project.url(&node);
        if let Some(listed) = self.run_read(project, &node, &["ls-remote", "--quiet", &url], false).await? {
            self.compare(project, &node, &read_refs(&listed.stdout).collect());
        }
        Ok(())
    }

    /// Fetches the default branch, which is only fast-forwarded. Returns whether it succeeded.
    pub async fn fetch_main(&mut self, project: &Project, local_ref: &str) -> anyhow::Result<bool> {
        self.fetch_into(project, &format!("+{MAIN}:{local_ref}"), false).await
    }

    async fn fetch_into(&mut self, project: &Project, refspec: &str, can_race: bool) -> anyhow::Result<bool> {
        let node = self.pick_node().await;
        let url = project.url(&node);
        Ok(self.run_read(project, &node, &["fetch", "--quiet", "--no-tags", &url, refspec], can_race).await?.is_some())
    }

    pub async fn fetch(&mut self, project: &Project) -> anyhow::Result<()> {
        self.fetch_into(project, &format!("+refs/heads/*:refs/fetched/{}/*", project.id), true).await?;
        Ok(())
    }

    /// Clones a project, which verifies every object, and compares the refs of this client.
    pub async fn clone_all(&mut self, project: &Project) -> anyhow::Result<()> {
        let node = self.pick_node().await;
        let directory = tempfile::Builder::new().prefix("clone-").tempdir_in(&self.harness.directory)?;
        let (url, path) = (project.url(&node), directory.path().to_string_lossy().into_owned());
        if self.run_read(project, &node, &["clone", "--quiet", "--mirror", &url, &path], true).await?.is_some() {
            let refs = self
                .harness
                .git
                .run_local(directory.path(), &["for-each-ref", "--format=%(objectname) %(refname)"], b"")
                .await?;
            self.compare(project, &node, &read_refs(&refs).collect());
        }
        Ok(())
    }

    /// Forks a project into a new group. The known refs of this client are copied to the fork.
    pub async fn fork(&mut self, source: &Project) -> anyhow::Result<()> {
        if self.harness.has_enough_forks() {
            return self.list_refs(source).await;
        }
        let node = self.pick_node().await;
        let (run, since) = (node.life(), Instant::now());
        let path = format!("fork-{}-{}", self.name, rand::RngExt::random::<u32>(&mut self.random));
        let forked = async {
            self.harness.rest.create_group(&node, &path).await?;
            self.harness.rest.fork(&node, source, &path).await
        };
        match forked.await {
            Ok(mut fork) => {
                self.harness.history.count(|counts| counts.forks += 1);
                // If the source was deleted concurrently, the response does not contain it.
                fork.forked_from_project.get_or_insert_default();
                self.known_refs.copy_refs(source.id, fork.id);
                let commits = self.harness.first_commits().get(&source.id).cloned();
                self.harness.first_commits().extend(commits.map(|commits| (fork.id, commits)));
                self.harness.projects().push(fork.clone());
                self.list_refs(&fork).await
            }
            Err(error) => {
                let attempt = Attempt { node: &node.name, project: Some(source.id), since };
                if run.is_some() && node.life() == run && !self.harness.is_explained(attempt, &format!("{error:#}")) {
                    let seed = self.harness.seed;
                    let text =
                        format!("seed {seed}: {} was not killed, but did not fork {source:?}: {error:#}", node.name);
                    self.harness.history.report_violation(text);
                }
                Ok(())
            }
        }
    }
}
