//! Brings the texts of an export into the limits of this server.

use std::borrow::Cow;

use holdfast_domain::text::cut;
use holdfast_domain::violations::is_control;

use super::progress::Progress;
use super::relations::Relation;

const CUT: &str = "texts were cut to the size that this server accepts";
/// Maximum number of characters of a title or a name.
const MAX_TITLE_CHARS: usize = 255;

/// Returns a text of several lines without null characters, which the database cannot store, and cut to a size.
pub fn clean_text(progress: &mut Progress, relation: Relation, text: &str, max_bytes: usize) -> String {
    let text = match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "")),
        false => Cow::Borrowed(text),
    };
    if text.len() > max_bytes {
        progress.leave_out(relation.name(), CUT, 1, None);
    }
    cut(&text, max_bytes).to_owned()
}

/// Returns a title in one line. One that is empty becomes "Untitled".
pub fn clean_title(progress: &mut Progress, relation: Relation, title: &str) -> String {
    let line: String = title.chars().map(|char| if is_control(char) { ' ' } else { char }).collect();
    let line = line.trim();
    if line.chars().nth(MAX_TITLE_CHARS).is_some() {
        progress.leave_out(relation.name(), CUT, 1, None);
    }
    match line.is_empty() {
        true => "Untitled".into(),
        false => line.chars().take(MAX_TITLE_CHARS).collect(),
    }
}
