//! The rules for new passwords. The application hashes and stores them.

use super::common_passwords::COMMON_PASSWORDS;

/// Checks a new password. Rejects common passwords and those that equal one of `public_details`: the username, name and
/// email address of the account. Attackers try these first. Case is ignored.
pub fn check(password: &str, public_details: &[&str]) -> Result<(), String> {
    match password.chars().count() {
        0..8 => return Err("is too short (minimum is 8 characters)".into()),
        8..=128 => {}
        _ => return Err("is too long (maximum is 128 characters)".into()),
    }
    let lower = password.to_lowercase();
    if COMMON_PASSWORDS.binary_search(&lower.as_str()).is_ok() {
        return Err("is too common".into());
    }
    let is_public_detail = |text: &&str| {
        let text = text.trim().to_lowercase();
        lower == text || text.split_once('@').is_some_and(|(local, _)| lower == local)
    };
    if public_details.iter().any(is_public_detail) {
        return Err("must not be the username, the name or the e-mail address".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_passwords_are_sorted_and_lowercase() {
        assert!(COMMON_PASSWORDS.is_sorted());
        assert!(COMMON_PASSWORDS.iter().all(|it| it.chars().count() >= 8 && it.to_lowercase() == **it));
    }

    #[test]
    fn guessable_passwords_are_rejected() {
        let known = ["weakweak", "Ada Lovelace", "countess@example.com"];
        for (password, problem) in [
            ("1234567", "is too short (minimum is 8 characters)"),
            ("12345678", "is too common"),
            ("Password1", "is too common"),
            ("WeakWeak", "must not be the username, the name or the e-mail address"),
            ("ada lovelace", "must not be the username, the name or the e-mail address"),
            ("countess", "must not be the username, the name or the e-mail address"),
            ("countess@example.com", "must not be the username, the name or the e-mail address"),
        ] {
            assert_eq!(check(password, &known), Err(problem.into()), "{password}");
        }
        assert_eq!(check("weakweak-9", &known), Ok(()));
        assert_eq!(check(&"ä".repeat(128), &known), Ok(()));
        assert!(check(&"ä".repeat(129), &known).is_err());
    }
}
