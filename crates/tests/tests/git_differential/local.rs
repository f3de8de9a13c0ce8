//! The local repository, and what git prints about it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;

use holdfast_tests::git_program;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::stream::Mark;

pub struct LocalRepository {
    directory: TempDir,
    ids: HashMap<Mark, String>,
    /// All objects by id. They are read by one process, because one process for each object is slow.
    objects: HashMap<String, Object>,
}

pub struct Object {
    pub kind: String,
    pub content: Vec<u8>,
}

impl LocalRepository {
    pub async fn new() -> Self {
        let local = Self { directory: tempfile::tempdir().unwrap(), ids: HashMap::new(), objects: HashMap::new() };
        local.git(["init", "-q", "--bare", "-b", "main", "."]).await;
        local
    }

    pub fn id(&self, mark: Mark) -> &str {
        &self.ids[&mark]
    }

    pub async fn git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Vec<u8> {
        self.try_git(arguments).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Runs git, and returns its output or its error messages.
    pub async fn try_git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Result<Vec<u8>, String> {
        run(self.command(arguments), Vec::new()).await
    }

    fn command<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> Command {
        let mut command = Command::new(git_program());
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

    /// Returns an object, `None` if git does not have it.
    pub fn object(&self, id: &str) -> Option<&Object> {
        self.objects.get(id)
    }

    /// Pushes all branches and tags. Returns the error messages of git if the push is rejected.
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

/// Parses the output of `git cat-file --batch`: `ID KIND SIZE`, the object, and a line break.
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

/// Returns `COMMIT:PATH`, where the path may be any bytes.
pub fn object_spec(commit: &str, path: &[u8]) -> OsString {
    OsStr::from_bytes(&[commit.as_bytes(), b":", path].concat()).to_owned()
}

/// Runs a program with an input, and returns its output or its error messages.
pub async fn run(mut command: Command, input: Vec<u8>) -> Result<Vec<u8>, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The program may exit before it has read all input.
    let feed = async move { drop(stdin.write_all(&input).await) };
    let ((), output) = tokio::join!(feed, child.wait_with_output());
    let output = output.unwrap();
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}
