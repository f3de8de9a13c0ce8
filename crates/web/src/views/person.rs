//! People as pages show them: a name, and an avatar of initials on a color.

use holdfast_app::accounts::user::UserSummary;

/// A person with an avatar. Authors of commits without an account have no page.
#[derive(Clone, Debug)]
pub struct Person {
    pub name: String,
    pub url: Option<String>,
    pub initials: String,
    /// The class of the avatar's color.
    pub color: &'static str,
}

impl Person {
    /// Creates a person from an account.
    pub fn from_user(user: &UserSummary) -> Self {
        Self::with_account(&user.name, &user.username)
    }

    /// Creates a person from the names of an account.
    pub fn with_account(name: &str, username: &str) -> Self {
        Self {
            name: name.to_owned(),
            url: Some(super::links::user(username)),
            initials: initials(name),
            color: color(username),
        }
    }

    /// Creates a person from the author or committer of a commit. The address chooses the color, since names vary.
    pub fn from_signature(name: &str, email: &str) -> Self {
        Self { name: name.to_owned(), url: None, initials: initials(name), color: color(email) }
    }
}

/// Returns the first letters of the first and the last word of a name, in upper case.
pub fn initials(name: &str) -> String {
    let letter = |word: &str| word.chars().find(|char| char.is_alphanumeric()).map(|char| char.to_uppercase());
    let mut letters = name.split_whitespace().filter_map(letter);
    let first = letters.next();
    let last = letters.next_back();
    [first, last].into_iter().flatten().flatten().collect()
}

/// Number of colors in `style.css`.
const COLORS: [&str; 6] = ["c1", "c2", "c3", "c4", "c5", "c6"];

/// Returns the class of an avatar's color. Equal keys have equal colors on every page and node.
pub fn color(key: &str) -> &'static str {
    // FNV-1a: short, and the same on every platform and version.
    let hash = key.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    COLORS[hash as usize % COLORS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_are_those_of_the_first_and_the_last_word() {
        let shown: Vec<String> =
            ["Ada Okafor", "mira", "Jean-Luc van der Berg", "  ", "(bot) x", "ß"].into_iter().map(initials).collect();
        assert_eq!(shown, ["AO", "M", "JB", "", "BX", "SS"]);
    }

    #[test]
    fn equal_keys_have_equal_colors() {
        assert_eq!(color("ada"), color("ada"));
        assert!(COLORS.contains(&color("")));
    }
}
