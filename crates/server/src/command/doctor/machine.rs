use std::os::unix::fs::MetadataExt;
use std::path::Path;

use holdfast_app::repository::engine::Engine;
use holdfast_store::cache;
use holdfast_store::facts::Facts;
use rustix::process::{Resource, geteuid, getrlimit};

use super::{Finding, note, well, wrong};
use crate::command::backup::pg_dump_version;
use crate::configuration::Configuration;

/// The oldest git that is tested.
const OLDEST_GIT: (u32, u32) = (2, 39);

fn is_for_this_machine(configuration: &Configuration) -> bool {
    let host = configuration.server.external_url.host_str();
    host.is_some_and(|host| host == "localhost" || host.starts_with("127."))
}

pub fn address(configuration: &Configuration) -> Finding {
    let url = &configuration.server.external_url;
    if url.scheme() == "http" && !is_for_this_machine(configuration) {
        return wrong(
            format!("{url} is not https: tokens and passwords travel in the clear"),
            "put a proxy with TLS in front and set server.external_url to https://…",
        );
    }
    well(url.to_string())
}

/// Where the package keeps them.
const PACKAGED: &str = "/etc/holdfast/holdfast.toml";

pub fn settings(file: Option<&Path>) -> Finding {
    match file {
        Some(file) => well(file.display().to_string()),
        None if Path::new(PACKAGED).exists() => note(
            format!("defaults and variables alone: {PACKAGED} is not read"),
            "export HOLDFAST_CONFIG=/etc/holdfast/holdfast.toml, unless that is meant",
        ),
        None => well("defaults and variables"),
    }
}

pub fn user() -> Finding {
    match geteuid().is_root() {
        true => note(
            "this is root: what it writes the service may not read, and a flaw would reach everything",
            "run it as the user of the service, for example `runuser -u holdfast -- holdfast doctor`",
        ),
        false => well("not root"),
    }
}

/// What root writes there, or makes there, the service could not use afterwards.
pub fn is_of_another_user(directory: &Path) -> bool {
    let owner = directory.ancestors().find_map(|place| std::fs::metadata(place).ok()).map(|about| about.uid());
    geteuid().is_root() && owner.is_some_and(|owner| owner != 0)
}

pub fn not_tried(what: impl std::fmt::Display) -> Finding {
    note(
        format!("{what} was not tried: it is not root's"),
        "run it as the user of the service, for example `runuser -u holdfast -- holdfast doctor`",
    )
}

/// Every connection is a file, and every pack that is read.
const FEW_FILES: u64 = 1024;

pub fn open_files() -> Finding {
    match getrlimit(Resource::Nofile).current {
        Some(most) if most <= FEW_FILES => {
            note(format!("only {most} can be open at once"), "LimitNOFILE=65536 in the unit, or `ulimit -n 65536`")
        }
        Some(most) => well(format!("{most} can be open at once")),
        None => well("any number can be open at once"),
    }
}

/// The program, and the place for copies of repositories.
pub async fn git(configuration: &Configuration) -> Finding {
    let settings = configuration.git.settings();
    let program = settings.program.display().to_string();
    let engine = Engine::new(settings);
    let version = match engine.git.version().await {
        Ok(version) => version,
        Err(error) => {
            let cure = "install git 2.39 or later, or set git.program (HOLDFAST__GIT__PROGRAM)";
            return wrong(format!("{program} {error}"), cure);
        }
    };
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST_GIT {
        return wrong(format!("{program} is version {version}"), "install git 2.39 or later");
    }
    let parent = &engine.settings.cache_directory;
    if is_of_another_user(parent) {
        return not_tried(parent.display());
    }
    let cache = match engine.cache() {
        Ok(cache) => cache,
        Err(error) => {
            return wrong(
                format!("{} {error}", parent.display()),
                "let this user write there, or set git.cache_directory (HOLDFAST__GIT__CACHE_DIRECTORY)",
            );
        }
    };
    let (place, budget) = (cache.directory(), engine.settings.cache_max_bytes);
    // Copies of a node that runs here are copies, too.
    let room = cache.room().unwrap_or(u64::MAX).saturating_add(cache::bytes_below(parent).unwrap_or_default());
    if room < budget {
        return note(
            format!("copies may take {} MB, and {} has room for {}", budget >> 20, place.display(), room >> 20),
            "lower git.cache_max_bytes, or set git.cache_directory to a larger disk",
        );
    }
    well(format!("version {version}, copies in {}", place.display()))
}

pub fn ssh(configuration: &Configuration) -> anyhow::Result<Finding> {
    Ok(match configuration.ssh.listen()? {
        None => well("switched off"),
        Some(listen) if listen.ip().is_loopback() && !is_for_this_machine(configuration) => note(
            format!("{listen} cannot be reached from elsewhere"),
            "set ssh.listen to \"0.0.0.0:2222\", or to \"\" for none; or lead a balancer there",
        ),
        Some(listen) => well(listen.to_string()),
    })
}

pub fn backup(facts: Option<&Facts>) -> Finding {
    let server = facts.map_or(0, |facts| facts.version / 10_000);
    match pg_dump_version() {
        None => note("pg_dump is missing, which `holdfast backup` needs", "install postgresql-client"),
        Some(version) if version < server => note(
            format!("pg_dump is version {version}, which copies no PostgreSQL {server}"),
            "install postgresql-client of the server's version",
        ),
        Some(version) => well(format!("pg_dump {version} is there")),
    }
}
