//! One repository, locally and on the server, and the comparison of both.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use holdfast_tests::{Client, SeededRng, Server, Setup};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::history::History;
use crate::local::LocalRepository;

pub struct Environment {
    pub seed: u64,
    pub server: Server,
    pub owner: Client,
    pub cases: AtomicUsize,
    /// Held while running jobs, so that a test knows that its own jobs are done afterwards.
    pub working: tokio::sync::Mutex<()>,
    /// The number of comparisons by kind.
    pub kinds: Mutex<std::collections::BTreeMap<&'static str, usize>>,
}

impl Environment {
    pub async fn new(seed: u64) -> Self {
        let mut setup = Setup::default();
        setup.settings.projects_limit = 100_000;
        let server = Server::start_with(setup).await;
        let (_, owner) = server.user("ada").await;
        let (cases, working, kinds) = Default::default();
        Self { seed, server, owner, cases, working, kinds }
    }
}

pub struct Pair {
    pub environment: Arc<Environment>,
    pub number: u64,
    pub project: i64,
    pub rng: SeededRng,
    pub local: LocalRepository,
    pub history: History,
    /// The default branch that the API reports.
    pub default: Option<String>,
}

/// A request of the API and the kind of comparison that it is counted as.
pub struct Request {
    pub kind: &'static str,
    /// The path below `/projects/:id/repository`.
    pub path: String,
    pub query: Vec<(&'static str, String)>,
}

impl Request {
    pub fn new(kind: &'static str, path: impl Into<String>) -> Self {
        Self { kind, path: path.into(), query: Vec::new() }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// Adds a parameter unless its value is empty.
    pub fn with_some(self, name: &'static str, value: &str) -> Self {
        if value.is_empty() { self } else { self.with(name, value) }
    }
}

const UNENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, UNENCODED).to_string()
}

pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A commit that both repositories have.
pub struct Revision {
    /// The revision as a user writes it.
    pub text: String,
    pub id: String,
    pub commit: usize,
}

impl Pair {
    /// Imports and pushes what was generated since the last call.
    pub async fn push(&mut self) {
        let stream = self.history.take_stream();
        if !stream.is_empty() {
            self.local.import(stream).await;
            let path = format!("ada/r{}", self.number);
            let pushed = self.local.push(&self.environment.server.git_url(&self.environment.owner, &path)).await;
            let error = pushed.err().unwrap_or_default();
            self.assert_same(&Request::new("push", ""), &json!(error), &json!(""));
        }
    }

    pub async fn fetch_default_branch(&mut self) {
        let project = self.environment.owner.get(&format!("/projects/{}", self.project)).await;
        self.default = project.body["default_branch"].as_str().map(str::to_owned);
        assert_eq!(self.default.is_some(), !self.history.branches.is_empty());
    }

    pub fn url(&self, request: &Request) -> String {
        let mut url = format!("/projects/{}/repository{}", self.project, request.path);
        for (place, (name, value)) in request.query.iter().enumerate() {
            let sign = if place == 0 { '?' } else { '&' };
            url.push_str(&format!("{sign}{name}={}", percent_encode(value)));
        }
        url
    }

    pub async fn get(&self, request: &Request) -> Value {
        let answer = self.environment.owner.get(&self.url(request)).await;
        if answer.status == 200 { answer.body } else { status(answer.status) }
    }

    /// Returns the body of a response, or its status if that is not 200.
    pub async fn bytes(&self, request: &Request) -> Result<Vec<u8>, u16> {
        let response = self.environment.owner.request("GET", &self.url(request)).send().await.unwrap();
        match response.status().as_u16() {
            200 => Ok(response.bytes().await.unwrap().to_vec()),
            status => Err(status),
        }
    }

    /// Returns the items of all pages of a list.
    pub async fn list(&self, request: &Request, per_page: usize) -> Value {
        let mut all = Vec::new();
        let sign = if request.query.is_empty() { '?' } else { '&' };
        let mut page = "1".to_owned();
        while !page.is_empty() {
            let url = format!("{}{sign}per_page={per_page}&page={page}", self.url(request));
            let answer = self.environment.owner.get(&url).await;
            let Some(items) = answer.body.as_array() else { return status(answer.status) };
            assert!(items.len() <= per_page, "{url}: {} items", items.len());
            all.extend(items.iter().cloned());
            page = answer.header("X-Next-Page").unwrap_or_default().to_owned();
            if page.is_empty() {
                assert_eq!(answer.header("X-Total"), Some(&*all.len().to_string()), "{url}");
            }
        }
        all.into()
    }

