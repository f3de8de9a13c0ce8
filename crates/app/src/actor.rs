//! The actor of a use case. All entry points use this one type, so that the same checks apply to each of them.

use std::net::IpAddr;

use holdfast_domain::accounts::Scopes;
use holdfast_domain::ids::{BuildId, ProjectId, SshKeyId, TokenId, UserId};
use holdfast_domain::policy::InstanceRole;
use holdfast_domain::repository::RefUpdateChannel;
use holdfast_store::accounts::user::{Account, User};

use crate::client::ClientKey;
use crate::prefetched::Prefetched;
use crate::{Error, Result};

/// The party on whose behalf a use case runs.
#[derive(Clone, Debug)]
pub enum Actor {
    /// An anonymous request, with the address of the client if it is known.
    Anonymous(Option<IpAddr>),
    /// The server's own command line, or a background job.
    Operator,
    User(Box<CurrentUser>),
    /// An SSH key of projects. It is no user: it may only fetch from its projects, and push to them.
    DeployKey(DeployKeyActor),
}

/// A deploy key that a client has authenticated with.
#[derive(Clone, Debug)]
pub struct DeployKeyActor {
    pub id: SshKeyId,
    pub title: String,
}

/// A signed-in user.
#[derive(Clone, Debug)]
pub struct CurrentUser {
    pub account: Account,
    /// Loaded together with the token if the request is about the current user's own account.
    pub profile: Option<Box<User>>,
    /// The scopes of the token that authenticated the request.
    pub scopes: Scopes,
    /// The user's own token that authenticated the request.
    pub token_id: Option<TokenId>,
    /// Whether somebody else created this token for the user. It cannot create other credentials.
    pub has_delegated_token: bool,
    /// Set while an administrator acts as this user.
    pub impersonated_by: Option<UserId>,
    /// Set if the actor is a build: it may read code and builds, and nothing else.
    pub job_token_scope: Option<JobTokenScope>,
    /// The channel that the ref log records for updates other than pushes.
    pub(crate) ref_update_channel: RefUpdateChannel,
    pub(crate) prefetched: Prefetched,
}

/// A build that acts with its job token, and the projects whose code and builds it may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobTokenScope {
    pub build: BuildId,
    /// The build's own project, which it may always read. It may also read public projects.
    pub project: ProjectId,
    /// Whether the build has the rights of the user that it acts as. If so, it may also read projects that this user
    /// may read and that have the build's project on their job token allow list.
    pub has_users_rights: bool,
}

impl CurrentUser {
    /// Creates a user who acts with all scopes, on their own behalf.
    pub(crate) fn new(account: Account) -> Self {
        Self {
            account,
            profile: None,
            scopes: Scopes::all(),
            token_id: None,
            has_delegated_token: false,
            impersonated_by: None,
            job_token_scope: None,
            ref_update_channel: RefUpdateChannel::Api,
            prefetched: Prefetched::default(),
        }
    }
}

impl Actor {
    pub fn role(&self) -> InstanceRole {
        match self {
            Self::Anonymous(_) | Self::DeployKey(_) => InstanceRole::Anonymous,
            Self::Operator => InstanceRole::Administrator,
            Self::User(user) => user.account.role(),
        }
    }

    pub fn is_administrator(&self) -> bool {
        self.role() == InstanceRole::Administrator
    }

    pub fn user_id(&self) -> Option<UserId> {
        match self {
            Self::User(user) => Some(user.account.id()),
            Self::Anonymous(_) | Self::Operator | Self::DeployKey(_) => None,
        }
    }

    /// Returns the client that permits of this actor are counted for.
    pub fn client(&self) -> ClientKey {
        match self {
            Self::Anonymous(address) => ClientKey::from_address(address.unwrap_or(IpAddr::from([0, 0, 0, 0]))),
            Self::Operator => ClientKey::Operator,
            Self::User(user) => ClientKey::User(user.account.id()),
            Self::DeployKey(key) => ClientKey::DeployKey(key.id),
        }
    }

    /// Returns the projects that the actor may read, if it is a build.
    pub fn job_token_scope(&self) -> Option<JobTokenScope> {
        match self {
            Self::User(user) => user.job_token_scope,
            Self::Anonymous(_) | Self::Operator | Self::DeployKey(_) => None,
        }
    }

    /// Returns the signed-in user. Fails for anonymous requests, for deploy keys and for the command line.
    pub fn current_user(&self) -> Result<&CurrentUser> {
        match self {
            Self::User(user) => Ok(user),
            Self::Anonymous(_) => Err(Error::Unauthenticated),
            Self::Operator => Err(Error::Forbidden(Some("The command line has no user account"))),
            Self::DeployKey(_) => Err(Error::Forbidden(Some("A deploy key has no user account"))),
        }
    }

    /// Returns the project or group that was read together with the token. See [`Prefetched`].
    pub(crate) fn prefetched(&self) -> Option<&Prefetched> {
        match self {
            Self::User(user) => Some(&user.prefetched),
            Self::Anonymous(_) | Self::Operator | Self::DeployKey(_) => None,
        }
    }

    /// Returns the error for an action that the actor may not perform on something it may see.
    pub(crate) fn access_denied(&self) -> Error {
        match self {
            Self::Anonymous(_) => Error::Unauthenticated,
            Self::Operator | Self::User(_) | Self::DeployKey(_) => Error::Forbidden(None),
        }
    }
}
