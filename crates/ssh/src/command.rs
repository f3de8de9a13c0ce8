//! Parses the command of an `exec` request. It is written in shell syntax, but no shell ever executes it.

use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::Version;

/// A git service that a client can start with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    UploadPack,
    ReceivePack,
    UploadArchive,
}

impl Service {
    fn from_name(name: &str) -> Option<Self> {
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

/// A git service and the path it is requested for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub service: Service,
    pub path: String,
}

impl Command {
    /// Parses `git-upload-pack 'path'` or `git upload-pack 'path'`. Returns `None` for anything else, including
    /// options.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let words = shell_words::split(std::str::from_utf8(line).ok()?).ok()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (name, path) = match words[..] {
            ["git", name, path] => (name, path),
            [program, path] => (program.strip_prefix("git-")?, path),
            _ => return None,
        };
        Some(Self { service: Service::from_name(name)?, path: path.to_owned() })
    }

    /// Returns the path in the form of a project's full path, without enclosing slashes and the suffix `.git`.
    pub fn full_path(&self) -> &str {
        let path = self.path.trim_matches('/');
        path.strip_suffix(".git").unwrap_or(path)
    }

    /// Returns the project that the path refers to. Returns `None` if no project can have such a path.
    pub fn project(&self) -> Option<ProjectRef> {
        let (namespace, project) = self.full_path().split_once('/')?;
        let is_name = |text: &str| !text.is_empty() && !text.contains(|c: char| c == '/' || c.is_control());
        (is_name(namespace) && is_name(project))
            .then(|| ProjectRef::Path { namespace: namespace.to_owned(), project: project.to_owned() })
    }
}

const MAX_VALUE_BYTES: usize = 255;

/// Returns the protocol version that an environment variable requests. Returns `None` for variables other than
/// `GIT_PROTOCOL` and for values with unexpected characters.
pub fn protocol_version(name: &str, value: &str) -> Option<Version> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"=:.-".contains(&byte);
    let is_valid = name == "GIT_PROTOCOL" && value.len() <= MAX_VALUE_BYTES && value.bytes().all(is_plain);
    is_valid.then(|| Version::from_header(value))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_git_commands_are_parsed() {
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
    fn other_commands_are_rejected() {
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
    fn malformed_paths_name_no_project() {
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
    fn only_well_formed_protocol_versions_are_accepted() {
        assert_eq!(protocol_version("GIT_PROTOCOL", "version=2"), Some(Version::V2));
        assert_eq!(protocol_version("GIT_PROTOCOL", "version=1:agent=x"), Some(Version::V1));
        for (name, value) in [("GIT_PROTOCOL", "version=2;id"), ("GIT_PROTOCOL", "a b"), ("LD_PRELOAD", "version=2")] {
            assert_eq!(protocol_version(name, value), None, "{name} {value}");
        }
        assert_eq!(protocol_version("GIT_PROTOCOL", &"a".repeat(256)), None);
    }
}
