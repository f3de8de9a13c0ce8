//! Authentication and authorization of git over HTTP. Errors are plain text, which git shows to the user.

use std::io;
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
use holdfast_app::client::client_network;
use holdfast_app::prefetched::RequestTarget;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::open_repository::{OpenRepository, open_repository};
use holdfast_app::{Actor, Error};
use holdfast_domain::accounts::Scope;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::Version;
use holdfast_http_core::client_address;
use tokio::io::{AsyncRead, BufReader};
use tokio_util::io::StreamReader;

use crate::Context;
use crate::error::ApiError;

/// The git services that are available over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    UploadPack,
    ReceivePack,
}

impl Service {
    pub fn from_name(name: &str) -> Option<Self> {
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

    /// Returns the scope that a token needs for this service.
    fn scope(self) -> Scope {
        match self {
            Self::UploadPack => Scope::ReadRepository,
            Self::ReceivePack => Scope::WriteRepository,
        }
    }
}

/// Authenticates a request about a project.
pub async fn authenticate(
    context: &Context,
    parts: &Parts,
    project: &ProjectRef,
    service: Service,
) -> Result<Actor, PlainTextError> {
    let address = client_address::from_extensions(parts);
    let actor = match parts.headers.get(header::AUTHORIZATION) {
        None => Ok(Actor::Anonymous(Some(address))),
        Some(value) => match parse_basic(value) {
            Some((name, secret)) => {
                let target = RequestTarget::Project(project.clone());
                let network = client_network(address).to_string();
                authenticate_basic(&context.app, &name, &secret, service.scope(), &target, &network).await
            }
            None => Err(Error::Unauthenticated),
        },
    };
    if let Ok(Actor::User(current_user)) = &actor {
        tracing::Span::current().record("user", current_user.account.id().get());
    }
    context.limits.count_request(actor.as_ref().ok(), address)?;
    Ok(actor?)
}

fn parse_basic(value: &HeaderValue) -> Option<(String, String)> {
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (name, secret) = decoded.split_once(':')?;
    Some((name.to_owned(), secret.to_owned()))
}

/// Returns the reference to a project from the path of a URL, where `project` usually ends with `.git`.
pub fn project_ref(namespace: String, project: &str) -> ProjectRef {
    ProjectRef::Path { namespace, project: project.strip_suffix(".git").unwrap_or(project).to_owned() }
}

pub async fn open_project(
    context: &Context,
    actor: &Actor,
    project: &ProjectRef,
    service: Service,
) -> Result<OpenRepository, PlainTextError> {
    let result = open_repository(&context.app, actor, project, service.action()).await;
    result.map_err(|error| match (actor, error) {
        // Anonymous clients get 401 for private and for missing projects alike, so that git asks for credentials.
        (Actor::Anonymous(_), Error::NotFound(_)) => Error::Unauthenticated.into(),
        // The message is the same for private and for missing projects, so it does not reveal which ones exist.
        (actor, Error::NotFound(_)) if actor.job_token_scope().is_some() => PlainTextError::new(
            StatusCode::NOT_FOUND,
            "The project could not be found, or its job token allow list does not include the project of this build.",
        ),
        (_, Error::Forbidden(None)) => PlainTextError::forbidden(match service {
            Service::UploadPack => "You are not allowed to download code from this project.",
            Service::ReceivePack => "You are not allowed to push code to this project.",
        }),
        (_, error) => error.into(),
    })
}

/// An authorized `POST` request of git.
pub struct GitRequest {
    pub actor: Actor,
    pub repository: OpenRepository,
    pub version: Version,
    pub input: Input,
}

pub async fn accept_rpc(
    context: &Context,
    (namespace, project): (String, String),
    request: Request,
    service: Service,
) -> Result<GitRequest, PlainTextError> {
    let (parts, body) = request.into_parts();
    let expected = format!("application/x-{}-request", service.name());
    if parts.headers.get(header::CONTENT_TYPE).is_none_or(|value| value.as_bytes() != expected.as_bytes()) {
        return Err(PlainTextError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "This is not a git request."));
    }
    let input = decode_body(&parts, body)?;
    let project = project_ref(namespace, &project);
    let actor = authenticate(context, &parts, &project, service).await?;
    let repository = open_project(context, &actor, &project, service).await?;
    Ok(GitRequest { actor, repository, version: protocol_version(&parts), input })
}

pub fn protocol_version(parts: &Parts) -> Version {
    let requested = parts.headers.get("git-protocol").and_then(|value| value.to_str().ok());
    requested.map_or(Version::V0, Version::from_header)
}

pub type Input = Pin<Box<dyn AsyncRead + Send>>;

/// Returns the body as a stream, decompressed if it has a content encoding.
fn decode_body(parts: &Parts, body: Body) -> Result<Input, PlainTextError> {
    let raw = StreamReader::new(body.into_data_stream().map_err(body_error));
    let raw = BufReader::with_capacity(64 << 10, raw);
    match parts.headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"identity") => Ok(Box::pin(raw)),
        Some(b"gzip" | b"x-gzip") => Ok(Box::pin(GzipDecoder::new(raw))),
        Some(_) => {
            Err(PlainTextError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "This content encoding is not supported."))
        }
    }
}

/// Returns the I/O error with which the connection ended a body.
fn body_error(error: axum::Error) -> io::Error {
    match error.into_inner().downcast::<io::Error>() {
        Ok(error) => *error,
        Err(error) => io::Error::other(error),
    }
}

/// An error response in plain text, which git shows to the user.
#[derive(Debug)]
pub struct PlainTextError(Box<Response>);

impl PlainTextError {
    pub fn new(status: StatusCode, text: &str) -> Self {
        let mut response = (status, format!("{text}\n")).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"Holdfast\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        Self(Box::new(response))
    }

    fn forbidden(text: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, text)
    }
}

impl From<Error> for PlainTextError {
    fn from(error: Error) -> Self {
        match error {
            Error::Unauthenticated => Self::new(
                StatusCode::UNAUTHORIZED,
                "Sign in with your username and a password or a personal access token.",
            ),
            Error::InsufficientScope { needed } => {
                Self::forbidden(&format!("The token lacks the scope {needed}, which git access requires."))
            }
            Error::NotFound(_) => {
                Self::new(StatusCode::NOT_FOUND, "The project you were looking for could not be found.")
            }
            Error::Forbidden(Some(reason)) => Self::forbidden(reason),
            Error::Throttled { retry_after } => {
                let seconds = retry_after.as_secs_f64().ceil() as u64;
                let text =
                    format!("Too many requests: try again in {seconds} seconds. Tokens are not counted as sign-ins.");
                let mut rejection = Self::new(StatusCode::TOO_MANY_REQUESTS, &text);
                rejection.0.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
                rejection
            }
            other => Self(Box::new(ApiError::from(other).into_response())),
        }
    }
}

impl IntoResponse for PlainTextError {
    fn into_response(self) -> Response {
        *self.0
    }
}
