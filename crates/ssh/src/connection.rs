//! One connection: who it is, and which channels it may open. Nothing is done in here that takes time, but for asking
//! whose key it is: while one of these functions runs, the connection stands still.

use std::collections::HashMap;
use std::sync::Arc;

use holdfast_app::accounts::authentication::authenticate_key;
use russh::keys::{Algorithm, HashAlg, PublicKey};
use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelOpenFailure, Pty};
use tokio::sync::oneshot;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::{Context, Error, Result, channel, command};

/// Everybody comes under this name and is told apart by key.
const USER: &str = "git";
const MOST_CHANNELS: usize = 10;

pub struct Connection {
    context: Arc<Context>,
    /// The fingerprint of the key that was proved.
    key: Option<Arc<str>>,
    /// Told when that has happened.
    signed_in: Option<oneshot::Sender<()>>,
    /// What is done on the channels; it ends with the connection.
    channels: HashMap<ChannelId, AbortOnDropHandle<()>>,
    work: TaskTracker,
}

impl Connection {
    pub fn new(context: Arc<Context>, signed_in: oneshot::Sender<()>, work: TaskTracker) -> Self {
        Self { context, key: None, signed_in: Some(signed_in), channels: HashMap::new(), work }
    }

    /// The fingerprint, if somebody may come in with it.
    async fn known(&self, user: &str, key: &PublicKey, algorithm: &Algorithm) -> Result<Option<String>> {
        // Signatures over SHA-1 are not offered, and not taken from who offers them all the same.
        let is_weak = matches!(algorithm, Algorithm::Rsa { hash: None });
        if user != USER || is_weak {
            return Ok(None);
        }
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        match authenticate_key(&self.context.app, &fingerprint).await {
            Ok(_) => Ok(Some(fingerprint)),
            Err(holdfast_app::Error::Unauthenticated) => Ok(None),
            // To say no would be wrong, and people would look for the mistake on their side.
            Err(error) => Err(error.into()),
        }
    }
}

impl Handler for Connection {
    type Error = Error;

    async fn auth_publickey_offered(&mut self, user: &str, offer: PublicKeyOffer<'_>) -> Result<Auth> {
        let known = self.known(user, offer.public_key, offer.algorithm).await?;
        Ok(if known.is_some() { Auth::Accept } else { Auth::reject() })
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth> {
        let Some(fingerprint) = self.known(user, key.public_key, key.algorithm).await? else {
            return Ok(Auth::reject());
        };
        self.key = Some(fingerprint.into());
        Ok(Auth::Accept)
    }

    async fn auth_succeeded(&mut self, _: &mut Session) -> Result<()> {
        if let Some(signed_in) = self.signed_in.take() {
            signed_in.send(()).ok();
        }
        Ok(())
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<()> {
        self.channels.retain(|_, work| !work.is_finished());
        let Some(key) = self.key.clone().filter(|_| self.channels.len() < MOST_CHANNELS) else {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        };
        let id = channel.id();
        let work = self.work.spawn(channel::serve(self.context.clone(), key, channel));
        self.channels.insert(id, AbortOnDropHandle::new(work));
        reply.accept().await;
        Ok(())
    }

    async fn channel_close(&mut self, id: ChannelId, _: &mut Session) -> Result<()> {
        self.channels.remove(&id);
        Ok(())
    }

    // What is asked for on a channel is heard there, too; here it is only said whether it will be done.

    async fn env_request(&mut self, id: ChannelId, name: &str, value: &str, session: &mut Session) -> Result<()> {
        match command::version(name, value) {
            Some(_) => session.channel_success(id)?,
            None => session.channel_failure(id)?,
        }
        Ok(())
    }

    async fn exec_request(&mut self, id: ChannelId, _: &[u8], session: &mut Session) -> Result<()> {
        Ok(session.channel_success(id)?)
    }

    async fn shell_request(&mut self, id: ChannelId, session: &mut Session) -> Result<()> {
        Ok(session.channel_success(id)?)
    }

    async fn subsystem_request(&mut self, id: ChannelId, _: &str, session: &mut Session) -> Result<()> {
        Ok(session.channel_failure(id)?)
    }

    async fn pty_request(
        &mut self,
        id: ChannelId,
        _: &str,
        _: u32,
        _: u32,
        _: u32,
        _: u32,
        _: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<()> {
        Ok(session.channel_failure(id)?)
    }

    async fn x11_request(
        &mut self,
        id: ChannelId,
        _: bool,
        _: &str,
        _: &str,
        _: u32,
        session: &mut Session,
    ) -> Result<()> {
        Ok(session.channel_failure(id)?)
    }
}
