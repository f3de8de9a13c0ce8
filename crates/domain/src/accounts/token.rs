//! Kinds and scopes of access tokens.

use std::fmt;

/// The way in which a token came into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A token that a user created, with a name, scopes and an optional expiry date.
    Personal,
    /// A token that was issued when the user signed in with a password.
    Session,
    /// A token that an administrator created for a user, to act as that user.
    Impersonation,
    /// An access token of a project or group, which is the only credential of its bot.
    Bot,
}

/// The error for a text that is no kind of token.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a kind of token")]
pub struct UnknownTokenKind(String);

impl TokenKind {
    pub const ALL: [Self; 4] = [Self::Personal, Self::Session, Self::Impersonation, Self::Bot];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Personal => "personal",
            Self::Session => "session",
            Self::Impersonation => "impersonation",
            Self::Bot => "bot",
        }
    }

    /// Returns the prefix of tokens of this kind, by which users and secret scanners recognize them.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Personal => "hfp_",
            Self::Session => "hfs_",
            Self::Impersonation => "hfi_",
            Self::Bot => "hfa_",
        }
    }
}

impl TryFrom<String> for TokenKind {
    type Error = UnknownTokenKind;

    fn try_from(word: String) -> Result<Self, UnknownTokenKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or(UnknownTokenKind(word))
    }
}

/// A part of the API that a token grants access to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All actions of the user, except acting as another user.
    Api,
    /// Read access to everything that the user can read, through the API and with git.
    ReadApi,
    /// Read access to `/user` and `/users`.
    ReadUser,
    /// Read access to repositories, with git and as files through the API.
    ReadRepository,
    /// Fetches and pushes with git.
    WriteRepository,
    /// Acting as another user, for administrators.
    Sudo,
}

impl Scope {
    pub const ALL: [Self; 6] =
        [Self::Api, Self::ReadApi, Self::ReadUser, Self::ReadRepository, Self::WriteRepository, Self::Sudo];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::ReadApi => "read_api",
            Self::ReadUser => "read_user",
            Self::ReadRepository => "read_repository",
            Self::WriteRepository => "write_repository",
            Self::Sudo => "sudo",
        }
    }

    fn from_str_opt(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }

    /// Returns the scopes that include this one.
    const fn wider_scopes(self) -> &'static [Self] {
        match self {
            Self::Api | Self::Sudo => &[],
            Self::ReadApi | Self::WriteRepository => &[Self::Api],
            Self::ReadUser => &[Self::ReadApi, Self::Api],
            Self::ReadRepository => &[Self::WriteRepository, Self::ReadApi, Self::Api],
        }
    }
}

/// The error for a text that is no scope.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a scope (valid: api, read_api, read_user, read_repository, write_repository, sudo)")]
pub struct UnknownScope(String);

/// A set of scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// Returns scopes that include all others. Nodes of the version before know these, too.
    pub fn all() -> Self {
        Self(vec![Scope::Api, Scope::ReadUser, Scope::Sudo])
    }

    /// Parses the scopes of a request, in which every word must be a scope. Duplicates are dropped.
    pub fn parse<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> Result<Self, UnknownScope> {
        let mut scopes = Self(Vec::new());
        for word in words {
            let word = word.as_ref().trim();
            scopes.insert(Scope::from_str_opt(word).ok_or_else(|| UnknownScope(word.to_owned()))?);
        }
        Ok(scopes)
    }

    fn insert(&mut self, scope: Scope) {
        if !self.0.contains(&scope) {
            self.0.push(scope);
        }
    }

    /// Returns whether the set contains a scope, or a wider one.
    pub fn allow(&self, needed: Scope) -> bool {
        self.0.iter().any(|scope| *scope == needed || needed.wider_scopes().contains(scope))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_superset_of(&self, others: &Self) -> bool {
        others.0.iter().all(|scope| self.allow(*scope))
    }

    pub fn to_strings(&self) -> Vec<&'static str> {
        self.0.iter().map(|scope| scope.as_str()).collect()
    }
}

/// Reads the scopes of a row. Words that are no scope of this version are ignored and grant nothing: a node of a later
/// version may have written them.
impl From<Vec<String>> for Scopes {
    fn from(words: Vec<String>) -> Self {
        let mut scopes = Self(Vec::new());
        for scope in words.iter().filter_map(|word| Scope::from_str_opt(word)) {
            scopes.insert(scope);
        }
        scopes
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_strings().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_scope_includes_read_user_but_not_sudo() {
        let api = Scopes::parse(["api"]).unwrap();
        assert!(api.allow(Scope::Api) && api.allow(Scope::ReadUser) && !api.allow(Scope::Sudo));
        let reader = Scopes::parse(["read_user"]).unwrap();
        assert!(!reader.allow(Scope::Api) && reader.allow(Scope::ReadUser));
        assert!(Scopes::parse(["root"]).is_err());
    }

    #[test]
    fn narrow_scopes_allow_no_more_than_their_names_say() {
        let allowed = |word| {
            let scopes = Scopes::parse([word]).unwrap();
            Scope::ALL.into_iter().filter(|scope| scopes.allow(*scope)).map(Scope::as_str).collect::<Vec<_>>()
        };
        assert_eq!(allowed("read_api"), ["read_api", "read_user", "read_repository"]);
        assert_eq!(allowed("read_repository"), ["read_repository"]);
        assert_eq!(allowed("write_repository"), ["read_repository", "write_repository"]);
        assert_eq!(allowed("sudo"), ["sudo"]);
    }

    /// A request with an unknown scope is rejected, while a row with one can be read.
    #[test]
    fn unknown_scopes_of_rows_grant_nothing() {
        let stored = |words: &[&str]| Scopes::from(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert!(Scopes::parse(["read_user", "read_registry"]).is_err());
        assert_eq!(stored(&["read_registry", "read_user", "read_user"]), Scopes::parse(["read_user"]).unwrap());
        for words in [&["read_registry"][..], &["API", " api"], &[]] {
            let scopes = stored(words);
            assert!(Scope::ALL.into_iter().all(|scope| !scopes.allow(scope)), "{words:?}");
        }
    }
}
