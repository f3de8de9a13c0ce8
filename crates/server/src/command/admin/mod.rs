//! What operators do from the server's own command line.

mod recover;
mod repo;

use anyhow::{Context as _, anyhow};
use chrono::{DateTime, NaiveDate, Utc};
use clap::{Args, Subcommand};
use holdfast_app::accounts::token::CreateToken;
use holdfast_app::accounts::user::{User, UserChanges};
use holdfast_app::accounts::{token, user};
use holdfast_app::ci::runner;
use holdfast_app::worker::{self, job};
use holdfast_app::{Actor, App, Entropy, Error};
use holdfast_domain::Field;
use holdfast_domain::page::PageRequest;

use super::{application, block_on, print};
use crate::configuration::Configuration;

#[derive(Subcommand)]
pub enum Command {
    /// Create users, reset passwords.
    #[command(subcommand)]
    User(UserCommand),
    /// Make, list and revoke personal access tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Look after repositories.
    #[command(subcommand)]
    Repo(repo::Command),
    /// Find pushes that the database has forgotten, by what the object store still has, and bring them back.
    Recover(recover::Arguments),
    /// Show the token with which runners for all projects are registered.
    RunnerToken {
        /// Make another one first; runners that are registered stay.
        #[arg(long)]
        reset: bool,
    },
    /// Do now what is done once a day: remove what is no longer needed, and have repositories cleaned up that are due.
    Sweep,
    /// List jobs: what is being done, how far it is, and what went wrong.
    Jobs {
        /// How many, the newest first.
        #[arg(long, default_value_t = 50)]
        limit: u16,
        /// Let the job of this number begin anew at once, also one that was given up.
        #[arg(long, value_name = "ID")]
        retry: Option<i64>,
    },
}

#[derive(Subcommand)]
pub enum UserCommand {
    /// Create a user; the first one should be an administrator.
    Create(CreateUser),
    /// Give a user a new password and sign it out everywhere.
    ResetPassword {
        /// Whom: a username.
        #[arg(long)]
        username: String,
        #[command(flatten)]
        password: Password,
    },
    /// Block a user as directory synchronisation does: the interface cannot lift it.
    DirectoryBlock {
        /// Whom: a username.
        #[arg(long)]
        username: String,
    },
    /// Lift a block that came from directory synchronisation.
    DirectoryUnblock {
        /// Whom: a username.
        #[arg(long)]
        username: String,
    },
}

#[derive(Args)]
pub struct CreateUser {
    /// The name to sign in with, and the first part of the user's paths.
    #[arg(long)]
    username: String,
    /// The primary e-mail address.
    #[arg(long)]
    email: String,
    /// The full name.
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
    /// Read the password from standard input; without this a random one is made and printed.
    #[arg(long)]
    password_stdin: bool,
}

impl Password {
    /// The password, and whether it was made up.
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
    /// Make a token and print it; it is shown only once.
    Create {
        /// Whose token: a username.
        #[arg(long)]
        user: String,
        /// What it is for.
        #[arg(long, default_value = "command line")]
        name: String,
        /// What it may do: api, read_user, sudo.
        #[arg(long, value_delimiter = ',', default_value = "api")]
        scopes: Vec<String>,
        /// The first day on which it is no longer valid, as YYYY-MM-DD.
        #[arg(long, value_name = "DATE")]
        expires: Option<NaiveDate>,
    },
    /// List a user's newest tokens.
    List {
        /// Whose tokens: a username.
        #[arg(long)]
        user: String,
    },
    /// Revoke a token by the number that `list` shows.
    Revoke {
        /// Whose token: a username.
        #[arg(long)]
        user: String,
        /// The number of the token.
        id: i64,
    },
}

pub fn run(configuration: &Configuration, command: Command) -> anyhow::Result<()> {
    block_on(async {
        let app = application(configuration)?;
        match command {
            Command::User(command) => run_user(&app, command).await,
            Command::Token(command) => run_token(&app, command).await,
            Command::Repo(command) => repo::run(&app, command).await,
            Command::Recover(arguments) => recover::run(&app, arguments).await,
            Command::RunnerToken { reset } => {
                let token = match reset {
                    true => runner::reset_registration_token(&app, &Actor::Operator).await,
                    false => runner::registration_token(&app, &Actor::Operator).await,
                };
                print(token.map_err(explain)?)
            }
            Command::Sweep => {
                worker::sweep_now(&app, &Actor::Operator).await.map_err(explain)?;
                print("swept; repositories that are due are cleaned up by the nodes' workers")
            }
            Command::Jobs { retry: Some(id), .. } => {
                let retried = job::retry(&app, &Actor::Operator, id.into()).await;
                retried.map_err(|error| match error {
                    Error::NotFound(_) => {
                        anyhow!("job {id} is finished, or there is none of that number; see `holdfast admin jobs`")
                    }
                    other => explain(other),
                })?;
                print(format!("job {id} begins anew"))
            }
            Command::Jobs { limit, .. } => list_jobs(&app, limit).await,
        }
    })
}

async fn run_user(app: &App, command: UserCommand) -> anyhow::Result<()> {
    match command {
        UserCommand::Create(input) => create_user(app, input).await,
        UserCommand::ResetPassword { username, password } => {
            let user = find(app, &username).await?;
            let (password, made_up) = password.get()?;
            user::reset_password(app, &Actor::Operator, user.id, &password).await.map_err(explain)?;
            print(format!("{username} has a new password"))?;
            if made_up { print(password) } else { Ok(()) }
        }
        UserCommand::DirectoryBlock { username } => {
            let user = find(app, &username).await?;
            user::synchronise_state(app, &Actor::Operator, user.id, true).await.map_err(explain)?;
            print(format!("{username} is blocked by the directory"))
        }
        UserCommand::DirectoryUnblock { username } => {
            let user = find(app, &username).await?;
            let lifted = user::synchronise_state(app, &Actor::Operator, user.id, false).await.map_err(explain)?;
            print(if lifted { "the block is lifted" } else { "there was no block by the directory" })
        }
    }
}

