//! The account of the user of a credential, read from a row that also holds other things.

use holdfast_domain::accounts::UserState;
use holdfast_domain::ids::UserId;

use crate::accounts::user::{Account, UserSummary};

/// The columns of [`AccountColumns`] of the user `u`. They have prefixes, because those of a project or group follow.
pub(super) const ACCOUNT_COLUMNS: &str = "\
    u.id as account_id, u.username as account_username, u.name as account_name, u.email as account_email, \
    u.state as account_state, u.admin as account_admin, u.external as account_external, \
    u.can_create_group as account_can_create_group, u.projects_limit as account_projects_limit";

/// The account of the user of a credential.
#[derive(sqlx::FromRow)]
pub(super) struct AccountColumns {
    #[sqlx(try_from = "i64")]
    account_id: UserId,
    account_username: String,
    account_name: String,
    account_email: String,
    #[sqlx(try_from = "String")]
    account_state: UserState,
    account_admin: bool,
    account_external: bool,
    account_can_create_group: bool,
    account_projects_limit: i32,
}

impl From<AccountColumns> for Account {
    fn from(columns: AccountColumns) -> Self {
        Self {
            summary: UserSummary {
                id: columns.account_id,
                username: columns.account_username,
                name: columns.account_name,
                email: columns.account_email,
                state: columns.account_state,
            },
            admin: columns.account_admin,
            external: columns.account_external,
            can_create_group: columns.account_can_create_group,
            projects_limit: columns.account_projects_limit,
        }
    }
}
