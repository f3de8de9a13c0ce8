//! Checks of this machine for `doctor`: settings, user, limits, git, SSH and backup programs.

use std::path::Path;

use holdfast_app::repository::git_runtime::GitRuntime;
use holdfast_store::cache;
use holdfast_store::server_info::ServerInfo;
use rustix::process::{Resource, geteuid, getrlimit};

use super::{Finding, ok, problem, warning};
use crate::command::backup::pg_dump_version;
use crate::configuration::Configuration;

/// The oldest tested version of git.
const MIN_GIT_VERSION: (u32, u32) = (2, 39);

fn is_local(configuration: &Configuration) -> bool {
    let host = configuration.server.external_url.host_str();
    host.is_some_and(|host| host == "localhost" || host.starts_with("127."))
}

pub fn address(configuration: &Configuration) -> Finding {
    let url = &configuration.server.external_url;
    if url.scheme() == "http" && !is_local(configuration) {
        return problem(
            format!("{url} is not https: tokens and passwords are sent unencrypted"),
            "put a reverse proxy with TLS in front, and set server.external_url to https://…",
        );
    }
    ok(url.to_string())
}

/// Checks that the trusted proxies are not all machines of the Internet, and not forgotten.
pub fn proxies(configuration: &Configuration) -> Finding {
    let networks = &configuration.server.trusted_proxies;
    if let Some(network) = networks.iter().find(|network| network.prefix_len() == 0) {
        return warning(
            format!(
                "server.trusted_proxies contains {network}, so every client counts as a proxy: it can forge the \
                 address in X-Forwarded-For that is logged and limited, and open any number of connections"
            ),
            "list only the addresses of your reverse proxies, such as [\"192.0.2.10/32\"]",
        );
    }
    match networks.len() {
        0 if configuration.server.external_url.scheme() == "https" => warning(
            "none are trusted, although server.external_url is https: all clients count as one address",
            "set server.trusted_proxies to the address of the proxy",
        ),
        0 => ok("none are trusted"),
        count => ok(format!("{count} trusted networks")),
    }
}

pub fn settings(file: Option<&Path>) -> Finding {
    match file {
        Some(file) => ok(file.display().to_string()),
        None => ok("no file is read: defaults and environment variables"),
    }
}

pub fn user() -> Finding {
    match geteuid().is_root() {
        true => warning(
            "running as root: the service may be unable to read files that root writes, and needs no privileges",
            "run this as the user of the service, for example `runuser -u holdfast -- holdfast doctor`",
        ),
        false => ok("not root"),
    }
}

/// Returns the finding for a directory of another user. A test by root would create files there that the service cannot
/// use.
pub fn skipped(subject: impl std::fmt::Display) -> Finding {
    warning(
        format!("{subject} was not tested: it belongs to another user"),
        "run this as the user of the service, for example `runuser -u holdfast -- holdfast doctor`",
    )
}

/// A limit up to this is too low: every connection and every open pack needs a file descriptor.
const LOW_FILE_LIMIT: u64 = 1024;

pub fn open_files() -> Finding {
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit <= LOW_FILE_LIMIT => warning(
            format!("at most {limit} open files"),
            "set LimitNOFILE=65536 in the systemd unit, or run `ulimit -n 65536`",
        ),
        Some(limit) => ok(format!("{limit} open files")),
        None => ok("no limit of open files"),
    }
}

/// Checks the version of git and the directory of the repository cache.
pub async fn git(configuration: &Configuration) -> Finding {
    let settings = configuration.git.settings();
    let program = settings.program.display().to_string();
    let git_runtime = GitRuntime::new(settings);
    let version = match git_runtime.git.version().await {
        Ok(version) => version,
        Err(error) => {
            let fix = "install git 2.39 or later, or set git.program (HOLDFAST__GIT__PROGRAM)";
            return problem(format!("{program}: {error}"), fix);
        }
    };
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < MIN_GIT_VERSION {
        return problem(format!("{program} is version {version}, which is too old"), "install git 2.39 or later");
    }
    let parent = &git_runtime.settings.cache_directory;
    if cache::find_other_owner(parent).is_some() {
        return skipped(parent.display());
    }
    if let Some(directory) = cache::find_unwritable(parent) {
        return problem(
            format!("{} is not writable: pushes fail", directory.display()),
            "give the cache to the user of the service, for example with `chown -R holdfast:holdfast /var/cache/holdfast`",
        );
    }
    let cache = match git_runtime.cache() {
        Ok(cache) => cache,
        Err(error) => {
            return problem(
                error.to_string(),
                "give this user write access to it, or set git.cache_directory (HOLDFAST__GIT__CACHE_DIRECTORY)",
            );
        }
    };
    let (directory, budget) = (cache.directory(), git_runtime.settings.cache_max_bytes);
    // The existing cache of a running node counts as free space, because it is part of the budget.
    let free_bytes =
        cache.free_disk_bytes().unwrap_or(u64::MAX).saturating_add(cache::total_bytes(parent).unwrap_or_default());
    if free_bytes < budget {
        return warning(
            format!(
                "the repository cache may use {} MB, but {} has room for {} MB",
                budget >> 20,
                directory.display(),
                free_bytes >> 20
            ),
            "lower git.cache_max_bytes, or set git.cache_directory to a directory on a larger disk",
        );
    }
    ok(format!("version {version}, repository cache in {}", directory.display()))
}

pub fn ssh(configuration: &Configuration) -> anyhow::Result<Finding> {
    Ok(match configuration.ssh.listen()? {
        None => ok("disabled"),
        Some(listen) if listen.ip().is_loopback() && !is_local(configuration) => warning(
            format!("{listen} cannot be reached from other machines"),
            "set ssh.listen to \"0.0.0.0:2222\", or to \"\" to disable SSH, unless a load balancer forwards to it",
        ),
        Some(listen) => ok(listen.to_string()),
    })
}

pub fn backup(info: Option<&ServerInfo>) -> Finding {
    let server = info.map_or(0, |info| info.version / 10_000);
    match pg_dump_version() {
        None => warning("pg_dump is not installed, but `holdfast backup` needs it", "install postgresql-client"),
        Some(version) if version < server => warning(
            format!("pg_dump is version {version} and cannot dump PostgreSQL {server}"),
            "install the postgresql-client of the server's version",
        ),
        Some(version) => ok(format!("pg_dump {version} is installed")),
    }
}
