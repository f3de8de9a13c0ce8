//! How a refusal is put so that git shows it to a person.

use std::io;

use holdfast_app::Error;

use crate::command::Service;

/// What is nobody's business but ours stays here.
pub fn words(error: &Error, service: Service) -> String {
    match error {
        Error::NotFound(_) => "The project you were looking for could not be found.".into(),
        Error::Forbidden(Some(reason)) => format!("{reason}."),
        Error::Forbidden(None) => match service {
            Service::UploadPack | Service::UploadArchive => "You are not allowed to download code from this project.",
            Service::ReceivePack => "You are not allowed to push code to this project.",
        }
        .into(),
        Error::Unauthenticated => "Your key is not accepted any more.".into(),
        Error::Refused(text) => text.clone(),
        Error::Git(cause @ (holdfast_git::Error::Failed { .. } | holdfast_git::Error::Protocol(_))) => {
            cause.to_string()
        }
        Error::Unavailable(_) => "The database cannot be reached, please try again.".into(),
        Error::ObjectStore(_) => "The object store cannot be reached, please try again.".into(),
        Error::NotYet(text) => (*text).into(),
        _ => "Something went wrong on our side.".into(),
    }
}

/// Whether an operator should hear of it.
pub fn is_ours(error: &Error) -> bool {
    match error {
        Error::Unavailable(_) | Error::ObjectStore(_) => true,
        Error::Internal(cause) => !cause.downcast_ref::<io::Error>().is_some_and(is_leaving),
        Error::Git(holdfast_git::Error::Io(cause)) => !is_leaving(cause),
        Error::Git(cause) => matches!(cause, holdfast_git::Error::Object(_) | holdfast_git::Error::Missing(_)),
        _ => false,
    }
}

/// What it looks like when a client goes away in the middle.
fn is_leaving(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | TimedOut | UnexpectedEof)
}
