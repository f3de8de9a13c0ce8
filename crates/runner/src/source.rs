//! Checks out the commit of a build.
//!
//! Git runs in the sandbox like the script: earlier builds had write access to the repository, and git executes
//! commands from its configuration and hooks. Both are deleted and written again for every build.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use crate::environment::Environment;
use crate::payload::Payload;
use crate::script::quote;

/// The values of `GIT_STRATEGY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Reuse the checkout of an earlier build.
    Fetch,
    Clone,
    None,
}

/// The repository and the commit of a build.
#[derive(Debug)]
pub struct Source {
    pub strategy: Strategy,
    url: Url,
    /// Username and password. They are passed in the environment, because other users can see command lines.
    credentials: Option<String>,
    sha: String,
    refspecs: Vec<String>,
    depth: u32,
}

impl Source {
    pub fn new(payload: &Payload, environment: &Environment) -> anyhow::Result<Source> {
        let strategy = match environment.variables.get("GIT_STRATEGY").map(String::as_str) {
            Some("none") => Strategy::None,
            Some("clone") => Strategy::Clone,
            Some("fetch") | Some("") | None if payload.allow_git_fetch => Strategy::Fetch,
            Some("fetch") | Some("") | None => Strategy::Clone,
            Some(other) => bail!("GIT_STRATEGY is {other:?}; use fetch, clone or none"),
        };
        let git = &payload.git_info;
        let mut url = Url::parse(&git.repo_url).context("the URL of the repository is invalid")?;
        let login = url.password().map(|password| format!("{}:{password}", url.username()));
        // Both fail only for URLs that cannot contain credentials.
        url.set_password(None).ok();
        url.set_username("").ok();
        if git.sha.len() < 40 || !git.sha.bytes().all(|it| it.is_ascii_hexdigit()) {
            bail!("the commit {:?} is not an object id", git.sha);
        }
        let depth = match environment.variables.get("GIT_DEPTH") {
            Some(depth) if !depth.is_empty() => depth.parse().context("GIT_DEPTH is not a number")?,
            _ => git.depth,
        };
        let refspecs =
            if git.refspecs.is_empty() { vec![refspec(&git.ref_type, &git.name)] } else { git.refspecs.clone() };
        if refspecs.iter().any(|refspec| refspec.starts_with('-')) {
            bail!("a refspec begins with a dash");
        }
        Ok(Source { strategy, url, credentials: login, sha: git.sha.clone(), refspecs, depth })
    }

    /// Returns the environment for [`Source::script`]: the variables of the build, and the credentials as git
    /// configuration.
    pub fn environment(&self, variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut variables = variables.clone();
        variables.insert("GIT_TERMINAL_PROMPT".into(), "0".into());
        variables.insert("GIT_LFS_SKIP_SMUDGE".into(), "1".into());
        if let Some(login) = &self.credentials {
            // The header is configured for URLs of this server only.
            let server = self.url.origin().ascii_serialization();
            variables.insert("GIT_CONFIG_COUNT".into(), "1".into());
            variables.insert("GIT_CONFIG_KEY_0".into(), format!("http.{server}/.extraHeader"));
            let value = format!("Authorization: Basic {}", STANDARD.encode(login));
            variables.insert("GIT_CONFIG_VALUE_0".into(), value);
        }
        variables
    }

    /// Returns the encoded credentials, which must be masked because base64 is reversible.
    pub fn secret(&self) -> Option<String> {
        self.credentials.as_ref().map(|login| STANDARD.encode(login))
    }

    /// Renders the script that fetches and checks out the commit. It must run in the project directory.
    ///
    /// The directories of submodules are emptied: git cannot update them without `.git/modules`, which is deleted
    /// because it contains hooks and configuration, too.
    pub fn script(&self) -> String {
        let depth = match self.depth {
            0 => "$(test -f .git/shallow && echo --unshallow)".to_owned(),
            depth => format!("--depth={depth}"),
        };
        let refspecs: Vec<String> = self.refspecs.iter().map(|refspec| quote(refspec)).collect();
        format!(
            "set -e\n\
             export LC_ALL=C\n\
             if [ -L .git ] || [ ! -d .git ]; then rm -rf .git; else\n\
             rm -rf .git/hooks .git/config .git/config.worktree .git/info .git/modules .git/worktrees .git/commondir \
             .git/objects/info/alternates\n\
             find .git -name '*.lock' -type f -delete\n\
             fi\n\
             git init -q --template= .\n\
             git config remote.origin.url {url}\n\
             git config core.hooksPath /dev/null\n\
             git config gc.auto 0\n\
             git fetch --force --prune --no-tags --no-recurse-submodules --quiet {depth} origin {refspecs}\n\
             git -c advice.detachedHead=false checkout --force --quiet --detach {sha}\n\
             git clean -ffdxq\n\
             git ls-files --stage -z | sed -z -n 's/^160000 [0-9a-f]* 0\\t//p' | \
             xargs -0 -r -n 1 sh -c 'rm -rf -- \"$0\" && mkdir -- \"$0\"'\n\
             git config --unset core.hooksPath\n\
             git log -1 --format='Checked out %h: %s'\n",
            url = quote(self.url.as_str()),
            refspecs = refspecs.join(" "),
            sha = quote(&self.sha),
        )
    }
}

fn refspec(kind: &str, name: &str) -> String {
    match kind {
        "tag" => format!("+refs/tags/{name}:refs/tags/{name}"),
        _ => format!("+refs/heads/{name}:refs/remotes/origin/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source(git: serde_json::Value, variables: &[(&str, &str)]) -> anyhow::Result<Source> {
        let payload = serde_json::from_value(json!({
            "id": 1, "token": "t", "steps": [], "allow_git_fetch": true, "git_info": git,
            "job_info": {"name": "a", "project_id": 1},
        }))?;
        let variables = variables.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Source::new(&payload, &Environment { variables, ..Environment::default() })
    }

    fn git() -> serde_json::Value {
        json!({"repo_url": "http://gitlab-ci-token:s3cret@host:81/a/b.git", "ref": "main", "ref_type": "branch",
               "sha": "1".repeat(40), "refspecs": ["+refs/heads/it's:refs/remotes/origin/it's"], "depth": 5})
    }

    #[test]
    fn the_password_is_passed_only_in_the_environment() {
        let source = source(git(), &[("GIT_DEPTH", "20")]).unwrap();
        let script = source.script();
        assert!(!script.contains("s3cret") && !script.contains("gitlab-ci-token"), "{script}");
        assert!(script.contains("'http://host:81/a/b.git'") && script.contains("--depth=20"), "{script}");
        let environment = source.environment(&BTreeMap::new());
        assert_eq!(environment["GIT_CONFIG_KEY_0"], "http.http://host:81/.extraHeader");
        assert!(environment["GIT_CONFIG_VALUE_0"].ends_with(&source.secret().unwrap()));
    }

    #[test]
    fn git_strategy_values_are_parsed() {
        let of = |strategy| source(git(), &[("GIT_STRATEGY", strategy)]).map(|it| it.strategy).ok();
        assert_eq!(of("clone"), Some(Strategy::Clone));
        assert_eq!(of("none"), Some(Strategy::None));
        assert_eq!(of("fetch"), Some(Strategy::Fetch));
        assert_eq!(of("rsync"), None);
    }

    #[test]
    fn values_that_look_like_options_are_rejected() {
        let mut git = git();
        git["refspecs"] = json!(["--upload-pack=evil"]);
        assert!(source(git.clone(), &[]).is_err());
        git["refspecs"] = json!([]);
        git["sha"] = json!("--help");
        assert!(source(git, &[]).is_err());
    }
}
