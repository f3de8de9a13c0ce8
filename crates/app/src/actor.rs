//! Who asks. There is one type for all doors, so that no door can forget a check.

use std::net::IpAddr;

use holdfast_domain::accounts::Scopes;
use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::policy::Standing;
use holdfast_store::accounts::user::{Account, User};

use crate::client::ClientKey;
use crate::{Error, Result};

#[derive(Clone, Debug)]
pub enum Actor {
    /// Nobody who has signed in, at this address if it is known.
    Anonymous(Option<IpAddr>),
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
    /// Set while a build acts: it may read code and nothing else.
    pub build_of: Option<BuildScope>,
}

/// The projects whose code a build may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildScope {
    /// The build's own project, which it always reads, as it does public ones.
    pub project: ProjectId,
    /// Whether the build has the rights of the user that it acts as: then it also reads projects that this user may read and
    /// that have the build's project on their allow list.
    pub has_users_rights: bool,
}

impl Actor {
    pub fn standing(&self) -> Standing {
        match self {
            Self::Anonymous(_) => Standing::Anonymous,
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
            Self::Anonymous(_) | Self::Operator => None,
        }
    }

    /// Returns the client that permits of this actor are counted for.
    pub fn client(&self) -> ClientKey {
        match self {
            Self::Anonymous(address) => ClientKey::from_address(address.unwrap_or(IpAddr::from([0, 0, 0, 0]))),
            Self::Operator => ClientKey::Operator,
            Self::User(caller) => ClientKey::User(caller.account.id()),
        }
    }

    /// Returns what the actor may read, if it is a build.
    pub fn build_of(&self) -> Option<BuildScope> {
        match self {
            Self::User(caller) => caller.build_of,
            Self::Anonymous(_) | Self::Operator => None,
        }
    }

    /// The signed-in user, where one is needed.
    pub fn caller(&self) -> Result<&Caller> {
        match self {
            Self::User(caller) => Ok(caller),
            Self::Anonymous(_) => Err(Error::Unauthenticated),
            Self::Operator => Err(Error::Forbidden(Some("The command line has no account of its own"))),
        }
    }

    /// Why this actor may not do something that it knows of.
    pub(crate) fn refusal(&self) -> Error {
        match self {
            Self::Anonymous(_) => Error::Unauthenticated,
            Self::Operator | Self::User(_) => Error::Forbidden(None),
        }
    }
}
