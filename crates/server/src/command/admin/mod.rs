//! The command `admin`: operator tasks on users, tokens, repositories, runners and jobs.
//!
//! All use cases run as [`Actor::Operator`] directly on the database, without a running server.

mod recover;
mod repo;

use anyhow::{Context as _, anyhow};
use chrono::{DateTime, NaiveDate, Utc};
use clap::{Args, Subcommand};
use holdfast_app::accounts::token::CreateToken;
use holdfast_app::accounts::user::{User, UserChanges};
use holdfast_app::accounts::{setup, token, user};
use holdfast_app::ci::runner;
use holdfast_app::worker::{self, job};
use holdfast_app::{Actor, App, Entropy, Error};
use holdfast_domain::Field;
use holdfast_domain::page::PageRequest;

use super::{block_on, build_app, ensure_database_ready, print};
use crate::configuration::Configuration;

#[derive(Subcommand)]
pub enum Command {
    /// Create and block users, and reset passwords.
    #[command(subcommand)]
    User(UserCommand),
    /// Create, list and revoke personal access tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Inspect, check, repack and restore repositories.
    #[command(subcommand)]
    Repo(repo::Command),
    /// Find lost pushes in the object store, and restore them.
    ///
    /// Lists pushes that are in the object store but not in the database. With --apply they are restored. Exits with 1 if
    /// some pushes could not be checked or restored.
    Recover(recover::Arguments),
    /// Print a code for creating the first administrator in a browser.
    ///
    /// The page is at /setup while the instance has no user. A code is valid for 24 hours.
    SetupCode,
    /// Show the registration token for shared runners.
    RunnerToken {
        /// Replace the token first. Registered runners stay registered.
        #[arg(long)]
        reset: bool,
    },
    /// Run the daily cleanup now.
    ///
    /// Deletes data that is no longer needed, and enqueues maintenance jobs for repositories that are due.
    Sweep,
    /// List background jobs with progress and errors.
    Jobs {
        /// Maximum number of jobs, newest first.
        #[arg(long, default_value_t = 50)]
        limit: u16,
        /// Retry this job now, even if it has failed permanently.
        #[arg(long, value_name = "ID")]
        retry: Option<i64>,
    },
}

#[derive(Subcommand)]
pub enum UserCommand {
    /// Create a user.
    ///
    /// The first user should be an administrator (--admin).
    Create(CreateUser),
    /// Set a new password and end all sessions of a user.
    ResetPassword {
        /// Username of the account.
        #[arg(long)]
        username: String,
        #[command(flatten)]
        password: Password,
    },
    /// Block a user as a directory synchronization would.
    ///
    /// The API cannot remove this block.
    DirectoryBlock {
        /// Username of the account.
        #[arg(long)]
        username: String,
    },
    /// Remove a block of a directory synchronization.
    DirectoryUnblock {
        /// Username of the account.
        #[arg(long)]
        username: String,
    },
}

#[derive(Args)]
pub struct CreateUser {
    /// Username for signing in, and path of the user's namespace.
    #[arg(long)]
    username: String,
    /// Primary e-mail address.
    #[arg(long)]
    email: String,
    /// Full name.
    #[arg(long)]
    name: String,
    /// Make the user an administrator.
    #[arg(long)]
    admin: bool,
    #[command(flatten)]
    password: Password,
}

#[derive(Args)]
pub struct Password {
    /// Read the password from standard input. Without this, a random password is generated and printed.
    #[arg(long)]
    password_stdin: bool,
}

impl Password {
    /// Returns the password, and whether it was generated.
    fn get(&self) -> anyhow::Result<(String, bool)> {
        if !self.password_stdin {
            return Ok((hex::encode(Entropy::system().bytes::<12>()), true));
        }
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).context("cannot read the password from standard input")?;
        Ok((line.trim_end_matches(['\n', '\r']).to_owned(), false))
    }
}

