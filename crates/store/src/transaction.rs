//! Transactions on pooled connections.

use std::ops::{Deref, DerefMut};

use sqlx::Executor;

use crate::Result;
use crate::connection_pool::{Connection, PooledConnection};

/// A transaction, which is rolled back if it is dropped before [`commit`].
pub struct Transaction(PooledConnection);

impl Transaction {
    pub(crate) async fn begin(mut connection: PooledConnection) -> Result<Self> {
        // Set before the statement is sent: if this future is dropped, the transaction may have begun nevertheless.
        connection.set_in_transaction(true);
        connection.execute("begin").await?;
        Ok(Self(connection))
    }
}

impl Deref for Transaction {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.0
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.0
    }
}

pub async fn commit(mut transaction: Transaction) -> Result<()> {
    transaction.execute("commit").await?;
    transaction.0.set_in_transaction(false);
    Ok(())
}
