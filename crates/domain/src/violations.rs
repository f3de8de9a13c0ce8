//! Validation errors: messages per field, in the order in which they were found.

use crate::Field;

/// The validation errors of a request, shown as `{"email": ["is invalid"], "name": ["can't be blank"]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<(&'static str, Vec<String>)>);

/// The message for a value that is missing.
pub const BLANK: &str = "can't be blank";
/// The message for a value in a wrong format.
pub const INVALID: &str = "is invalid";
/// The message for a value that must be unique and is not.
pub const TAKEN: &str = "has already been taken";

impl Violations {
    pub fn single(field: &'static str, message: impl Into<String>) -> Self {
        let mut violations = Self::default();
        violations.add(field, message);
        violations
    }

    pub fn add(&mut self, field: &'static str, message: impl Into<String>) {
        match self.0.iter_mut().find(|(known, _)| *known == field) {
            Some((_, messages)) => messages.push(message.into()),
            None => self.0.push((field, vec![message.into()])),
        }
    }

    /// Returns the parsed value, or records the error and returns None.
    pub fn check<T>(&mut self, field: &'static str, parsed: Result<T, String>) -> Option<T> {
        parsed.map_err(|message| self.add(field, message)).ok()
    }

    /// Records an error if a text has more than `maximum` characters.
    pub fn check_length(&mut self, field: &'static str, text: &str, maximum: usize) {
        if let Err(message) = check_max_length(text, maximum) {
            self.add(field, message);
        }
    }

    /// Records an error if a text has more than `maximum` bytes.
    pub fn check_size(&mut self, field: &'static str, text: &str, maximum: usize) {
        if text.len() > maximum {
            self.add(field, format!("is too long (maximum is {maximum} bytes)"));
        }
    }

    /// Like [`Self::check_size`], but accepts an unchanged text of any size: it may have been stored before there was a
    /// limit.
    pub fn check_changed_size(
        &mut self,
        field: &'static str,
        new: &Field<String>,
        current: Option<&str>,
        maximum: usize,
    ) {
        if let Field::Value(text) = new
            && current != Some(text.as_str())
        {
            self.check_size(field, text, maximum);
        }
    }

    /// Records an error if a text exceeds 255 characters or is not one line of plain text. Control characters and
    /// direction marks could make it look like another text.
    pub fn check_single_line(&mut self, field: &'static str, text: &str) {
        self.check_length(field, text, 255);
        if !has_no_control_chars(text) {
            self.add(field, INVALID);
        }
    }

    pub fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        self.0.iter().map(|(field, messages)| (*field, messages.as_slice()))
    }
}

/// Returns whether a text has neither control characters nor characters that change the direction of text.
pub fn has_no_control_chars(text: &str) -> bool {
    !text.chars().any(is_control)
}

/// Returns whether a character is a control character or changes the direction of text.
pub fn is_control(char: char) -> bool {
    char.is_control() || matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks a length limit. All errors about lengths in characters use this wording.
pub fn check_max_length(text: &str, maximum: usize) -> Result<(), String> {
    if text.chars().count() > maximum {
        return Err(format!("is too long (maximum is {maximum} characters)"));
    }
    Ok(())
}
