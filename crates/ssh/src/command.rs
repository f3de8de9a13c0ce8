//! What a client says when it wants something done. It looks like a line for a shell, and none ever sees it.

use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::Version;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    UploadPack,
    ReceivePack,
    UploadArchive,
}

impl Service {
    fn named(name: &str) -> Option<Self> {
        [Self::UploadPack, Self::ReceivePack, Self::UploadArchive].into_iter().find(|service| service.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "upload-pack",
            Self::ReceivePack => "receive-pack",
            Self::UploadArchive => "upload-archive",
        }
    }

    pub fn action(self) -> ProjectAction {
        match self {
            Self::UploadPack | Self::UploadArchive => ProjectAction::ReadCode,
            Self::ReceivePack => ProjectAction::WriteCode,
        }
    }
}

/// One of git's programs and the path it is called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub service: Service,
    pub path: String,
}

impl Command {
    /// `git-upload-pack 'path'` or `git upload-pack 'path'`, and nothing besides.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let words = shell_words::split(std::str::from_utf8(line).ok()?).ok()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (name, path) = match words[..] {
            ["git", name, path] => (name, path),
            [program, path] => (program.strip_prefix("git-")?, path),
            _ => return None,
        };
        Some(Self { service: Service::named(name)?, path: path.to_owned() })
    }

    /// The path as projects have it: without what may stand around it.
    pub fn full_path(&self) -> &str {
        let path = self.path.trim_matches('/');
        path.strip_suffix(".git").unwrap_or(path)
    }

    /// None if no project can have such a path.
    pub fn project(&self) -> Option<ProjectRef> {
        let (namespace, project) = self.full_path().split_once('/')?;
        let is_name = |text: &str| !text.is_empty() && !text.contains(|c: char| c == '/' || c.is_control());
        (is_name(namespace) && is_name(project))
            .then(|| ProjectRef::Path { namespace: namespace.to_owned(), project: project.to_owned() })
    }
}

const LONGEST_VALUE: usize = 255;

/// The version that a variable asks for, if it is the one that does and its value is plain.
pub fn version(name: &str, value: &str) -> Option<Version> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"=:.-".contains(&byte);
    let is_sound = name == "GIT_PROTOCOL" && value.len() <= LONGEST_VALUE && value.bytes().all(is_plain);
    is_sound.then(|| Version::asked(value))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn knows_both_ways_to_call_git() {
        let lines = [
            "git-upload-pack 'ada/tools.git'",
            "git upload-pack '/ada/tools.git'",
            "git-upload-pack ada/tools",
            "git-upload-pack \"/ada/tools/\"",
            "git-upload-pack //ada/tools.git/",
        ];
        for line in lines {
            let command = Command::parse(line.as_bytes()).unwrap();
            assert_eq!((command.service, command.full_path()), (Service::UploadPack, "ada/tools"), "{line}");
            assert!(command.project().is_some(), "{line}");
        }
        assert_eq!(Command::parse(b"git-receive-pack 'a/b'").unwrap().service, Service::ReceivePack);
        assert_eq!(Command::parse(b"git upload-archive 'a/b'").unwrap().service, Service::UploadArchive);
    }

    #[test]
    fn nothing_else_is_a_command() {
        let lines = [
            "",
            "git",
            "git-upload-pack",
            "git upload-pack",
            "ls -l",
            "scp -t /tmp",
            "git-upload-pack --strict a/b",
            "git-upload-pack a/b; id",
            "git-upload-pack a/b && id",
            "git-shell a/b",
            "upload-pack a/b",
            "git-upload-pack 'a/b",
            "git -c x=y upload-pack a/b",
            "git-upload-pack a/b c/d",
        ];
        for line in lines {
            assert_eq!(Command::parse(line.as_bytes()), None, "{line}");
        }
        assert_eq!(Command::parse(b"git-upload-pack \xff/x"), None);
    }

    #[test]
    fn strange_paths_are_no_projects() {
        let paths = [
            "",
            "/",
            "a",
            "a/",
            "/a",
            "a/b/c",
            "../../etc/passwd",
            "a/../b",
            "--upload-pack=id",
            "a/b\n",
            "a\0/b",
            "a//b",
            ".git",
        ];
        for path in paths {
            let command = Command { service: Service::UploadPack, path: path.to_owned() };
            assert!(command.project().is_none(), "{path:?}");
        }
    }

    #[test]
    fn only_plain_versions_are_heard() {
        assert_eq!(version("GIT_PROTOCOL", "version=2"), Some(Version::V2));
        assert_eq!(version("GIT_PROTOCOL", "version=1:agent=x"), Some(Version::V1));
        for (name, value) in [("GIT_PROTOCOL", "version=2;id"), ("GIT_PROTOCOL", "a b"), ("LD_PRELOAD", "version=2")] {
            assert_eq!(version(name, value), None, "{name} {value}");
        }
        assert_eq!(version("GIT_PROTOCOL", &"a".repeat(256)), None);
    }
}