async fn create_user(app: &App, input: CreateUser) -> anyhow::Result<()> {
    let (password, made_up) = input.password.get()?;
    let changes = UserChanges {
        username: Field::Value(input.username),
        email: Field::Value(input.email),
        name: Field::Value(input.name),
        password: Field::Value(password.clone()),
        admin: Some(input.admin),
        ..UserChanges::default()
    };
    let user = user::create(app, &Actor::Operator, changes).await.map_err(explain)?;
    print(format!("created {} with id {}", user.username, user.id))?;
    if made_up { print(format!("password: {password}")) } else { Ok(()) }
}

async fn run_token(app: &App, command: TokenCommand) -> anyhow::Result<()> {
    match command {
        TokenCommand::Create { user, name, scopes, expires } => {
            let user = find(app, &user).await?;
            let input = CreateToken { name, scopes, expires_at: expires };
            let (_, secret) = token::create_for(app, &Actor::Operator, user.id, input).await.map_err(explain)?;
            print(secret)
        }
        TokenCommand::List { user } => {
            let user = find(app, &user).await?;
            let newest = PageRequest::new(None, Some(100));
            let page = token::list_of(app, &Actor::Operator, user.id, newest).await.map_err(explain)?;
            let heading = ["state", "made", "last used", "expires", "scopes"];
            let row = |id: &str, [state, made, used, expires, scopes]: [&str; 5], name: &str| {
                print(format!("{id:>6}  {state:<8}  {made:<10}  {used:<10}  {expires:<10}  {scopes:<20}  {name}"))
            };
            row("id", heading, "name")?;
            for token in page.items {
                let state = if app.is_active(&token) { "active" } else { "ended" };
                let day = |at: Option<DateTime<Utc>>| at.map_or("never".into(), |at| at.date_naive().to_string());
                let days = [Some(token.created_at), token.last_used_at, token.expires_at].map(day);
                let [made, used, expires] = days.each_ref().map(String::as_str);
                let scopes = token.scopes.to_string();
                row(&token.id.to_string(), [state, made, used, expires, &scopes], &token.name)?;
            }
            Ok(())
        }
        TokenCommand::Revoke { user, id } => {
            let user = find(app, &user).await?;
            let revoked = token::revoke_of(app, &Actor::Operator, user.id, id.into()).await;
            revoked.map_err(|error| match error {
                Error::NotFound(_) => {
                    anyhow!("{} has no valid token {id}; see `holdfast admin token list`", user.username)
                }
                other => explain(other),
            })?;
            print(format!("token {id} is revoked"))
        }
    }
}

async fn list_jobs(app: &App, limit: u16) -> anyhow::Result<()> {
    let jobs = job::list(app, &Actor::Operator, limit.into()).await.map_err(explain)?;
    if jobs.is_empty() {
        return print("there are no jobs");
    }
    print(format!("{:>6}  {:<16}  {:>13}  {:<8}  {:<16}  {}", "id", "task", "done", "state", "requested", "subject"))?;
    for job in jobs {
        let done = format!("{}/{}", job.done, job.total.max(job.done));
        let is_given_up = job.attempts.is_none() || job.attempts >= job.max_attempts;
        let state = match (job.finished_at, job.running, &job.last_error) {
            (Some(_), ..) => "finished",
            (None, Some(true), _) => "running",
            _ if is_given_up => "given up",
            (None, _, Some(_)) => "failing",
            (None, _, None) => "waiting",
        };
        let requested = job.requested_at.format("%Y-%m-%d %H:%M");
        print(format!("{:>6}  {:<16}  {done:>13}  {state:<8}  {requested}  {}", job.id.get(), job.task, job.subject))?;
        if let (None, Some(error)) = (job.finished_at, job.last_error) {
            let attempts = job.attempts.unwrap_or_default();
            let next = match job.next_try.filter(|_| !is_given_up) {
                Some(at) => format!("next try {}", at.format("%Y-%m-%d %H:%M")),
                None => format!("no further try; `holdfast admin jobs --retry {}` makes one", job.id),
            };
            print(format!("        failed {attempts} times, {next}: {error}"))?;
        }
    }
    Ok(())
}

async fn find(app: &App, username: &str) -> anyhow::Result<User> {
    match user::show_by_username(app, &Actor::Operator, username).await {
        Err(Error::NotFound(_)) => Err(anyhow!("there is no user {username}; `holdfast admin user create` makes one")),
        found => found.map_err(explain),
    }
}

/// An error of the application in the words of the command line.
fn explain(error: Error) -> anyhow::Error {
    match error {
        Error::Invalid(violations) => {
            let fields: Vec<String> =
                violations.iter().map(|(field, messages)| format!("{field} {}", messages.join(" and "))).collect();
            anyhow!("{}", fields.join("; "))
        }
        Error::Unavailable(cause) => anyhow!("the database cannot be reached: {cause}; `holdfast doctor` tells more"),
        Error::Internal(cause) if cause.to_string().contains("does not exist") => {
            anyhow!("the database has no schema yet ({cause}); run `holdfast migrate`")
        }
        other => other.into(),
    }
}
