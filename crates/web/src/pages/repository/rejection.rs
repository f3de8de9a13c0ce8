//! Rejected changes of refs, whose reasons are shown above the list of refs.

use holdfast_app::{Error, Resource};

use crate::errors::{PageError, sentence, violations_text};

/// Returns the reason of a rejected change. Fails with any other error, such as a missing permission.
pub fn rejection_text(error: Error) -> Result<String, PageError> {
    match error {
        Error::Rejected(text) | Error::Conflict(text) => Ok(sentence(&text)),
        Error::Invalid(violations) => Ok(violations_text(&violations)),
        Error::NotFound(Resource::Branch) => Ok("There is no such branch.".to_owned()),
        Error::NotFound(Resource::Literal(text)) => Ok(sentence(text)),
        other => Err(other.into()),
    }
}
