//! What is wrong with a set of attributes: sentence fragments per field, in the order they were found.

use crate::Field;

/// `{"email": ["is invalid"], "name": ["can't be blank"]}` as a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<(&'static str, Vec<String>)>);

pub const BLANK: &str = "can't be blank";
pub const INVALID: &str = "is invalid";
pub const TAKEN: &str = "has already been taken";

impl Violations {
    pub fn of(field: &'static str, message: impl Into<String>) -> Self {
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

    /// Keeps the value, or records why there is none.
    pub fn check<T>(&mut self, field: &'static str, parsed: Result<T, String>) -> Option<T> {
        parsed.map_err(|message| self.add(field, message)).ok()
    }

    /// Records text that does not fit its column.
    pub fn check_length(&mut self, field: &'static str, text: &str, maximum: usize) {
        if let Err(message) = at_most(text, maximum) {
            self.add(field, message);
        }
    }

    /// Records text of more bytes than are kept.
    pub fn check_size(&mut self, field: &'static str, text: &str, maximum: usize) {
        if text.len() > maximum {
            self.add(field, format!("is too long (maximum is {maximum} bytes)"));
        }
    }

    /// Records new text of more bytes than are kept. Text that is longer because it was stored before there was a limit stays,
    /// until it is changed.
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

    /// Records text that is too long for its column or is not one line of plain text: control characters and marks that
    /// turn the direction of writing could make it look like another.
    pub fn check_line(&mut self, field: &'static str, text: &str) {
        self.check_length(field, text, 255);
        if !is_plain(text) {
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

pub fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

/// The one wording of a length limit.
pub fn at_most(text: &str, maximum: usize) -> Result<(), String> {
    if text.chars().count() > maximum {
        return Err(format!("is too long (maximum is {maximum} characters)"));
    }
    Ok(())
}
