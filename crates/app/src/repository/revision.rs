//! From what people write to a commit.

use holdfast_git::ObjectId;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::reader::Kind;

use super::commit;
use super::fetch::{self, Opened};
use crate::{App, Error, Result};

/// A tag, a branch, or the full id of a commit that one of them leads to. None if it is none of these.
pub(super) async fn resolve(app: &App, opened: &Opened, text: &str) -> Result<Option<ObjectId>> {
    let names = [format!("refs/tags/{text}"), format!("refs/heads/{text}"), text.to_owned()];
    let named = names.iter().find_map(|name| opened.refs.find(name));
    let id = match (named, ObjectId::from_hex(text.as_bytes())) {
        (Some(target), _) => target.object(),
        (None, Ok(id)) => {
            let lease = app.lease(opened.project.repository.id, opened.refs.generation).await?;
            match fetch::check_reachable(app, opened, &lease, [id].into()).await {
                Ok(()) => id,
                Err(Error::Refused(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        (None, Err(_)) => return Ok(None),
    };
    commit::read(app, opened, move |reader| {
        let (target, kind) = reader.peel(id)?;
        Ok((kind == Kind::Commit).then_some(target.object()))
    })
    .await
}
