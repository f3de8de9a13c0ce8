//! Receipts: records of the ref updates of a push, stored behind the files of its pack in the object store. They are
//! signed if the instance has an encryption key.
//!
//! If the database has lost a push, recovery finds it by its receipt.

use std::ops::Range;

use chrono::{DateTime, SecondsFormat, Utc};
use futures_util::TryStreamExt;
use hmac::{Hmac, KeyInit, Mac};
use holdfast_git::ObjectId;
use holdfast_git::pack_file::PackSizes;
use holdfast_store::repository::ref_update::RefUpdateOrigin;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::repository::open_repository::OpenRepository;
use crate::repository::refs::planned_update::PlannedUpdate;
use crate::{App, EncryptionKey, Error, Result};

const VERSION: u8 = 1;
/// The last bytes of an object that has a receipt.
const MAGIC: &[u8; 8] = b"\nHFRCPT\n";
const DIGEST_BYTES: usize = 32;
/// The size of the digest, the flag for a signature, the length of the text before the digest, and the magic.
const TRAILER_BYTES: usize = DIGEST_BYTES + 1 + 4 + MAGIC.len();
/// Maximum size of a receipt, enough for a push of some hundred thousand refs.
const MAX_RECEIPT_BYTES: u64 = 64 << 20;
/// The purpose from which the signing key is derived, so that no other code uses the same key.
const KEY_PURPOSE: &str = "receipts of packs";

/// The ref updates that a push is about to make.
#[derive(Clone, Copy)]
pub(in crate::repository) struct IntendedPush<'a> {
    pub repository: &'a OpenRepository,
    pub updates: &'a [PlannedUpdate],
    pub origin: RefUpdateOrigin,
    pub is_atomic: bool,
}

/// The receipt of a push, as stored in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    version: u8,
    /// The key of the object that the receipt is stored in. A receipt in another object is untrusted.
    key: String,
    pub project: i64,
    /// Distinguishes projects with the same id: after point-in-time recovery, ids are assigned again.
    pub project_created: i64,
    pub repository: i64,
    /// The path of the project at the time of the push, for operators. It may have been renamed since.
    pub path: String,
    pub checksum: String,
    /// The sizes of the files of the pack, which precede the receipt.
    pub sizes: Vec<u64>,
    #[serde(rename = "moves")]
    pub ref_updates: Vec<ReceiptRefUpdate>,
    pub atomic: bool,
    pub user: Option<i64>,
    pub at: String,
}

/// A ref update, with its object ids in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptRefUpdate {
    pub name: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

impl ReceiptRefUpdate {
    /// Returns the old and the new id, or `None` if one of them is malformed.
    pub(in crate::repository) fn ids(&self) -> Option<(Option<ObjectId>, Option<ObjectId>)> {
        let id = |hex: &Option<String>| hex.as_ref().map(|hex| ObjectId::from_hex(hex.as_bytes())).transpose().ok();
        Some((id(&self.old)?, id(&self.new)?))
    }
}

/// The result of reading the receipt of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiptReadResult {
    Receipt(Box<Receipt>),
    /// There is no receipt. Repacks and imports write none.
    None,
    /// There is a receipt that cannot be trusted, for this reason.
    Untrusted(&'static str),
}

impl Receipt {
    /// Returns the bytes that are stored behind the files of the pack.
    pub(in crate::repository) fn encode_for_push(
        app: &App,
        push: IntendedPush<'_>,
        key: &str,
        checksum: &str,
        sizes: PackSizes,
    ) -> Result<Vec<u8>> {
        let project = &push.repository.project;
        let hex = |id: ObjectId| id.to_string();
        let receipt = Self {
            version: VERSION,
            key: key.to_owned(),
            project: project.id.get(),
            project_created: project.created_at.timestamp_micros(),
            repository: project.repository.id.get(),
            path: project.full_path(),
            checksum: checksum.to_owned(),
            sizes: sizes.to_list(),
            ref_updates: push
                .updates
                .iter()
                .map(|planned| &planned.update)
                .map(|update| ReceiptRefUpdate {
                    name: update.name.as_str().to_owned(),
                    old: update.old.map(hex),
                    new: update.new.map(|new| hex(new.id)),
                })
                .collect(),
            atomic: push.is_atomic,
            user: push.origin.user.map(|user| user.get()),
            at: app.clock.now().to_rfc3339_opts(SecondsFormat::Millis, true),
        };
        receipt.encode(app.settings.encryption_key.as_ref())
    }

    fn encode(&self, key: Option<&EncryptionKey>) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self).map_err(|error| Error::Internal(error.into()))?;
        let length = u32::try_from(bytes.len()).map_err(|error| Error::Internal(error.into()))?;
        let digest = digest(key, &bytes);
        bytes.extend(digest);
        bytes.push(u8::from(key.is_some()));
        bytes.extend(length.to_be_bytes());
        bytes.extend(MAGIC);
        Ok(bytes)
    }

    pub fn timestamp(&self) -> Option<DateTime<Utc>> {
        Some(DateTime::parse_from_rfc3339(&self.at).ok()?.to_utc())
    }
}

fn digest(key: Option<&EncryptionKey>, text: &[u8]) -> [u8; DIGEST_BYTES] {
    match key {
        Some(key) => {
            let mut mac =
                Hmac::<Sha256>::new_from_slice(&key.derive(KEY_PURPOSE)).expect("HMAC accepts keys of any length");
            mac.update(text);
            mac.finalize().into_bytes().into()
        }
        None => Sha256::digest(text).into(),
    }
}

