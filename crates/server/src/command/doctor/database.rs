//! Checks of the database for `doctor`.

use chrono::TimeDelta;
use holdfast_app::ci::variable;
use holdfast_app::hooks::token;
use holdfast_app::{Actor, Clock};
use holdfast_store::Database;
use holdfast_store::migrate::{self, SchemaState};
use holdfast_store::server_info::ServerInfo;

use super::{Finding, ok, problem, warning};
use crate::command::build_app;
use crate::configuration::Configuration;

/// The oldest tested version of PostgreSQL, 15, as `server_version_num`.
const MIN_SERVER_VERSION: i32 = 150_000;

pub fn server(configuration: &Configuration, info: &Result<ServerInfo, migrate::Error>) -> Finding {
    let location = configuration.database_location();
    let info = match info {
        Ok(info) => info,
        Err(error) if error.is_tls() => {
            return problem(
                format!("{location}: {error}"),
                "set sslmode and sslrootcert in database.url: sslmode=verify-full with \
                 sslrootcert=/path/of/the/certificate/authority.pem, and the host name that the certificate is for",
            );
        }
        Err(error) => {
            return problem(
                format!("{location}: {error}"),
                "check that PostgreSQL is running there and accepts this user, password and database, or set \
                 database.url (HOLDFAST__DATABASE__URL)",
            );
        }
    };
    let version = info.version / 10_000;
    if info.version < MIN_SERVER_VERSION {
        problem(format!("PostgreSQL {version} is too old"), "upgrade PostgreSQL to version 15 or later")
    } else if info.is_replica {
        problem(
            format!("{location} is a standby and does not accept writes"),
            "set database.url, and database.direct_url if it is set, to the primary",
        )
    } else if info.encoding != "UTF8" {
        problem(
            format!("{location} has the encoding {}", info.encoding),
            "create the database again with the encoding 'UTF8'",
        )
    } else if configuration.database.is_remote() && !configuration.database.requires_tls() {
        warning(
            format!("PostgreSQL {version} at {location}; the connection need not be encrypted (sslmode)"),
            "add ?sslmode=verify-full to database.url, or sslmode=require to encrypt without checking the certificate, \
             unless the network is private",
        )
    } else {
        ok(format!("PostgreSQL {version} at {location}"))
    }
}

pub async fn schema(configuration: &Configuration) -> Finding {
    match migrate::state(configuration.direct_url()).await {
        Ok(SchemaState::Current) => ok("up to date"),
        Ok(SchemaState::Behind(steps)) => problem(format!("{steps} migrations are missing"), "run `holdfast migrate`"),
        Ok(SchemaState::Ahead) => problem(
            "newer than this version of holdfast",
            "run the version that applied the migrations, or a later one",
        ),
        Err(error) => problem(
            error.to_string(),
            "set database.direct_url to an address that reaches PostgreSQL without a connection pooler",
        ),
    }
}

pub async fn secrets(configuration: &Configuration) -> anyhow::Result<Finding> {
    if configuration.encryption.key()?.is_none() {
        return Ok(problem(
            "no encryption key is set: projects cannot store CI variables, and webhook tokens are stored unencrypted",
            "create a key with `openssl rand -hex 32` and set encryption.key (HOLDFAST__ENCRYPTION__KEY) on all nodes; \
             after a restore, set the key of the original installation",
        ));
    }
    let app = build_app(configuration)?;
    let can_decrypt = async {
        let variables = variable::can_decrypt_stored(&app, &Actor::Operator).await?;
        let tokens = token::can_decrypt_stored(&app, &Actor::Operator).await?;
        Ok::<_, holdfast_app::Error>([variables, tokens].into_iter().flatten().reduce(|first, second| first && second))
    };
    Ok(match can_decrypt.await {
        Ok(Some(true)) => ok("the encryption key decrypts the stored CI variables and webhook tokens"),
        Ok(None) => ok("an encryption key is set; nothing is encrypted with it yet"),
        Ok(Some(false)) => problem(
            "the encryption key does not decrypt the stored CI variables and webhook tokens",
            "set encryption.key to the previous key; if that key is lost, set the variables and tokens again",
        ),
        // Other checks report a database that is unreachable or empty.
        Err(_) => ok("an encryption key is set; it was not checked against stored values"),
    })
}

/// Checks the connection pooler, which requests use. All other checks connect to PostgreSQL directly.
pub async fn pooler(configuration: &Configuration) -> Finding {
    let check = async { Database::new(&configuration.database_options())?.is_ready().await };
    match check.await {
        Ok(_) => ok("database.url is reachable"),
        Err(error) => problem(
            format!("database.url cannot be used: {error}"),
            "check that the connection pooler is running there and accepts this user and password",
        ),
    }
}

pub fn durability(info: &ServerInfo) -> Finding {
    if !info.unsafe_settings.is_empty() {
        return problem(
            format!("PostgreSQL can lose committed transactions: {} is off", info.unsafe_settings.join(", ")),
            "switch it on in postgresql.conf; otherwise a crash can lose acknowledged pushes",
        );
    }
    if info.replicas > 0 && info.synchronous_standby_names.is_empty() {
        return warning(
            format!(
                "{} standbys are connected, but commits wait for none of them: a standby that is promoted can lack \
                 acknowledged pushes",
                info.replicas
            ),
            "set synchronous_standby_names, or do not promote these standbys",
        );
    }
    ok("committed transactions survive a crash")
}

/// Connections that must remain for migrations, operators and PostgreSQL itself. The number is arbitrary.
const RESERVED_CONNECTIONS: u32 = 10;

pub fn pool(configuration: &Configuration, info: &ServerInfo) -> Finding {
    let (requested, limit) = (configuration.database.max_connections, info.max_connections);
    if i64::from(requested + RESERVED_CONNECTIONS) > i64::from(limit) {
        return problem(
            format!(
                "this node may open {requested} connections, but PostgreSQL accepts {limit} from all nodes together"
            ),
            "lower database.max_connections, or raise max_connections in postgresql.conf",
        );
    }
    ok(format!("this process uses at most {requested} of the server's {limit} connections"))
}

/// With a larger difference between clocks, leases expire too early or too late.
const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::seconds(5);

pub fn clock(info: &ServerInfo) -> Finding {
    let skew = info.now - Clock::system().now();
    if skew.abs() > MAX_CLOCK_SKEW {
        return problem(
            format!("differs from the clock of the database by {} seconds", skew.num_seconds()),
            "synchronize the clocks of all machines with NTP",
        );
    }
    ok("agrees with the clock of the database")
}
