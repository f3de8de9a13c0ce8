//! Contents of files that clients send.

use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::ApiError;
use crate::{choice, params};

choice! {
    /// How the content of a file is sent.
    pub enum Encoding {
        Text = "text",
        Base64 = "base64",
    }
}

params! {
    /// The new content of a file.
    pub struct FileContent {
        required content: String,
        /// How the content is encoded, `text` by default.
        optional encoding: Encoding,
    }
}

impl FileContent {
    pub fn decode(self) -> Result<Vec<u8>, ApiError> {
        let encoding = matches!(self.encoding, Some(Encoding::Base64)).then_some("base64");
        let content = decode(self.content, encoding);
        content.ok_or_else(|| ApiError::error(StatusCode::BAD_REQUEST, "content is invalid"))
    }
}

/// Returns the bytes of a content, or `None` if they are not encoded as stated.
pub fn decode(content: String, encoding: Option<&str>) -> Option<Vec<u8>> {
    match encoding {
        None | Some("" | "text") => Some(content.into_bytes()),
        Some("base64") => {
            let digits: String = content.split_ascii_whitespace().collect();
            STANDARD.decode(digits).ok()
        }
        Some(_) => None,
    }
}
