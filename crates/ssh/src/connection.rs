//! The russh handler of one connection: authentication, and which channels the client may open.
//!
//! russh processes nothing else on the connection while one of these functions runs. Only the database lookup of a key
//! takes time here; commands run in tasks of their own.

use std::collections::HashMap;
use std::sync::Arc;

use holdfast_app::accounts::authentication::authenticate_key;
use russh::keys::{Algorithm, HashAlg, PublicKey};
use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelOpenFailure, Pty};
use tokio::sync::oneshot;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::command::Service;
use crate::error_message::user_message;
use crate::{Context, Error, Result, channel, command};

/// The only SSH user name. The key identifies the user.
const SSH_USER: &str = "git";
const MAX_CHANNELS: usize = 10;

/// The state of an SSH connection, and the handler of its events.
pub struct Connection {
    context: Arc<Context>,
    /// SHA-256 fingerprint of the key that the client authenticated with.
    fingerprint: Option<Arc<str>>,
    /// The error of a database that was unavailable when authentication began.
    outage: Option<holdfast_app::Error>,
    /// Notified once authentication has succeeded.
    signed_in: Option<oneshot::Sender<()>>,
    /// Tasks that serve the open channels. They are aborted when the connection ends.
    channels: HashMap<ChannelId, AbortOnDropHandle<()>>,
    tasks: TaskTracker,
}

impl Connection {
    pub fn new(context: Arc<Context>, signed_in: oneshot::Sender<()>, tasks: TaskTracker) -> Self {
        Self { context, fingerprint: None, outage: None, signed_in: Some(signed_in), channels: HashMap::new(), tasks }
    }

    /// Returns the fingerprint of a key if its owner may sign in with it, otherwise `None`.
    async fn authorized_fingerprint(
        &mut self,
        user: &str,
        key: &PublicKey,
        algorithm: &Algorithm,
    ) -> Result<Option<String>> {
        // RSA signatures over SHA-1 are not offered, and are rejected from clients that use them anyway.
        let is_weak = matches!(algorithm, Algorithm::Rsa { hash: None });
        if user != SSH_USER || is_weak {
            return Ok(None);
        }
        if let Some(error) = self.outage.take() {
            return Err(error.into());
        }
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        match authenticate_key(&self.context.app, &fingerprint).await {
            Ok(_) => Ok(Some(fingerprint)),
            Err(holdfast_app::Error::Unauthenticated) => Ok(None),
            // A rejection would be wrong here: the user would look for the mistake in their own setup.
            Err(error) => Err(error.into()),
        }
    }
}

impl Handler for Connection {
    type Error = Error;

    /// Tells the user that the database is unavailable. Keys cannot be looked up then, so there will be no channel that the
    /// message could be sent on.
    async fn authentication_banner(&mut self) -> Result<Option<String>> {
        let Err(error) = self.context.app.database.is_ready().await else { return Ok(None) };
        let error = holdfast_app::Error::from(error);
        let text = user_message(&error, Service::UploadPack);
        self.outage = Some(error);
        Ok(Some(format!("ERROR: {text}\r\n")))
    }

    async fn auth_publickey_offered(&mut self, user: &str, offer: PublicKeyOffer<'_>) -> Result<Auth> {
        let fingerprint = self.authorized_fingerprint(user, offer.public_key, offer.algorithm).await?;
        Ok(if fingerprint.is_some() { Auth::Accept } else { Auth::reject() })
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth> {
        let Some(fingerprint) = self.authorized_fingerprint(user, key.public_key, key.algorithm).await? else {
            return Ok(Auth::reject());
        };
        self.fingerprint = Some(fingerprint.into());
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
        self.channels.retain(|_, task| !task.is_finished());
        let Some(fingerprint) = self.fingerprint.clone().filter(|_| self.channels.len() < MAX_CHANNELS) else {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        };
        let id = channel.id();
        let task = self.tasks.spawn(channel::serve(self.context.clone(), fingerprint, channel));
        self.channels.insert(id, AbortOnDropHandle::new(task));
        reply.accept().await;
        Ok(())
    }

    async fn channel_close(&mut self, id: ChannelId, _: &mut Session) -> Result<()> {
        self.channels.remove(&id);
        Ok(())
    }

    // The following functions only acknowledge or reject channel requests. `channel::serve` receives the same requests
    // and executes them.

    async fn env_request(&mut self, id: ChannelId, name: &str, value: &str, session: &mut Session) -> Result<()> {
        match command::protocol_version(name, value) {
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
