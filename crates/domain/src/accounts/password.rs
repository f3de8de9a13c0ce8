//! The rule for new passwords. How they are kept is a matter of the application.

pub fn check(password: &str) -> Result<(), String> {
    match password.chars().count() {
        0..8 => Err("is too short (minimum is 8 characters)".into()),
        8..=128 => Ok(()),
        _ => Err("is too long (maximum is 128 characters)".into()),
    }
}
