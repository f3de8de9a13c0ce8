//! Names of emoji, as users give them to issues, merge requests and notes.

/// The name of an emoji, such as `rocket`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emoji(&'static str);

impl Emoji {
    /// Parses the name of an emoji, without colons. Other names of an emoji become its first one, except for the thumbs,
    /// which API v3 calls `thumbsup` and `thumbsdown`.
    pub fn parse(name: &str) -> Option<Self> {
        let shortcode = match name {
            "thumbsup" | "+1" => return Some(Self(THUMBS_UP)),
            "thumbsdown" | "-1" => return Some(Self(THUMBS_DOWN)),
            name => name,
        };
        let emoji = emojis::get_by_shortcode(shortcode)?;
        emoji.shortcode().map(Self)
    }

    pub const fn as_str(&self) -> &'static str {
        self.0
    }

    /// Returns whether it counts as a vote.
    pub fn is_vote(&self) -> bool {
        self.0 == THUMBS_UP || self.0 == THUMBS_DOWN
    }
}

const THUMBS_UP: &str = "thumbsup";
const THUMBS_DOWN: &str = "thumbsdown";

#[cfg(test)]
mod tests {
    use super::Emoji;

    #[test]
    fn names_of_emoji_are_found() {
        let parse = |name: &str| Emoji::parse(name).map(|emoji| emoji.as_str());
        for (name, expected) in [
            ("rocket", Some("rocket")),
            ("heart", Some("heart")),
            ("smile", Some("smile")),
            ("+1", Some("thumbsup")),
            ("thumbsdown", Some("thumbsdown")),
            ("no_such_emoji", None),
            (":rocket:", None),
            ("", None),
        ] {
            assert_eq!(parse(name), expected, "{name:?}");
        }
    }
}
