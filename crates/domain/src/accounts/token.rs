//! Kinds and scopes of access tokens.

use std::fmt;

/// The way in which a token came into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A token that a user created, with a name, scopes and an optional expiry date.
    Personal,
    /// A token that was issued when the user signed in with a password.
    Session,
}

impl TokenKind {
    pub const ALL: [Self; 2] = [Self::Personal, Self::Session];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Personal => "personal",
            Self::Session => "session",
        }
    }

    /// Returns the prefix of tokens of this kind, by which users and secret scanners recognize them.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Personal => "hfp_",
            Self::Session => "hfs_",
        }
    }
}

/// A part of the API that a token grants access to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All actions of the user, except acting as another user.
    Api,
    /// Read access to `/user` and `/users`.
    ReadUser,
    /// Acting as another user, for administrators.
    Sudo,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Api, Self::ReadUser, Self::Sudo];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::ReadUser => "read_user",
            Self::Sudo => "sudo",
        }
    }
}

/// The error for a text that is no scope.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a scope (valid: api, read_user, sudo)")]
pub struct UnknownScope(String);

/// A set of scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    pub fn all() -> Self {
        Self(Scope::ALL.to_vec())
    }

    pub fn parse<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> Result<Self, UnknownScope> {
        let mut scopes = Vec::new();
        for word in words {
            let word = word.as_ref().trim();
            let scope = Scope::ALL.into_iter().find(|known| known.as_str() == word);
            let scope = scope.ok_or_else(|| UnknownScope(word.to_owned()))?;
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        Ok(Self(scopes))
    }

    /// Returns whether the set contains a scope. `api` includes `read_user`.
    pub fn allow(&self, needed: Scope) -> bool {
        self.0.contains(&needed) || (needed == Scope::ReadUser && self.0.contains(&Scope::Api))
    }

    pub fn is_superset_of(&self, others: &Self) -> bool {
        others.0.iter().all(|scope| self.allow(*scope))
    }

    pub fn to_strings(&self) -> Vec<&'static str> {
        self.0.iter().map(|scope| scope.as_str()).collect()
    }
}

impl TryFrom<Vec<String>> for Scopes {
    type Error = UnknownScope;

    fn try_from(words: Vec<String>) -> Result<Self, UnknownScope> {
        Self::parse(words)
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
}
