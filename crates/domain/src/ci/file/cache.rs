//! The key `cache` of a file or a job.

use serde::{Deserialize, Serialize};

use super::section::{SHOULD_BE_BOOLEAN, SHOULD_BE_STRINGS, Section, boolean, strings};
use super::value::Value;

/// The files that are kept from one run of a job to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    pub key: Option<String>,
    pub untracked: bool,
    pub paths: Vec<String>,
}

pub(super) fn read(section: &Section) -> Result<Option<Cache>, String> {
    let Some(value) = section.get("cache") else { return Ok(None) };
    let cache = Section::from_value(section.error_path("cache"), value)?;
    cache.reject_unknown_keys(&["key", "untracked", "paths"])?;
    let text = |value: &Value| value.text_or_symbol().map(str::to_owned);
    Ok(Some(Cache {
        key: cache.entry("key", text, "should be a string or symbol")?,
        untracked: cache.entry("untracked", boolean, SHOULD_BE_BOOLEAN)?.unwrap_or(false),
        paths: cache.entry("paths", strings, SHOULD_BE_STRINGS)?.unwrap_or_default(),
    }))
}
