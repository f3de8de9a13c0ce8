//! The keys by which clients of SSH know this instance again. They are made once and are the same on every node.

use holdfast_store::accounts::host_key;
use rand::SeedableRng;
use rand::rngs::StdRng;
use ssh_key::{Algorithm, EcdsaCurve, LineEnding, PrivateKey};

use crate::{App, Error, Result};

/// The second one is for clients that do not know the first.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::Ed25519, Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 }];

pub async fn load_or_make(app: &App) -> Result<Vec<PrivateKey>> {
    let mut keys = Vec::with_capacity(ALGORITHMS.len());
    for algorithm in ALGORITHMS {
        keys.push(load_or_make_one(app, algorithm).await?);
    }
    Ok(keys)
}

async fn load_or_make_one(app: &App, algorithm: Algorithm) -> Result<PrivateKey> {
    let mut connection = app.database.connection().await?;
    let name = algorithm.as_str().to_owned();
    let mut kept = host_key::find(&mut connection, &name).await?;
    if kept.is_none() {
        let mut randomness = StdRng::from_seed(app.entropy.bytes());
        let made = PrivateKey::random(&mut randomness, algorithm).map_err(unusable)?;
        let text = made.to_openssh(LineEnding::LF).map_err(unusable)?;
        host_key::insert_if_missing(&mut connection, &name, &text, app.clock.now()).await?;
        // Another node may have been at it at the same moment: what is kept counts, not what was made here.
        kept = host_key::find(&mut connection, &name).await?;
    }
    let text = kept.ok_or_else(|| Error::Internal(format!("the host key {name} was removed").into()))?;
    PrivateKey::from_openssh(&text).map_err(unusable)
}

fn unusable(error: ssh_key::Error) -> Error {
    Error::Internal(format!("a host key cannot be used: {error}").into())
}