#[derive(Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it.
    ///
    /// The token is shown only once.
    Create {
        /// Username of the token's owner.
        #[arg(long)]
        user: String,
        /// Name of the token, such as its purpose.
        #[arg(long, default_value = "command line")]
        name: String,
        /// Scopes, separated by commas: api, read_api, read_user, read_repository, write_repository, sudo.
        #[arg(long, value_delimiter = ',', default_value = "api")]
        scopes: Vec<String>,
        /// First day on which the token is no longer valid (YYYY-MM-DD).
        #[arg(long, value_name = "DATE")]
        expires: Option<NaiveDate>,
    },
    /// List the newest tokens of a user, up to 100.
    List {
        /// Username of the tokens' owner.
        #[arg(long)]
        user: String,
    },
    /// Revoke a token.
    Revoke {
        /// Username of the token's owner.
        #[arg(long)]
        user: String,
        /// ID of the token, as shown by `list`.
        id: i64,
    },
}

pub fn run(configuration: &Configuration, command: Command) -> anyhow::Result<()> {
    block_on(async {
        ensure_database_ready(configuration).await?;
        let app = build_app(configuration)?;
        match command {
            Command::User(command) => run_user(&app, command).await,
            Command::Token(command) => run_token(&app, command).await,
            Command::Repo(command) => repo::run(&app, command).await,
            Command::Recover(arguments) => recover::run(configuration, &app, arguments).await,
            Command::SetupCode => match setup::create_code(&app, &Actor::Operator).await {
                Ok(code) => print(format!("{}\nsetup code: {code}", app.settings.site.url("/setup"))),
                Err(Error::Conflict(_)) => {
                    Err(anyhow!("there are users already; create others with `holdfast admin user create`"))
                }
                Err(error) => Err(cli_error(error)),
            },
            Command::RunnerToken { reset } => {
                let token = match reset {
                    true => runner::reset_registration_token(&app, &Actor::Operator).await,
                    false => runner::registration_token(&app, &Actor::Operator).await,
                };
                print(token.map_err(cli_error)?)
            }
            Command::Sweep => {
                worker::sweep_now(&app, &Actor::Operator).await.map_err(cli_error)?;
                print("cleanup finished; background jobs will maintain the repositories that are due")
            }
            Command::Jobs { retry: Some(id), .. } => {
                let retried = job::retry(&app, &Actor::Operator, id.into()).await;
                retried.map_err(|error| match error {
                    Error::NotFound(_) => {
                        anyhow!("job {id} is finished or does not exist; list jobs with `holdfast admin jobs`")
                    }
                    other => cli_error(other),
                })?;
                print(format!("job {id} will be retried now"))
            }
            Command::Jobs { limit, .. } => list_jobs(&app, limit).await,
        }
    })
}

async fn run_user(app: &App, command: UserCommand) -> anyhow::Result<()> {
    match command {
        UserCommand::Create(input) => create_user(app, input).await,
        UserCommand::ResetPassword { username, password } => {
            let user = find_user(app, &username).await?;
            let (password, is_generated) = password.get()?;
            user::reset_password(app, &Actor::Operator, user.id, &password).await.map_err(cli_error)?;
            print(format!("{username} has a new password"))?;
            if is_generated { print(password) } else { Ok(()) }
        }
        UserCommand::DirectoryBlock { username } => {
            let user = find_user(app, &username).await?;
            user::set_directory_block(app, &Actor::Operator, user.id, true).await.map_err(cli_error)?;
            print(format!("{username} is blocked by the directory"))
        }
        UserCommand::DirectoryUnblock { username } => {
            let user = find_user(app, &username).await?;
            let lifted = user::set_directory_block(app, &Actor::Operator, user.id, false).await.map_err(cli_error)?;
            print(if lifted { "directory block removed" } else { "the user has no directory block" })
        }
    }
}

async fn create_user(app: &App, input: CreateUser) -> anyhow::Result<()> {
    let (password, is_generated) = input.password.get()?;
    let changes = UserChanges {
        username: Field::Value(input.username),
        email: Field::Value(input.email),
        name: Field::Value(input.name),
        password: Field::Value(password.clone()),
        admin: Some(input.admin),
        ..UserChanges::default()
    };
    let user = user::create(app, &Actor::Operator, changes).await.map_err(cli_error)?;
    print(format!("created {} with id {}", user.username, user.id))?;
    if is_generated { print(format!("password: {password}")) } else { Ok(()) }
}

