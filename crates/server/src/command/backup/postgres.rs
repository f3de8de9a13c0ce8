//! PostgreSQL's own programs copy the database: nobody knows better what is in it.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, bail};
use tokio::process::Command;
use url::Url;

/// None if there is none on this machine.
pub fn pg_dump_version() -> Option<i32> {
    let said = std::process::Command::new("pg_dump").arg("--version").stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    // pg_dump (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)
    said.split_whitespace().nth(2)?.split('.').next()?.parse().ok()
}

pub async fn dump(url: &str, snapshot: &str, file: &Path) -> anyhow::Result<()> {
    let mut command = program("pg_dump", url)?;
    command.args(["--format=custom", "--no-owner", "--no-privileges"]).arg(format!("--snapshot={snapshot}"));
    run(command.arg("--file").arg(file), "pg_dump").await?;
    Ok(std::fs::File::open(file)?.sync_all()?)
}

/// All of it or nothing.
pub async fn restore(url: &str, file: &Path) -> anyhow::Result<()> {
    let mut command = program("pg_restore", url)?;
    command.args(["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]);
    run(command.arg(file), "pg_restore").await
}

/// Everybody on the machine sees arguments, so the password is not among them.
fn program(name: &str, url: &str) -> anyhow::Result<Command> {
    let mut url = Url::parse(url).context("the database's address cannot be read")?;
    let mut password = url.password().map(str::to_owned);
    if url.set_password(None).is_err() {
        password = None;
    }
    let parameters: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let (secret, parameters): (Vec<_>, Vec<_>) = parameters.into_iter().partition(|(key, _)| key == "password");
    password = secret.into_iter().map(|(_, value)| value).next_back().or(password.map(|text| decoded(&text)));
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

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

async fn run(command: &mut Command, name: &str) -> anyhow::Result<()> {
    let output = match command.output().await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!(
                "{name} is missing: install PostgreSQL's programs (Debian: postgresql-client), not older than the server"
            )
        }
        output => output.with_context(|| format!("{name} cannot be started"))?,
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} failed ({}):\n{}", output.status, said.trim());
    }
    Ok(())
}
