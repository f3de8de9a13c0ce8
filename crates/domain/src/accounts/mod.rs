//! User accounts and their credentials.

pub mod browser_session;
mod common_passwords;
pub mod email;
pub mod password;
pub mod ssh_key;
pub mod token;
pub mod user_state;

pub use email::EmailAddress;
pub use ssh_key::PublicKey;
pub use token::{Scope, Scopes, TokenKind};
pub use user_state::UserState;
