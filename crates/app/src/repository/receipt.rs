//! What stands behind the parts of a pack that came by a push: whose it is and which refs were moved to it. Where the
//! database has forgotten a push, what is in the object store still tells of it.

use std::ops::Range;

use chrono::{DateTime, SecondsFormat, Utc};
use futures_util::TryStreamExt;
use hmac::{Hmac, KeyInit, Mac};
use holdfast_git::ObjectId;
use holdfast_store::repository::ref_change::{Move, Mover};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::fetch::Opened;
use crate::{App, Error, Result, SealingKey};

const VERSION: u8 = 1;
/// Ends every object that has one.
const MAGIC: &[u8; 8] = b"\nHFRCPT\n";
const DIGEST: usize = 32;
/// The digest, how it was made, how long the text before it is, and the magic.
const TRAILER: usize = DIGEST + 1 + 4 + MAGIC.len();
/// A push of some hundred thousand refs.
const LONGEST: u64 = 64 << 20;
/// What the operator's key is used for here, so that it is never used for the same thing twice.
const PURPOSE: &str = "receipts of packs";

/// What a push is about to do.
#[derive(Clone, Copy)]
pub(super) struct Intended<'a> {
    pub opened: &'a Opened,
    pub moves: &'a [Move],
    pub mover: Mover,
    pub atomic: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    version: u8,
    /// Of the object it stands in: behind another one it counts for nothing.
    key: String,
    pub project: i64,
    /// In a database that was set back, an id may come a second time, for another project.
    pub project_created: i64,
    pub repository: i64,
    /// For people: it may have been renamed since.
    pub path: String,
    pub checksum: String,
    /// Of the parts before it.
    pub sizes: Vec<u64>,
    pub moves: Vec<Moved>,
    pub atomic: bool,
    pub user: Option<i64>,
    pub at: String,
}

/// Ids in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    pub name: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

impl Moved {
    /// From where to where; none if that cannot be read.
    pub(super) fn ids(&self) -> Option<(Option<ObjectId>, Option<ObjectId>)> {
        let id = |hex: &Option<String>| hex.as_ref().map(|hex| ObjectId::from_hex(hex.as_bytes())).transpose().ok();
        Some((id(&self.old)?, id(&self.new)?))
    }
}

/// What was found behind a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    Receipt(Box<Receipt>),
    /// Compactions and imports write none.
    None,
    /// There is one that cannot be relied on, and why.
    Doubtful(&'static str),
}

impl Receipt {
    /// The bytes that are put behind the parts.
    pub(super) fn of_push(
        app: &App,
        intended: Intended<'_>,
        key: &str,
        checksum: &str,
        sizes: &[u64],
    ) -> Result<Vec<u8>> {
        let project = &intended.opened.project;
        let hex = |id: ObjectId| id.to_string();
        let receipt = Self {
            version: VERSION,
            key: key.to_owned(),
            project: project.id.get(),
            project_created: project.created_at.timestamp_micros(),
            repository: project.repository.id.get(),
            path: project.full_path(),
            checksum: checksum.to_owned(),
            sizes: sizes.to_vec(),
            moves: intended
                .moves
                .iter()
                .map(|it| Moved {
                    name: it.name.as_str().to_owned(),
                    old: it.old.map(hex),
                    new: it.new.map(|new| hex(new.id)),
                })
                .collect(),
            atomic: intended.atomic,
            user: intended.mover.user.map(|user| user.get()),
            at: app.clock.now().to_rfc3339_opts(SecondsFormat::Millis, true),
        };
        receipt.encode(app.settings.sealing_key.as_ref())
    }

    fn encode(&self, key: Option<&SealingKey>) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self).map_err(|error| Error::Internal(error.into()))?;
        let length = u32::try_from(bytes.len()).map_err(|error| Error::Internal(error.into()))?;
        let digest = digest(key, &bytes);
        bytes.extend(digest);
        bytes.push(u8::from(key.is_some()));
        bytes.extend(length.to_be_bytes());
        bytes.extend(MAGIC);
        Ok(bytes)
    }

    pub fn at(&self) -> Option<DateTime<Utc>> {
        Some(DateTime::parse_from_rfc3339(&self.at).ok()?.to_utc())
    }
}

fn digest(key: Option<&SealingKey>, text: &[u8]) -> [u8; DIGEST] {
    match key {
        Some(key) => {
            let mut mac = Hmac::<Sha256>::new_from_slice(&key.derived(PURPOSE)).expect("any length will do");
            mac.update(text);
            mac.finalize().into_bytes().into()
        }
        None => Sha256::digest(text).into(),
    }
}

