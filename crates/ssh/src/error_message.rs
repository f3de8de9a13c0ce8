//! Converts errors to messages that git shows to the user.

use std::io;

use holdfast_app::Error;

use crate::command::Service;

/// Returns the message for the user. Internal details are left out; they are only logged.
pub fn user_message(error: &Error, service: Service) -> String {
    match error {
        Error::NotFound(_) => "The project you were looking for could not be found.".into(),
        Error::Forbidden(Some(reason)) => format!("{reason}."),
        Error::Forbidden(None) => match service {
            Service::UploadPack | Service::UploadArchive => "You are not allowed to download code from this project.",
            Service::ReceivePack => "You are not allowed to push code to this project.",
        }
        .into(),
        Error::Unauthenticated => "Your key is no longer accepted.".into(),
        Error::Rejected(text) => text.clone(),
        Error::Git(cause @ (holdfast_git::Error::CommandFailed { .. } | holdfast_git::Error::Protocol(_))) => {
            cause.to_string()
        }
        Error::DatabaseUnavailable(_) => "The database is unavailable. Try again later.".into(),
        Error::ObjectStore(_) => "The object store is unavailable. Try again later.".into(),
        Error::TemporarilyUnavailable(text) => (*text).into(),
        _ => "Internal server error. Try again, or ask an administrator to check the server log.".into(),
    }
}

/// Returns whether an error is logged as a failure of the server, and not one of the client.
pub fn is_server_error(error: &Error) -> bool {
    match error {
        Error::DatabaseUnavailable(_) | Error::ObjectStore(_) => true,
        Error::Internal(cause) => !cause.downcast_ref::<io::Error>().is_some_and(is_disconnect),
        Error::Git(holdfast_git::Error::Io(cause)) => !is_disconnect(cause),
        Error::Git(cause) => matches!(cause, holdfast_git::Error::Object(_) | holdfast_git::Error::Missing(_)),
        _ => false,
    }
}

/// Returns whether an I/O error means that the client disconnected or stalled.
fn is_disconnect(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | TimedOut | UnexpectedEof)
}
