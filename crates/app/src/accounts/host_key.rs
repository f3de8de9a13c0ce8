//! The SSH host keys of the instance. They are generated once and are the same on every node (ADR 0016).

use holdfast_store::accounts::host_key;
use rand::SeedableRng;
use rand::rngs::StdRng;
use ssh_key::{Algorithm, EcdsaCurve, LineEnding, PrivateKey};

use crate::{App, Error, Result};

/// The algorithms of the host keys. The second one is for clients that do not support the first.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::Ed25519, Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 }];

#[crate::boxed]
pub async fn load_or_create(app: &App) -> Result<Vec<PrivateKey>> {
    let mut keys = Vec::with_capacity(ALGORITHMS.len());
    for algorithm in ALGORITHMS {
        keys.push(load_or_create_one(app, algorithm).await?);
    }
    Ok(keys)
}

async fn load_or_create_one(app: &App, algorithm: Algorithm) -> Result<PrivateKey> {
    let mut connection = app.database.connection().await?;
    let name = algorithm.as_str().to_owned();
    let mut stored = host_key::find(&mut connection, &name).await?;
    if stored.is_none() {
        let mut randomness = StdRng::from_seed(app.entropy.bytes());
        let generated = PrivateKey::random(&mut randomness, algorithm).map_err(invalid_key)?;
        let text = generated.to_openssh(LineEnding::LF).map_err(invalid_key)?;
        host_key::insert_if_missing(&mut connection, &name, &text, app.clock.now()).await?;
        // Another node may have inserted a key at the same time: the stored key counts.
        stored = host_key::find(&mut connection, &name).await?;
    }
    let text = stored
        .ok_or_else(|| Error::Internal(format!("host key {name} was deleted while it was being created").into()))?;
    PrivateKey::from_openssh(&text).map_err(invalid_key)
}

fn invalid_key(error: ssh_key::Error) -> Error {
    Error::Internal(format!("invalid host key: {error}").into())
}