async fn run_token(app: &App, command: TokenCommand) -> anyhow::Result<()> {
    match command {
        TokenCommand::Create { user, name, scopes, expires } => {
            let user = find_user(app, &user).await?;
            let input = CreateToken { name, scopes, expires_at: expires };
            let (_, secret) = token::create_for_user(app, &Actor::Operator, user.id, input).await.map_err(cli_error)?;
            print(secret)
        }
        TokenCommand::List { user } => {
            let user = find_user(app, &user).await?;
            let newest = PageRequest::new(None, Some(100));
            let page = token::list_for_user(app, &Actor::Operator, user.id, newest).await.map_err(cli_error)?;
            let heading = ["state", "created", "last used", "expires", "scopes"];
            let row = |id: &str, [state, created, used, expires, scopes]: [&str; 5], name: &str| {
                print(format!("{id:>6}  {state:<8}  {created:<10}  {used:<10}  {expires:<10}  {scopes:<20}  {name}"))
            };
            row("id", heading, "name")?;
            for token in page.items {
                let state = if app.is_active(&token) { "active" } else { "inactive" };
                let day = |at: Option<DateTime<Utc>>| at.map_or("never".into(), |at| at.date_naive().to_string());
                let days = [Some(token.created_at), token.last_used_at, token.expires_at].map(day);
                let [created, used, expires] = days.each_ref().map(String::as_str);
                let scopes = token.scopes.to_string();
                row(&token.id.to_string(), [state, created, used, expires, &scopes], &token.name)?;
            }
            Ok(())
        }
        TokenCommand::Revoke { user, id } => {
            let user = find_user(app, &user).await?;
            let revoked = token::revoke_for_user(app, &Actor::Operator, user.id, id.into()).await;
            revoked.map_err(|error| match error {
                Error::NotFound(_) => {
                    anyhow!("{} has no valid token {id}; list tokens with `holdfast admin token list`", user.username)
                }
                other => cli_error(other),
            })?;
            print(format!("token {id} is revoked"))
        }
    }
}

async fn list_jobs(app: &App, limit: u16) -> anyhow::Result<()> {
    let jobs = job::list(app, &Actor::Operator, limit.into()).await.map_err(cli_error)?;
    if jobs.is_empty() {
        return print("no jobs");
    }
    print(format!("{:>6}  {:<16}  {:>13}  {:<8}  {:<16}  {}", "id", "task", "done", "state", "requested", "subject"))?;
    for job in jobs {
        let done = format!("{}/{}", job.done, job.total.max(job.done));
        let is_failed = job.attempts.is_none() || job.attempts >= job.max_attempts;
        let state = match (job.finished_at, job.running, &job.last_error) {
            (Some(_), ..) => "finished",
            (None, Some(true), _) => "running",
            _ if is_failed => "failed",
            (None, _, Some(_)) => "retrying",
            (None, _, None) => "pending",
        };
        let requested = job.requested_at.format("%Y-%m-%d %H:%M");
        print(format!("{:>6}  {:<16}  {done:>13}  {state:<8}  {requested}  {}", job.id.get(), job.task, job.subject))?;
        if let (None, Some(error)) = (job.finished_at, job.last_error) {
            let attempts = job.attempts.unwrap_or_default();
            let next = match job.next_try.filter(|_| !is_failed) {
                Some(at) => format!("next attempt {}", at.format("%Y-%m-%d %H:%M")),
                None => format!("no more attempts; retry it with `holdfast admin jobs --retry {}`", job.id),
            };
            print(format!("        failed {attempts} times, {next}: {error}"))?;
        }
    }
    Ok(())
}

async fn find_user(app: &App, username: &str) -> anyhow::Result<User> {
    match user::show_by_username(app, &Actor::Operator, username).await {
        Err(Error::NotFound(_)) => {
            Err(anyhow!("there is no user {username}; create one with `holdfast admin user create`"))
        }
        found => found.map_err(cli_error),
    }
}

/// Converts an application error to a message for the command line.
pub fn cli_error(error: Error) -> anyhow::Error {
    match error {
        Error::Invalid(violations) => {
            let fields: Vec<String> =
                violations.iter().map(|(field, messages)| format!("{field} {}", messages.join(" and "))).collect();
            anyhow!("{}", fields.join("; "))
        }
        Error::DatabaseUnavailable(cause) => {
            anyhow!("the database cannot be reached: {cause}; run `holdfast doctor` for details")
        }
        // Without its causes, which repeat the text and contain the response of S3.
        Error::ObjectStore(_) => anyhow!("{error}"),
        other => other.into(),
    }
}