/// Reads the receipt of an object of this size.
pub(in crate::repository) async fn read(app: &App, key: &str, size: u64) -> Result<ReceiptReadResult> {
    let Some(trailer_start) = size.checked_sub(TRAILER_BYTES as u64) else { return Ok(ReceiptReadResult::None) };
    let Some(trailer) = read_range(app, key, trailer_start..size).await? else { return Ok(ReceiptReadResult::None) };
    let Some(length) = text_length(&trailer).filter(|length| *length <= trailer_start.min(MAX_RECEIPT_BYTES)) else {
        return Ok(ReceiptReadResult::None);
    };
    let Some(text) = read_range(app, key, trailer_start - length..trailer_start).await? else {
        return Ok(ReceiptReadResult::None);
    };
    Ok(verify(app.settings.encryption_key.as_ref(), key, trailer_start - length, &text, &trailer))
}

/// Reads a range of an object into memory. Returns `None` if there is no such object.
async fn read_range(app: &App, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
    let Some(mut content) = app.objects.get_range(key, range).await? else { return Ok(None) };
    let mut bytes = Vec::new();
    while let Some(chunk) = content.try_next().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

fn text_length(trailer: &[u8]) -> Option<u64> {
    let lengths = trailer.strip_suffix(MAGIC)?;
    Some(u32::from_be_bytes(*lengths.last_chunk::<4>()?).into())
}

/// Verifies the digest of a receipt, and that it belongs to this object. `parts_bytes` is the number of bytes before
/// the text.
fn verify(
    key: Option<&EncryptionKey>,
    object_key: &str,
    parts_bytes: u64,
    text: &[u8],
    trailer: &[u8],
) -> ReceiptReadResult {
    let (stored_digest, is_signed) = (&trailer[..DIGEST_BYTES], trailer[DIGEST_BYTES] == 1);
    match (is_signed, key) {
        (true, None) => {
            return ReceiptReadResult::Untrusted("encryption.key is not set, but a key was used");
        }
        (false, Some(_)) => {
            return ReceiptReadResult::Untrusted(
                "its receipt is not signed: it was written without encryption.key, or by another program",
            );
        }
        _ => {}
    }
    // The comparison need not take constant time: an attacker who can try digests can write to the object store
    // already, and each attempt needs a run of the command.
    if digest(key, text) != *stored_digest {
        return ReceiptReadResult::Untrusted("encryption.key is not the key that was used, or the object is damaged");
    }
    match serde_json::from_slice::<Receipt>(text) {
        Ok(receipt) if receipt.version != VERSION => {
            ReceiptReadResult::Untrusted("its receipt was written by a later version of holdfast")
        }
        Ok(receipt) if receipt.key != object_key || receipt.sizes.iter().sum::<u64>() != parts_bytes => {
            ReceiptReadResult::Untrusted("its receipt belongs to another object")
        }
        Ok(receipt) => ReceiptReadResult::Receipt(Box::new(receipt)),
        Err(_) => ReceiptReadResult::Untrusted("its receipt cannot be decoded"),
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
            ref_updates: vec![ReceiptRefUpdate { name: "refs/heads/main".into(), old: None, new: Some("1".into()) }],
            atomic: false,
            user: Some(7),
            at: "2026-01-02T03:04:05.678Z".into(),
        }
    }

    fn verify_encoded(
        key: Option<&EncryptionKey>,
        object_key: &str,
        parts_bytes: u64,
        bytes: &[u8],
    ) -> ReceiptReadResult {
        let (rest, trailer) = bytes.split_at(bytes.len() - TRAILER_BYTES);
        let length = text_length(trailer).unwrap() as usize;
        verify(key, object_key, parts_bytes, &rest[rest.len() - length..], trailer)
    }

    #[test]
    fn an_encoded_receipt_is_read_back() {
        let key = EncryptionKey::new([7; 32]);
        for key in [None, Some(&key)] {
            let bytes = receipt().encode(key).unwrap();
            assert_eq!(verify_encoded(key, "packs/a", 15, &bytes), ReceiptReadResult::Receipt(Box::new(receipt())));
        }
    }

    #[test]
    fn a_receipt_with_wrong_digest_key_or_size_is_untrusted() {
        let (key, other) = (EncryptionKey::new([7; 32]), EncryptionKey::new([8; 32]));
        let signed = receipt().encode(Some(&key)).unwrap();
        let plain = receipt().encode(None).unwrap();
        let is_untrusted = |read: ReceiptReadResult| matches!(read, ReceiptReadResult::Untrusted(_));
        assert!(is_untrusted(verify_encoded(Some(&other), "packs/a", 15, &signed)));
        assert!(is_untrusted(verify_encoded(None, "packs/a", 15, &signed)));
        assert!(is_untrusted(verify_encoded(Some(&key), "packs/a", 15, &plain)));
        assert!(is_untrusted(verify_encoded(Some(&key), "packs/b", 15, &signed)));
        assert!(is_untrusted(verify_encoded(Some(&key), "packs/a", 16, &signed)));
        for index in 0..signed.len() - TRAILER_BYTES + DIGEST_BYTES {
            let mut damaged = signed.clone();
            damaged[index] ^= 1;
            assert!(is_untrusted(verify_encoded(Some(&key), "packs/a", 15, &damaged)));
        }
        assert_eq!(text_length(b"too short"), None);
    }
}
