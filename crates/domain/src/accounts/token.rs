//! Access tokens: what they are for and what they may do.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Made on purpose, with a name, scopes and perhaps an end.
    Personal,
    /// Given out by signing in with a password.
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

    /// Lets people and secret scanners tell what they found.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Personal => "hfp_",
            Self::Session => "hfs_",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything its user may do, except acting as somebody else.
    Api,
    /// Reading under `/user` and `/users`.
    ReadUser,
    /// Acting as somebody else, for administrators.
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

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no scope: api, read_user and sudo are")]
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

    /// Whoever may use the whole interface may also read users.
    pub fn allow(&self, needed: Scope) -> bool {
        self.0.contains(&needed) || (needed == Scope::ReadUser && self.0.contains(&Scope::Api))
    }

    pub fn include(&self, others: &Self) -> bool {
        others.0.iter().all(|scope| self.allow(*scope))
    }

    pub fn words(&self) -> Vec<&'static str> {
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
        f.write_str(&self.words().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_includes_reading_users_but_not_sudo() {
        let api = Scopes::parse(["api"]).unwrap();
        assert!(api.allow(Scope::Api) && api.allow(Scope::ReadUser) && !api.allow(Scope::Sudo));
        let reader = Scopes::parse(["read_user"]).unwrap();
        assert!(!reader.allow(Scope::Api) && reader.allow(Scope::ReadUser));
        assert!(Scopes::parse(["root"]).is_err());
    }
}