/// Of an object of that size.
pub(super) async fn read(app: &App, key: &str, size: u64) -> Result<Read> {
    let Some(before) = size.checked_sub(TRAILER as u64) else { return Ok(Read::None) };
    let Some(trailer) = bytes(app, key, before..size).await? else { return Ok(Read::None) };
    let Some(length) = text_length(&trailer).filter(|length| *length <= before.min(LONGEST)) else {
        return Ok(Read::None);
    };
    let Some(text) = bytes(app, key, before - length..before).await? else { return Ok(Read::None) };
    Ok(check(app.settings.sealing_key.as_ref(), key, before - length, &text, &trailer))
}

/// Those of an object, at most [`LONGEST`]; None if there is no such object.
async fn bytes(app: &App, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
    let Some(mut content) = app.objects.get_range(key, range).await? else { return Ok(None) };
    let mut bytes = Vec::new();
    while let Some(some) = content.try_next().await? {
        bytes.extend_from_slice(&some);
    }
    Ok(Some(bytes))
}

fn text_length(trailer: &[u8]) -> Option<u64> {
    let lengths = trailer.strip_suffix(MAGIC)?;
    Some(u32::from_be_bytes(*lengths.last_chunk::<4>()?).into())
}

/// `parts` is how many bytes are before the text.
fn check(key: Option<&SealingKey>, object: &str, parts: u64, text: &[u8], trailer: &[u8]) -> Read {
    let (written, is_signed) = (&trailer[..DIGEST], trailer[DIGEST] == 1);
    match (is_signed, key) {
        (true, None) => return Read::Doubtful("it was signed: set secrets.key to what it was"),
        (false, Some(_)) => {
            return Read::Doubtful("it is not signed: it was written before there was a key, or by others");
        }
        _ => {}
    }
    // In constant time it need not be: who can try has the store already, and each try takes a command.
    if digest(key, text) != *written {
        return Read::Doubtful("its signature is not right: it is damaged, or secrets.key was another one");
    }
    match serde_json::from_slice::<Receipt>(text) {
        Ok(receipt) if receipt.version != VERSION => Read::Doubtful("a later version has written it"),
        Ok(receipt) if receipt.key != object || receipt.sizes.iter().sum::<u64>() != parts => {
            Read::Doubtful("it belongs to something else")
        }
        Ok(receipt) => Read::Receipt(Box::new(receipt)),
        Err(_) => Read::Doubtful("it cannot be read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt() -> Receipt {
        Receipt {
            version: VERSION,
            key: "packs/a".into(),
            project: 1,
            project_created: 2,
            repository: 3,
            path: "ada/p".into(),
            checksum: "c".into(),
            sizes: vec![10, 5],
            moves: vec![Moved { name: "refs/heads/main".into(), old: None, new: Some("1".into()) }],
            atomic: false,
            user: Some(7),
            at: "2026-01-02T03:04:05.678Z".into(),
        }
    }

    fn checked(key: Option<&SealingKey>, object: &str, parts: u64, bytes: &[u8]) -> Read {
        let (rest, trailer) = bytes.split_at(bytes.len() - TRAILER);
        let length = text_length(trailer).unwrap() as usize;
        check(key, object, parts, &rest[rest.len() - length..], trailer)
    }

    #[test]
    fn what_was_written_is_read_again() {
        let key = SealingKey::new([7; 32]);
        for key in [None, Some(&key)] {
            let bytes = receipt().encode(key).unwrap();
            assert_eq!(checked(key, "packs/a", 15, &bytes), Read::Receipt(Box::new(receipt())));
        }
    }

    #[test]
    fn nothing_else_is_believed() {
        let (key, other) = (SealingKey::new([7; 32]), SealingKey::new([8; 32]));
        let signed = receipt().encode(Some(&key)).unwrap();
        let plain = receipt().encode(None).unwrap();
        let is_doubtful = |read: Read| matches!(read, Read::Doubtful(_));
        assert!(is_doubtful(checked(Some(&other), "packs/a", 15, &signed)));
        assert!(is_doubtful(checked(None, "packs/a", 15, &signed)));
        assert!(is_doubtful(checked(Some(&key), "packs/a", 15, &plain)));
        assert!(is_doubtful(checked(Some(&key), "packs/b", 15, &signed)));
        assert!(is_doubtful(checked(Some(&key), "packs/a", 16, &signed)));
        for place in 0..signed.len() - TRAILER + DIGEST {
            let mut damaged = signed.clone();
            damaged[place] ^= 1;
            assert!(is_doubtful(checked(Some(&key), "packs/a", 15, &damaged)));
        }
        assert_eq!(text_length(b"too short"), None);
    }
}
