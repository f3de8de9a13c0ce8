//! Fields of forms with their values and errors.

use holdfast_domain::Violations;

/// A field of a form. After a rejected form it holds what the user entered.
#[derive(Clone, Debug)]
pub struct FormField {
    /// The name of the parameter, which is also the id of the element.
    pub name: &'static str,
    pub label: &'static str,
    pub value: String,
    /// The message about the value, such as `can't be blank`, which follows the label.
    pub error: Option<String>,
}

impl FormField {
    pub fn new(name: &'static str, label: &'static str, value: impl Into<String>) -> Self {
        Self { name, label, value: value.into(), error: None }
    }

    /// Returns the field with the first message about it, if there is one.
    pub fn with_violations(mut self, violations: &Violations) -> Self {
        let mut own = violations.iter().filter(|(field, _)| *field == self.name);
        self.error = own.next().and_then(|(_, messages)| messages.first().cloned());
        self
    }
}

/// One entry of the summary above a rejected form.
#[derive(Clone, Debug)]
pub struct FormError {
    pub field: &'static str,
    pub label: &'static str,
    pub message: String,
}

/// Returns the errors of the fields, in their order on the page.
pub fn errors<'a>(fields: impl IntoIterator<Item = &'a FormField>) -> Vec<FormError> {
    let error =
        |field: &FormField| Some(FormError { field: field.name, label: field.label, message: field.error.clone()? });
    fields.into_iter().filter_map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_shows_the_first_message_about_it() {
        let mut violations = Violations::single("name", "can't be blank");
        violations.add("name", "is invalid");
        violations.add("email", "is invalid");
        let name = FormField::new("name", "Name", "").with_violations(&violations);
        let bio = FormField::new("bio", "About", "x").with_violations(&violations);
        assert_eq!((name.error.as_deref(), bio.error.as_deref()), (Some("can't be blank"), None));
        assert_eq!(errors([&name, &bio]).len(), 1);
    }
}
