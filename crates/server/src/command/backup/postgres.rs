//! Runs `pg_dump` and `pg_restore`.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use tokio::process::Command;
use url::Url;

/// Returns the major version of `pg_dump`, or `None` if it is not installed.
pub fn pg_dump_version() -> Option<i32> {
    let output = std::process::Command::new("pg_dump").arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    // pg_dump (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)
    text.split_whitespace().nth(2)?.split('.').next()?.parse().ok()
}

pub async fn dump(url: &str, snapshot: &str, file: &Path) -> anyhow::Result<()> {
    let mut command = pg_command("pg_dump", url)?;
    command.args(["--format=custom", "--no-owner", "--no-privileges"]).arg(format!("--snapshot={snapshot}"));
    run(command.arg("--file").arg(file), "pg_dump").await?;
    Ok(std::fs::File::open(file)?.sync_all()?)
}

/// Restores a dump in a single transaction.
pub async fn restore(url: &str, file: &Path) -> anyhow::Result<()> {
    let mut command = pg_command("pg_restore", url)?;
    command.args(["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]);
    run(command.arg(file), "pg_restore").await
}

/// Builds a command that connects to the database. The password is passed in the environment, because other users can
/// see command line arguments.
fn pg_command(name: &str, url: &str) -> anyhow::Result<Command> {
    let mut url = Url::parse(url).context("the database URL is invalid")?;
    let mut password = url.password().map(str::to_owned);
    if url.set_password(None).is_err() {
        password = None;
    }
    let parameters: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let (secret, parameters): (Vec<_>, Vec<_>) = parameters.into_iter().partition(|(key, _)| key == "password");
    password = secret.into_iter().map(|(_, value)| value).next_back().or(password.map(|text| percent_decode(&text)));
    url.set_query(None);
    if !parameters.is_empty() {
        url.query_pairs_mut().extend_pairs(parameters);
    }
    let mut command = Command::new(name);
    command.arg("--dbname").arg(url.as_str()).stdin(Stdio::null()).kill_on_drop(true);
    if let Some(password) = password {
        command.env("PGPASSWORD", password);
    }
    Ok(command)
}

fn percent_decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

async fn run(command: &mut Command, name: &str) -> anyhow::Result<()> {
    let output = match command.output().await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!(
                "{name} is not installed: install PostgreSQL's client programs (Debian: postgresql-client) of the \
                 server's version or a later one"
            )
        }
        output => output.with_context(|| format!("{name} cannot be started"))?,
    };
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{name} failed ({}):\n{}", output.status, stderr.trim());
    }
    Ok(())
}
