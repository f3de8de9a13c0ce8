//! One repository on both sides, and the comparison of what both say.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use holdfast_tests::{Client, Dice, Server, Setup};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::history::History;
use crate::local::Local;

pub struct World {
    pub seed: u64,
    pub server: Server,
    pub owner: Client,
    pub cases: AtomicUsize,
    /// Who has worked alone knows that its own jobs are done.
    pub working: tokio::sync::Mutex<()>,
    /// Kinds of comparisons and how many there were of each.
    pub kinds: Mutex<std::collections::BTreeMap<&'static str, usize>>,
}

impl World {
    pub async fn new(seed: u64) -> Self {
        let mut setup = Setup::default();
        setup.settings.projects_limit = 100_000;
        let server = Server::with(setup).await;
        let (_, owner) = server.user("ada").await;
        let (cases, working, kinds) = Default::default();
        Self { seed, server, owner, cases, working, kinds }
    }
}

pub struct Pair {
    pub world: Arc<World>,
    pub number: u64,
    pub project: i64,
    pub dice: Dice,
    pub local: Local,
    pub history: History,
    /// The default branch, as the service says.
    pub default: Option<String>,
}

/// What somebody asks for.
pub struct Request {
    pub kind: &'static str,
    /// Below the repository.
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

    /// Unless it is empty.
    pub fn with_some(self, name: &'static str, value: &str) -> Self {
        if value.is_empty() { self } else { self.with(name, value) }
    }
}

const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A commit that both sides have.
pub struct Revision {
    /// As a user writes it.
    pub text: String,
    pub id: String,
    pub commit: usize,
}

impl Pair {
    /// What was made up since the last time.
    pub async fn push(&mut self) {
        let stream = self.history.take_stream();
        if !stream.is_empty() {
            self.local.import(stream).await;
            let path = format!("ada/r{}", self.number);
            let pushed = self.local.push(&self.world.server.git_url(&self.world.owner, &path)).await;
            let said = pushed.err().unwrap_or_default();
            self.same(&Request::new("push", ""), &json!(said), &json!(""));
        }
    }

    pub async fn ask_default(&mut self) {
        let project = self.world.owner.get(&format!("/projects/{}", self.project)).await;
        self.default = project.body["default_branch"].as_str().map(str::to_owned);
        assert_eq!(self.default.is_some(), !self.history.branches.is_empty());
    }

    pub fn url(&self, request: &Request) -> String {
        let mut url = format!("/projects/{}/repository{}", self.project, request.path);
        for (place, (name, value)) in request.query.iter().enumerate() {
            let sign = if place == 0 { '?' } else { '&' };
            url.push_str(&format!("{sign}{name}={}", encoded(value)));
        }
        url
    }

    pub async fn get(&self, request: &Request) -> Value {
        let answer = self.world.owner.get(&self.url(request)).await;
        if answer.status == 200 { answer.body } else { status(answer.status) }
    }

    /// Status or content.
    pub async fn bytes(&self, request: &Request) -> Result<Vec<u8>, u16> {
        let response = self.world.owner.request("GET", &self.url(request)).send().await.unwrap();
        match response.status().as_u16() {
            200 => Ok(response.bytes().await.unwrap().to_vec()),
            status => Err(status),
        }
    }

    /// All pages of a list.
    pub async fn list(&self, request: &Request, per_page: usize) -> Value {
        let mut all = Vec::new();
        let sign = if request.query.is_empty() { '?' } else { '&' };
        let mut page = "1".to_owned();
        while !page.is_empty() {
            let url = format!("{}{sign}per_page={per_page}&page={page}", self.url(request));
            let answer = self.world.owner.get(&url).await;
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

    /// A commit that is named, or none: then the default branch is meant.
    pub fn revision_or_none(&mut self) -> Revision {
        let tip = self.default.as_ref().map(|name| self.history.branches[name]);
        match tip {
            Some(commit) if self.dice.one_in(8) => {
                Revision { text: String::new(), id: self.id(commit).to_owned(), commit }
            }
            _ => self.revision(),
        }
    }

    /// A name or an id of a commit, and perhaps a way back from there.
    pub fn revision(&mut self) -> Revision {
        let mut revision = self.plain_revision();
        while self.dice.one_in(6) {
            let parents = self.history.parents(revision.commit);
            if parents.is_empty() {
                break;
            }
            let place = self.dice.below(parents.len());
            revision.text +=
                &if place == 0 { (*self.dice.pick(&["~", "^", "~1"])).into() } else { format!("^{}", place + 1) };
            revision.commit = parents[place];
            revision.id = self.id(revision.commit).to_owned();
        }
        revision
    }

    fn plain_revision(&mut self) -> Revision {
        let dice = &mut self.dice;
        let (branches, tags) = (&self.history.branches, &self.history.tags);
        let named = match dice.below(4) {
            0 if !branches.is_empty() => Some(*dice.pick(&branches.keys().collect::<Vec<_>>())),
            1 if !tags.is_empty() => Some(*dice.pick(&tags.keys().collect::<Vec<_>>())),
            _ => None,
        };
        if let Some(name) = named {
            // Of a tag and a branch with the same name, git means the tag.
            let commit = *tags.get(name).unwrap_or_else(|| &branches[name]);
            return Revision { text: name.clone(), id: self.id(commit).to_owned(), commit };
        }
        let commit = *dice.pick(&self.history.visible());
        self.revision_of(commit)
    }

    /// Its id or a part of it that is long enough to be no other's.
    pub fn revision_of(&mut self, commit: usize) -> Revision {
        let id = self.id(commit).to_owned();
        let digits = if self.dice.one_in(2) { 40 } else { self.dice.between(9, 39) };
        Revision { text: id[..digits].to_owned(), id, commit }
    }

    pub fn id(&self, commit: usize) -> &str {
        self.local.id(self.history.mark(commit))
    }

    pub async fn protect(&self, branch: &str) {
        self.put(&format!("/branches/{}/protect", encoded(branch))).await;
    }

    pub async fn unprotect(&self, branch: &str) {
        self.put(&format!("/branches/{}/unprotect", encoded(branch))).await;
    }

    async fn put(&self, path: &str) {
        let answer = self.world.owner.put(&self.url(&Request::new("", path)), &[]).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }

    /// One case.
    #[track_caller]
    pub fn same(&self, request: &Request, ours: &Value, gits: &Value) {
        self.world.cases.fetch_add(1, Ordering::Relaxed);
        *self.world.kinds.lock().unwrap().entry(request.kind).or_default() += 1;
        if ours == gits {
            return;
        }
        let (place, our, git) = first_difference(ours, gits);
        panic!(
            "not equal to git: HOLDFAST_EQUAL_SEED={} HOLDFAST_EQUAL_ONLY={}\nrequest: {} {}\nfirst difference at {}\n\
             ours: {}\ngit:  {}\nall of ours: {}\nall of git:  {}",
            self.world.seed,
            self.number,
            request.kind,
            self.url(request),
            if place.is_empty() { "/" } else { &place },
            short(our, 3000),
            short(git, 3000),
            short(ours, 3000),
            short(gits, 3000),
        );
    }
}

/// An answer that is none.
pub fn status(code: u16) -> Value {
    json!({"status": code})
}

fn short(value: &Value, longest: usize) -> String {
    let text = value.to_string();
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Where, and what is there on both sides.
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