    /// Returns a random revision or an empty one, which means the default branch.
    pub fn revision_or_none(&mut self) -> Revision {
        let tip = self.default.as_ref().map(|name| self.history.branches[name]);
        match tip {
            Some(commit) if self.rng.one_in(8) => {
                Revision { text: String::new(), id: self.id(commit).to_owned(), commit }
            }
            _ => self.revision(),
        }
    }

    /// Returns a random name or id of a commit, possibly with a suffix for an ancestor.
    pub fn revision(&mut self) -> Revision {
        let mut revision = self.plain_revision();
        while self.rng.one_in(6) {
            let parents = self.history.parents(revision.commit);
            if parents.is_empty() {
                break;
            }
            let place = self.rng.next_below(parents.len());
            revision.text +=
                &if place == 0 { (*self.rng.pick(&["~", "^", "~1"])).into() } else { format!("^{}", place + 1) };
            revision.commit = parents[place];
            revision.id = self.id(revision.commit).to_owned();
        }
        revision
    }

    fn plain_revision(&mut self) -> Revision {
        let rng = &mut self.rng;
        let (branches, tags) = (&self.history.branches, &self.history.tags);
        let named = match rng.next_below(4) {
            0 if !branches.is_empty() => Some(*rng.pick(&branches.keys().collect::<Vec<_>>())),
            1 if !tags.is_empty() => Some(*rng.pick(&tags.keys().collect::<Vec<_>>())),
            _ => None,
        };
        if let Some(name) = named {
            // If a tag and a branch have the same name, git resolves it to the tag.
            let commit = *tags.get(name).unwrap_or_else(|| &branches[name]);
            return Revision { text: name.clone(), id: self.id(commit).to_owned(), commit };
        }
        let commit = *rng.pick(&self.history.visible());
        self.revision_of(commit)
    }

    /// Returns the id of a commit, or an unambiguous prefix of it.
    pub fn revision_of(&mut self, commit: usize) -> Revision {
        let id = self.id(commit).to_owned();
        let digits = if self.rng.one_in(2) { 40 } else { self.rng.next_between(9, 39) };
        Revision { text: id[..digits].to_owned(), id, commit }
    }

    pub fn id(&self, commit: usize) -> &str {
        self.local.id(self.history.mark(commit))
    }

    pub async fn protect(&self, branch: &str) {
        self.put(&format!("/branches/{}/protect", percent_encode(branch))).await;
    }

    pub async fn unprotect(&self, branch: &str) {
        self.put(&format!("/branches/{}/unprotect", percent_encode(branch))).await;
    }

    async fn put(&self, path: &str) {
        let answer = self.environment.owner.put(&self.url(&Request::new("", path)), &[]).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }

    /// Fails if the two values differ, and counts a case.
    #[track_caller]
    pub fn assert_same(&self, request: &Request, ours: &Value, gits: &Value) {
        self.environment.cases.fetch_add(1, Ordering::Relaxed);
        *self.environment.kinds.lock().unwrap().entry(request.kind).or_default() += 1;
        if ours == gits {
            return;
        }
        let (path, our, git) = first_difference(ours, gits);
        panic!(
            "not equal to git: HOLDFAST_EQUAL_SEED={} HOLDFAST_EQUAL_ONLY={}\nrequest: {} {}\nfirst difference at {}\n\
             ours: {}\ngit:  {}\nall of ours: {}\nall of git:  {}",
            self.environment.seed,
            self.number,
            request.kind,
            self.url(request),
            if path.is_empty() { "/" } else { &path },
            truncate(our, 3000),
            truncate(git, 3000),
            truncate(ours, 3000),
            truncate(gits, 3000),
        );
    }
}

/// Returns the value that stands for an error response.
pub fn status(code: u16) -> Value {
    json!({"status": code})
}

fn truncate(value: &Value, max_chars: usize) -> String {
    let text = value.to_string();
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the path of the first difference, and both values there.
fn first_difference<'a>(ours: &'a Value, gits: &'a Value) -> (String, &'a Value, &'a Value) {
    let inner = match (ours, gits) {
        (Value::Array(ours), Value::Array(gits)) => {
            let place = ours.iter().zip(gits).position(|(our, git)| our != git);
            place.map(|place| (place.to_string(), &ours[place], &gits[place]))
        }
        (Value::Object(ours), Value::Object(gits)) => {
            let key = gits.keys().find(|key| ours.get(*key).is_some_and(|our| *our != gits[*key]));
            key.map(|key| (key.clone(), &ours[key], &gits[key]))
        }
        _ => None,
    };
    match inner {
        None => (String::new(), ours, gits),
        Some((name, ours, gits)) => {
            let (rest, ours, gits) = first_difference(ours, gits);
            (format!("/{name}{rest}"), ours, gits)
        }
    }
}
