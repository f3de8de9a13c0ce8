use chrono::TimeDelta;
use holdfast_app::ci::variable;
use holdfast_app::{Actor, Clock};
use holdfast_store::Database;
use holdfast_store::facts::Facts;
use holdfast_store::migrate::{self, State};

use super::{Finding, note, well, wrong};
use crate::command::application;
use crate::configuration::Configuration;

/// The oldest PostgreSQL that is tested.
const OLDEST_SERVER: i32 = 150_000;

pub fn server(configuration: &Configuration, facts: &Result<Facts, migrate::Error>) -> Finding {
    let place = configuration.database_place();
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => {
            return wrong(
                format!("{place} {error}"),
                "let PostgreSQL run there, with that user, password and database, or set database.url \
                 (HOLDFAST__DATABASE__URL)",
            );
        }
    };
    let version = facts.version / 10_000;
    if facts.version < OLDEST_SERVER {
        wrong(format!("PostgreSQL {version} is too old"), "upgrade it to 15 or later")
    } else if facts.is_replica {
        wrong(format!("{place} is a replica and takes no writes"), "name the primary in database.url")
    } else if facts.encoding != "UTF8" {
        wrong(format!("{place} keeps text as {}", facts.encoding), "make the database anew with encoding 'UTF8'")
    } else {
        well(format!("PostgreSQL {version} at {place}"))
    }
}

pub async fn schema(configuration: &Configuration) -> Finding {
    match migrate::state(configuration.direct_url()).await {
        Ok(State::Current) => well("current"),
        Ok(State::Behind(steps)) => wrong(format!("{steps} steps behind"), "run `holdfast migrate`"),
        Ok(State::Ahead) => wrong("newer than this program", "run the version that migrated it, or a later one"),
        Err(error) => wrong(error.to_string(), "let database.direct_url reach the server without a pooler"),
    }
}

pub async fn secrets(configuration: &Configuration) -> anyhow::Result<Finding> {
    if configuration.secrets.key()?.is_none() {
        return Ok(wrong(
            "there is no key: projects can keep no secret variables for their builds",
            "make one with `openssl rand -hex 32` and set secrets.key (HOLDFAST__SECRETS__KEY) on all nodes; after a restore, \
             the one of before",
        ));
    }
    Ok(match variable::has_its_key(&application(configuration)?, &Actor::Operator).await {
        Ok(true) => well("there is a key"),
        Ok(false) => wrong(
            "the key is not the one with which the variables of projects and the tokens of hooks were sealed",
            "set secrets.key to the one of before; if it is lost, set the variables and the tokens again",
        ),
        // A database that is away or empty is told below.
        Err(_) => well("there is a key; whether it is the right one cannot be seen"),
    })
}

/// What requests go through; the facts come from behind it.
pub async fn pooler(configuration: &Configuration) -> Finding {
    let reached = async { Database::new(&configuration.database_options())?.is_ready().await };
    match reached.await {
        Ok(_) => well("database.url leads to the same"),
        Err(error) => wrong(format!("database.url {error}"), "let the pooler run there, with that user and password"),
    }
}

pub fn durability(facts: &Facts) -> Finding {
    if !facts.careless.is_empty() {
        return wrong(
            format!("PostgreSQL may forget what it has committed: {} is off", facts.careless.join(", ")),
            "switch it on in postgresql.conf, or acknowledged pushes are lost in a crash",
        );
    }
    if facts.replicas > 0 && facts.awaited.is_empty() {
        return note(
            format!(
                "{} replicas follow, and no commit waits for any: one that takes over may have forgotten pushes that were \
                 acknowledged",
                facts.replicas
            ),
            "set synchronous_standby_names, or never let these take over",
        );
    }
    well("what is committed is kept")
}

/// Left for migrations, operators and PostgreSQL itself.
const SPARE: u32 = 10;

pub fn pool(configuration: &Configuration, facts: &Facts) -> Finding {
    let (asked, most) = (configuration.database.max_connections, facts.max_connections);
    if i64::from(asked + SPARE) > i64::from(most) {
        return wrong(
            format!("a node may open {asked} connections, and the server takes {most} of all nodes together"),
            "lower database.max_connections, or raise max_connections in postgresql.conf",
        );
    }
    well(format!("{asked} of the server's {most} connections"))
}

/// Where clocks differ by more, leases end too early or too late.
const SKEW: TimeDelta = TimeDelta::seconds(5);

pub fn clock(facts: &Facts) -> Finding {
    let skew = facts.now - Clock::system().now();
    if skew.abs() > SKEW {
        return wrong(
            format!("{} seconds away from the database's", skew.num_seconds()),
            "let NTP keep the clocks of all machines",
        );
    }
    well("agrees with the database's")
}
