//! Who comes with git, what for, and how a refusal is put so that git shows it to a person.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;

use async_compression::tokio::bufread::GzipDecoder;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::TryStreamExt;
use holdfast_app::accounts::authentication::authenticate_basic;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::fetch::{self, Opened};
use holdfast_app::{Actor, Error};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::Version;
use tokio::io::{AsyncRead, BufReader};
use tokio_util::io::StreamReader;

use crate::error::ApiError;
use crate::{Context, client_address};

/// The two things git comes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    UploadPack,
    ReceivePack,
}

impl Service {
    pub fn named(name: &str) -> Option<Self> {
        [Self::UploadPack, Self::ReceivePack].into_iter().find(|service| service.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "git-upload-pack",
            Self::ReceivePack => "git-receive-pack",
        }
    }

    fn action(self) -> ProjectAction {
        match self {
            Self::UploadPack => ProjectAction::ReadCode,
            Self::ReceivePack => ProjectAction::WriteCode,
        }
    }
}

pub async fn identify(context: &Context, parts: &Parts) -> Result<Actor, Refusal> {
    let address = *parts.extensions.get::<IpAddr>().unwrap_or(&IpAddr::from([0, 0, 0, 0]));
    let actor = match parts.headers.get(header::AUTHORIZATION) {
        None => Ok(Actor::Anonymous(Some(address))),
        Some(value) => match basic(value) {
            Some((name, secret)) => {
                authenticate_basic(&context.app, &name, &secret, &client_address::key(address)).await
            }
            None => Err(Error::Unauthenticated),
        },
    };
    match &actor {
        Ok(Actor::User(caller)) => {
            tracing::Span::current().record("user", caller.account.id().get());
            context.users.check(|| caller.account.id().to_string())?;
        }
        _ => context.anonymous.check(|| client_address::key(address))?,
    }
    Ok(actor?)
}

fn basic(value: &HeaderValue) -> Option<(String, String)> {
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (name, secret) = decoded.split_once(':')?;
    Some((name.to_owned(), secret.to_owned()))
}

/// `project` as it stands in the address, usually with `.git` behind it.
pub fn named(namespace: String, project: &str) -> ProjectRef {
    ProjectRef::Path { namespace, project: project.strip_suffix(".git").unwrap_or(project).to_owned() }
}

pub async fn open(context: &Context, actor: &Actor, project: &ProjectRef, service: Service) -> Result<Opened, Refusal> {
    let opened = fetch::open(&context.app, actor, project, service.action()).await;
    opened.map_err(|error| match (actor, error) {
        // Whether a project is hidden or missing, git must ask for a name and a password to find out.
        (Actor::Anonymous(_), Error::NotFound(_)) => Error::Unauthenticated.into(),
        // The same text whether it is hidden or missing.
        (actor, Error::NotFound(_)) if actor.build_of().is_some() => Refusal::text(
            StatusCode::NOT_FOUND,
            "The project could not be found, or does not let builds of this project read it: see its job token allow list.",
        ),
        (_, Error::Forbidden(None)) => Refusal::forbidden(match service {
            Service::UploadPack => "You are not allowed to download code from this project.",
            Service::ReceivePack => "You are not allowed to push code to this project.",
        }),
        (_, error) => error.into(),
    })
}

/// Whoever comes with a body: allowed in or not, and what it brings.
pub struct Visit {
    pub actor: Actor,
    pub opened: Opened,
    pub version: Version,
    pub input: Input,
}

pub async fn enter(
    context: &Context,
    (namespace, project): (String, String),
    request: Request,
    service: Service,
) -> Result<Visit, Refusal> {
    let (parts, body) = request.into_parts();
    let expected = format!("application/x-{}-request", service.name());
    if parts.headers.get(header::CONTENT_TYPE).is_none_or(|value| value.as_bytes() != expected.as_bytes()) {
        return Err(Refusal::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, "This is no request of git's."));
    }
    let input = input(&parts, body)?;
    let actor = identify(context, &parts).await?;
    let opened = open(context, &actor, &named(namespace, &project), service).await?;
    Ok(Visit { actor, opened, version: version(&parts), input })
}

pub fn version(parts: &Parts) -> Version {
    let asked = parts.headers.get("git-protocol").and_then(|value| value.to_str().ok());
    asked.map_or(Version::V0, Version::asked)
}

pub type Input = Pin<Box<dyn AsyncRead + Send>>;

/// The body, unpacked where it was packed.
fn input(parts: &Parts, body: Body) -> Result<Input, Refusal> {
    let raw = StreamReader::new(body.into_data_stream().map_err(cause));
    let raw = BufReader::with_capacity(64 << 10, raw);
    match parts.headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"identity") => Ok(Box::pin(raw)),
        Some(b"gzip" | b"x-gzip") => Ok(Box::pin(GzipDecoder::new(raw))),
        Some(_) => Err(Refusal::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, "This content encoding is not supported.")),
    }
}

/// Returns why a body ended, as the connection said it.
fn cause(error: axum::Error) -> io::Error {
    match error.into_inner().downcast::<io::Error>() {
        Ok(error) => *error,
        Err(error) => io::Error::other(error),
    }
}

/// As plain text: git shows it to the person.
#[derive(Debug)]
pub struct Refusal(Box<Response>);

impl Refusal {
    pub fn text(status: StatusCode, text: &str) -> Self {
        let mut response = (status, format!("{text}\n")).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"Holdfast\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        Self(Box::new(response))
    }

    fn forbidden(text: &str) -> Self {
        Self::text(StatusCode::FORBIDDEN, text)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Unauthenticated => Self::text(
                StatusCode::UNAUTHORIZED,
                "Sign in with your username and a password or a personal access token.",
            ),
            Error::InsufficientScope { needed } => {
                Self::forbidden(&format!("The token lacks the scope {needed}, which git needs."))
            }
            Error::NotFound(_) => {
                Self::text(StatusCode::NOT_FOUND, "The project you were looking for could not be found.")
            }
            Error::Forbidden(Some(reason)) => Self::forbidden(reason),
            Error::Throttled { retry_after } => {
                let seconds = retry_after.as_secs_f64().ceil() as u64;
                let text =
                    format!("Too many requests: try again in {seconds} seconds. Tokens are not counted as sign-ins.");
                let mut refusal = Self::text(StatusCode::TOO_MANY_REQUESTS, &text);
                refusal.0.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
                refusal
            }
            other => Self(Box::new(ApiError::from(other).into_response())),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        *self.0
    }
}
