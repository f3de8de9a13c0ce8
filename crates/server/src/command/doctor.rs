use anyhow::bail;
use holdfast_app::repository::engine::Engine;
use holdfast_store::Objects;
use holdfast_store::migrate::{self, State};

use super::{block_on, print};
use crate::configuration::{Configuration, Invalid};

/// The oldest git that is tested.
const OLDEST_GIT: (u32, u32) = (2, 39);
/// The oldest PostgreSQL that is tested.
const OLDEST_SERVER: i32 = 150_000;

pub fn run(configuration: Result<Configuration, Invalid>) -> anyhow::Result<()> {
    let configuration = match configuration {
        Ok(configuration) => configuration,
        Err(error) => {
            print(format!("settings   WRONG  {error}"))?;
            bail!("mend the settings first, then run `holdfast doctor` again");
        }
    };
    print("settings   ok")?;
    let mut wrong = 0;
    let mut report = |subject: &str, finding: Result<String, String>| {
        wrong += i32::from(finding.is_err());
        match finding {
            Ok(text) => print(format!("{subject:<10} ok     {text}")),
            Err(text) => print(format!("{subject:<10} WRONG  {text}")),
        }
    };
    let url = &configuration.server.external_url;
    let is_local = url.host_str().is_some_and(|host| host == "localhost" || host.starts_with("127."));
    let needs_tls = url.scheme() == "http" && !is_local;
    report(
        "address",
        match needs_tls {
            true => Err(format!(
                "{url} is not https: tokens and passwords travel in the clear\n  cure: put a proxy with TLS in front and set server.external_url to https://…"
            )),
            false => Ok(url.to_string()),
        },
    )?;
    report(
        "secrets",
        match configuration.secrets.key()? {
            Some(_) => Ok("there is a key".into()),
            None => {
                Err("there is no key: projects can keep no secret variables for their builds\n  cure: make one with \
                 `openssl rand -hex 32` and set secrets.key (HOLDFAST__SECRETS__KEY) on all nodes"
                    .into())
            }
        },
    )?;
    block_on(async {
        let version = migrate::server_version(configuration.direct_url()).await;
        let reachable = version.is_ok();
        let finding = match version {
            Err(error) => Err(format!(
                "{} {error}\n  cure: let PostgreSQL run there, with that user, password and database, or set \
                 database.url (HOLDFAST__DATABASE__URL)",
                configuration.database_place()
            )),
            Ok(version) if version < OLDEST_SERVER => {
                Err(format!("PostgreSQL {} is too old\n  cure: upgrade it to 15 or later", version / 10_000))
            }
            Ok(version) => Ok(format!("PostgreSQL {} at {}", version / 10_000, configuration.database_place())),
        };
        report("database", finding)?;
        if reachable {
            report(
                "schema",
                match migrate::state(configuration.direct_url()).await {
                    Ok(State::Current) => Ok("current".into()),
                    Ok(State::Behind(steps)) => Err(format!("{steps} steps behind\n  cure: run `holdfast migrate`")),
                    Ok(State::Ahead) => {
                        Err("newer than this program\n  cure: run the version that migrated it, or a later one".into())
                    }
                    Err(error) => {
                        Err(format!("{error}\n  cure: let database.direct_url reach the server without a pooler"))
                    }
                },
            )?;
        }
        if let Ok((count, awaited)) = migrate::replicas(configuration.direct_url()).await
            && count > 0
            && awaited.is_empty()
        {
            print(format!(
                "{:<10} NOTE   {count} replicas follow, and no commit waits for any: one that takes over may have forgotten \
                 pushes that were acknowledged\n  cure: set synchronous_standby_names, or never let these take over",
                "replicas"
            ))?;
        }
        report("git", git(&configuration).await)?;
        report(
            "storage",
            match Objects::new(configuration.storage.options()?).check("check").await {
                Ok(()) => Ok(configuration.storage.url.to_string()),
                Err(error) => Err(format!(
                    "{} {error}\n  cure: let it run and be reachable, let this user write there, or set storage.url (HOLDFAST__STORAGE__URL) and, for a \
                     bucket, its endpoint and keys",
                    configuration.storage.url
                )),
            },
        )?;
        anyhow::Ok(())
    })?;
    if wrong > 0 {
        bail!("{wrong} to mend");
    }
    Ok(())
}

/// The program, and the place for copies of repositories.
async fn git(configuration: &Configuration) -> Result<String, String> {
    let settings = configuration.git.settings();
    let program = settings.program.display().to_string();
    let engine = Engine::new(settings);
    let version = engine.git.version().await.map_err(|error| {
        format!("{program} {error}\n  cure: install git 2.39 or later, or set git.program (HOLDFAST__GIT__PROGRAM)")
    })?;
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST_GIT {
        return Err(format!("{program} is version {version}\n  cure: install git 2.39 or later"));
    }
    let cache = engine.cache().map_err(|error| {
        format!(
            "{} {error}\n  cure: let this user write there, or set git.cache_directory (HOLDFAST__GIT__CACHE_DIRECTORY)",
            engine.settings.cache_directory.display()
        )
    })?;
    Ok(format!("version {version}, copies in {}", cache.directory().display()))
}
