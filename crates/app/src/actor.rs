//! Who asks. There is one type for all doors, so that no door can forget a check.

use holdfast_domain::accounts::Scopes;
use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::policy::Standing;
use holdfast_store::accounts::user::{Account, User};

use crate::{Error, Result};

#[derive(Clone, Debug)]
pub enum Actor {
    Anonymous,
    /// Somebody with the server's own command line.
    Operator,
    User(Box<Caller>),
}

/// A signed-in user.
#[derive(Clone, Debug)]
pub struct Caller {
    pub account: Account,
    /// Loaded with the token where the request is about the own account.
    pub own: Option<Box<User>>,
    /// What the token that was presented may do.
    pub scopes: Scopes,
    /// Set while an administrator acts as this user.
    pub impersonated_by: Option<UserId>,
    /// Set while a build of this project acts with the user's rights: it may read code and nothing else, of this project
    /// and of those that let its builds in.
    pub build_of: Option<ProjectId>,
}

impl Actor {
    pub fn standing(&self) -> Standing {
        match self {
            Self::Anonymous => Standing::Anonymous,
            Self::Operator => Standing::Administrator,
            Self::User(caller) => caller.account.standing(),
        }
    }

    pub fn is_administrator(&self) -> bool {
        self.standing() == Standing::Administrator
    }

    pub fn user_id(&self) -> Option<UserId> {
        match self {
            Self::User(caller) => Some(caller.account.id()),
            Self::Anonymous | Self::Operator => None,
        }
    }

    pub fn build_of(&self) -> Option<ProjectId> {
        match self {
            Self::User(caller) => caller.build_of,
            Self::Anonymous | Self::Operator => None,
        }
    }

    /// The signed-in user, where one is needed.
    pub fn caller(&self) -> Result<&Caller> {
        match self {
            Self::User(caller) => Ok(caller),
            Self::Anonymous => Err(Error::Unauthenticated),
            Self::Operator => Err(Error::Forbidden(Some("The command line has no account of its own"))),
        }
    }

    /// Why this actor may not do something that it knows of.
    pub(crate) fn refusal(&self) -> Error {
        match self {
            Self::Anonymous => Error::Unauthenticated,
            Self::Operator | Self::User(_) => Error::Forbidden(None),
        }
    }
}
