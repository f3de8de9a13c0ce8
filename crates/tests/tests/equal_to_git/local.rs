//! The repository on this side, and what git itself says about it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::stream::Mark;

pub struct Local {
    directory: TempDir,
    ids: HashMap<Mark, String>,
    /// All of them by their ids, read at once: to start git for each takes long.
    objects: HashMap<String, Object>,
}

pub struct Object {
    pub kind: String,
    pub content: Vec<u8>,
}

impl Local {
    pub async fn new() -> Self {
        let local = Self { directory: tempfile::tempdir().unwrap(), ids: HashMap::new(), objects: HashMap::new() };
        local.git(["init", "-q", "--bare", "-b", "main", "."]).await;
        local
    }

    pub fn id(&self, mark: Mark) -> &str {
        &self.ids[&mark]
    }

    pub async fn git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Vec<u8> {
        self.try_git(arguments).await.unwrap_or_else(|said| panic!("{said}"))
    }

    /// What it wrote, or what it complained about.
    pub async fn try_git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Result<Vec<u8>, String> {
        run(self.command(arguments), Vec::new()).await
    }

    fn command<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(self.directory.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.directory.path())
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .args(arguments);
        command
    }

    pub async fn import(&mut self, stream: Vec<u8>) {
        let marks = self.directory.path().join("marks");
        let option = |name: &str| [OsStr::new(name), marks.as_os_str()].join(OsStr::new("="));
        let arguments = ["fast-import", "--quiet", "--force"].map(OsString::from);
        let marks_in_and_out = [option("--import-marks-if-exists"), option("--export-marks")];
        run(self.command(arguments.into_iter().chain(marks_in_and_out)), stream).await.unwrap();
        self.ids = read_marks(&marks);
        self.objects = read_objects(&self.git(["cat-file", "--batch", "--batch-all-objects", "--unordered"]).await);
    }

    /// None if git has no such object.
    pub fn object(&self, id: &str) -> Option<&Object> {
        self.objects.get(id)
    }

    /// Everything that branches and tags lead to; what git complained about if it was refused.
    pub async fn push(&self, url: &str) -> Result<Vec<u8>, String> {
        self.try_git(["push", "-q", "--force", url, "refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*"]).await
    }
}

fn read_marks(file: &Path) -> HashMap<Mark, String> {
    let text = std::fs::read_to_string(file).unwrap();
    let pair = |line: &str| {
        let (mark, id) = line.split_once(' ').unwrap();
        (mark[1..].parse().unwrap(), id.to_owned())
    };
    text.lines().map(pair).collect()
}

/// `ID KIND SIZE`, then the object and a line break.
fn read_objects(mut output: &[u8]) -> HashMap<String, Object> {
    let mut objects = HashMap::new();
    while let Some(end) = output.iter().position(|byte| *byte == b'\n') {
        let facts = String::from_utf8_lossy(&output[..end]).into_owned();
        let [id, kind, size] = facts.split(' ').collect::<Vec<_>>()[..] else { panic!("{facts}") };
        let (content, rest) = output[end + 1..].split_at(size.parse().unwrap());
        objects.insert(id.to_owned(), Object { kind: kind.into(), content: content.to_vec() });
        output = &rest[1..];
    }
    objects
}

/// `COMMIT:PATH`, where a path is bytes.
pub fn at(commit: &str, path: &[u8]) -> OsString {
    OsStr::from_bytes(&[commit.as_bytes(), b":", path].concat()).to_owned()
}

/// A program with something to read; what it wrote, or what it complained about.
pub async fn run(mut command: Command, input: Vec<u8>) -> Result<Vec<u8>, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may end before it has read everything.
    let feed = async move { drop(stdin.write_all(&input).await) };
    let ((), output) = tokio::join!(feed, child.wait_with_output());
    let output = output.unwrap();
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
