//! Serves fetches over git's protocol.
//!
//! - The ref advertisement comes from the database.
//! - Git computes the pack after every requested id has been checked: only objects that a ref of the project, or a version
//!   of a merge request, reaches are sent.

use std::future;
use std::io;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use holdfast_domain::Visibility;
use holdfast_git::pkt::{self, Packet};
use holdfast_git::process::{Command, read_stderr_tail};
use holdfast_git::protocol::Version;
use holdfast_git::protocol::advertisement::{self, RefLookup};
use holdfast_git::protocol::upload::{self, FetchRequest, LsRefsRequest};
use holdfast_git::{ObjectId, Quarantine};
use holdfast_store::cache::CachedRepository;
use holdfast_store::merge_requests::version;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::OwnedSemaphorePermit;

use super::request_reader::{MAX_REQUEST_BYTES, RequestReader, within_request_timeout};
use super::shared_fetch::{self, FetchKey, GitOutput};
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::OpenRepository;
use crate::repository::{bounded_stream, object_lookup};
use crate::{App, Error, Result};

impl OpenRepository {
    /// Writes the first response: the capabilities in version 2, the ref advertisement in older ones. `is_stateless` is
    /// true over HTTP.
    pub async fn advertise_upload_pack(
        &self,
        version: Version,
        is_stateless: bool,
        output: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        match version {
            // Clients download bundles without credentials, so only public projects offer them.
            Version::V2 => {
                let has_bundles = self.project.visibility == Visibility::Public;
                output.write_all(&advertisement::v2_capabilities(has_bundles)).await
            }
            older => advertisement::write_upload_pack(&*self.refs, older, is_stateless, output).await,
        }
    }

    pub async fn advertise_receive_pack(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        advertisement::write_receive_pack(&*self.refs, output).await
    }

    /// Writes the refs that a client asks for. `merge_request_heads` come from [`Self::find_merge_request_heads`].
    pub async fn list_refs(
        &self,
        request: &LsRefsRequest,
        merge_request_heads: &[(String, ObjectId)],
        output: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        advertisement::write_ls_refs(&*self.refs, merge_request_heads, request, output).await
    }

    /// Returns the heads of merge requests as refs, if a prefix of the request asks for them.
    pub async fn find_merge_request_heads(
        &self,
        app: &App,
        request: &LsRefsRequest,
    ) -> Result<Vec<(String, ObjectId)>> {
        let numbers: Vec<MergeRequestNumbers> =
            request.prefixes.iter().filter_map(|it| parse_merge_request_prefix(it)).collect();
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let iids: Option<Vec<i64>> = numbers
            .into_iter()
            .map(|numbers| match numbers {
                MergeRequestNumbers::One(iid) => Some(iid),
                MergeRequestNumbers::Any => None,
            })
            .collect();
        let mut connection = app.database.connection().await?;
        let found =
            version::list_heads(&mut connection, self.project.id, iids.as_deref(), MAX_MERGE_REQUEST_HEADS).await?;
        Ok(found.into_iter().map(|(iid, head)| (format!("{MERGE_REQUEST_REFS}{iid}/head"), head)).collect())
    }
}

/// The prefix of the refs under which clients fetch merge requests. These refs are not stored: each is the newest version of
/// its request.
const MERGE_REQUEST_REFS: &str = "refs/merge-requests/";
/// Maximum number of merge requests that are listed to one client, the newest ones. Arbitrary.
const MAX_MERGE_REQUEST_HEADS: i64 = 50_000;

/// The merge requests that a prefix of refs names.
enum MergeRequestNumbers {
    One(i64),
    Any,
}

fn parse_merge_request_prefix(prefix: &str) -> Option<MergeRequestNumbers> {
    let rest = prefix.strip_prefix(MERGE_REQUEST_REFS)?;
    Some(match rest.split_once('/') {
        Some((number, _)) => MergeRequestNumbers::One(number.parse().ok()?),
        None => MergeRequestNumbers::Any,
    })
}

/// The maximum size of one round of `have` lines. Git sends at most 16,384 of them at a time.
const MAX_ROUND_BYTES: usize = 1 << 20;

/// A response of git in chunks. Dropping it ends git, unless other clients read the same response.
pub type ResponseStream = BoxStream<'static, io::Result<Bytes>>;

/// Serves one fetch request. Rejects an id that no ref of this project reaches, wherever its object is stored. Each
/// request is checked before it joins a shared response.
#[crate::boxed]
pub async fn serve(
    app: &App,
    repository: &OpenRepository,
    version: Version,
    mut fetch: FetchRequest,
) -> Result<ResponseStream> {
    let mut slot = check_wants(app, repository, &mut fetch).await?;
    let shared_fetches = &app.git_runtime.shared_fetches;
    let key = FetchKey::for_request(repository.project.repository.id, version, &fetch).await?;
    if let Some(key) = key {
        let mut client_permit = None;
        let (reader, is_shared) = match shared_fetches.join_existing(key) {
            Some(reader) => (reader, true),
            None => {
                // Acquired before other requests can join, so that they do not wait for a client that has used up its
                // own share.
                if slot.is_none() {
                    client_permit = Some(app.git_runtime.fetch_permits.acquire_client(repository.client).await);
                }
                shared_fetches.join(key, app.git_runtime.cache()?.scratch_dir())
            }
        };
        if is_shared {
            // The request that computes the response may be waiting for these permits.
            (slot, client_permit) = (None, None);
        }
        let start = start_upload_pack(app, repository, version, &fetch, slot.take(), client_permit);
        if let Some(response) = shared_fetches.stream_to_client(reader, Some(key), start).await? {
            if is_shared {
                shared_fetches.record_fetch(true);
            }
            return Ok(response);
        }
    }
    let slot = match slot {
        Some(slot) => slot,
        None => FetchSlot::acquire(app, repository).await?,
    };
    let start = start_upload_pack(app, repository, version, &fetch, Some(slot), None);
    let response = shared_fetches.stream_to_client(shared_fetches.unshared(), None, start).await?;
    response.ok_or_else(|| unreachable!("an unshared response is started by its only reader"))
}

/// Rejects wants that no ref reaches and that are no head of a merge request, and removes claims to unreachable commits from the request. Returns the slot if
/// the checks needed one: most fetches want tips, and have nothing or commits near the tips.
async fn check_wants(app: &App, repository: &OpenRepository, fetch: &mut FetchRequest) -> Result<Option<FetchSlot>> {
    let mut slot = None;
    let mut wanted = object_lookup::exclude_tips(repository, fetch.wants.clone());
    if !wanted.is_empty() {
        let mut connection = app.database.connection().await?;
        let heads = version::find_heads(&mut connection, repository.project.id, &wanted).await?;
        wanted.retain(|id| !heads.contains(id));
    }
    if !wanted.is_empty() {
        let slot = slot.insert(FetchSlot::acquire(app, repository).await?);
        object_lookup::check_reachable(app, repository, &slot.cached_repository, wanted).await?;
    }
    let wants = std::mem::take(&mut fetch.wants);
    object_lookup::remove_unreachable_claims(app, repository, fetch, &wants, &mut slot).await?;
    Ok(slot)
}

async fn start_upload_pack(
    app: &App,
    repository: &OpenRepository,
    version: Version,
    fetch: &FetchRequest,
    slot: Option<FetchSlot>,
    client_permit: Option<OwnedSemaphorePermit>,
) -> Result<GitOutput> {
    let slot = match slot {
        Some(held) => held,
        None => {
            // This request took over a response whose first client has disconnected. Other requests wait for it, so it
            // must not wait for the share of its own client.
            let client_permit =
                client_permit.or_else(|| app.git_runtime.fetch_permits.try_acquire_client(repository.client));
            let too_many = Error::TemporarilyUnavailable(
                "You have too many concurrent fetches. Try again when one of them has finished",
            );
            FetchSlot::acquire_with(app, repository, client_permit.ok_or(too_many)?).await?
        }
    };
    app.git_runtime.shared_fetches.record_fetch(false);
    let view =
        if fetch.has_named_refs { Some(repository_with_refs(app, repository, &slot.cached_repository)?) } else { None };
    let bare = view.as_ref().map_or(&slot.cached_repository.bare, Quarantine::repository);
    let command = app.git_runtime.git.command(bare, "upload-pack");
    let command = command.env("GIT_PROTOCOL", version.as_env_value());
    let command = command.args(["--stateless-rpc", "--strict"]).arg_path(bare.directory());
    shared_fetch::start_git(command, fetch.raw.clone(), slot.with_view(view))
}

/// Returns a temporary view of the repository with its refs on disk, for requests that name refs. In the cached
/// repository itself they would outlive their generation.
fn repository_with_refs(
    app: &App,
    repository: &OpenRepository,
    cached_repository: &CachedRepository,
) -> Result<Quarantine> {
    let view = app.git_runtime.cache()?.quarantine(Some(&cached_repository.bare))?;
    view.repository().write_refs(repository.refs.head(), repository.refs.iter_with_prefix(""))?;
    Ok(view)
}

/// Runs git with one request and streams its output to a single client.
pub(in crate::repository) async fn run_unshared(
    app: &App,
    command: Command,
    request: Bytes,
    slot: FetchSlot,
) -> Result<ResponseStream> {
    let shared_fetches = &app.git_runtime.shared_fetches;
    let response = shared_fetches
        .stream_to_client(shared_fetches.unshared(), None, async { shared_fetch::start_git(command, request, slot) })
        .await?;
    response.ok_or_else(|| unreachable!("an unshared response is started by its only reader"))
}

const CHUNK_SIZE: usize = 64 << 10;

/// Makes git accept only ids that a ref points at.
const REFS_ONLY_CONFIG: [&str; 3] = [
    "uploadpack.allowAnySHA1InWant=false",
    "uploadpack.allowTipSHA1InWant=false",
    "uploadpack.allowReachableSHA1InWant=false",
];

/// Serves a fetch of protocol version 0 or 1 over a stateful connection. Once the wants have been read, git drives the
/// negotiation. The permits are acquired only then, and the client has a limited time to send its `have` lines, so that
/// a silent client does not block others.
pub async fn serve_stateful(
    app: &App,
    repository: &OpenRepository,
    version: Version,
    input: &mut (impl AsyncRead + Unpin + Send),
    output: &mut (impl AsyncWrite + Unpin + Send),
) -> Result<()> {
    repository.advertise_upload_pack(version, false, output).await?;
    output.flush().await?;
    let mut request = RequestReader::new(app, repository.client, &mut *input);
    let wants = within_request_timeout(app, upload::read_v0_wants(&mut request, MAX_REQUEST_BYTES)).await??;
    let _permit = request.into_permit();
    let Some(mut fetch) = wants.filter(|fetch| !fetch.wants.is_empty()) else { return Ok(()) };
    if let Some(id) = object_lookup::exclude_tips(repository, fetch.wants.clone()).iter().next() {
        return Err(object_lookup::not_our_ref(*id));
    }
    let slot = FetchSlot::acquire(app, repository).await?;
    let view = repository_with_refs(app, repository, &slot.cached_repository)?;
    let mut slot = Some(slot);
    let command = app.git_runtime.git.command_with(view.repository(), "upload-pack", REFS_ONLY_CONFIG);
    let command = command.env("GIT_PROTOCOL", version.as_env_value()).arg("--strict").arg_path(view.directory());
    let mut process = command.start()?;
    let (mut stdin, stdout, stderr) = process.take_pipes();
    let mut stdout = BufReader::with_capacity(CHUNK_SIZE, stdout);
    let receive_rounds = async {
        let forward_rounds = async {
            let wants = std::mem::take(&mut fetch.wants);
            object_lookup::remove_unreachable_claims(app, repository, &mut fetch, &wants, &mut slot).await?;
            stdin.write_all(&fetch.raw).await.map_err(holdfast_git::Error::from)?;
            // This time covers all rounds together. Work of the server between the rounds does not count.
            let mut left = app.git_runtime.settings.request_timeout;
            loop {
                let started_at = Instant::now();
                let next = tokio::time::timeout(left, upload::read_v0_haves(input, MAX_ROUND_BYTES)).await;
                left = left.saturating_sub(started_at.elapsed());
                let late = |_| holdfast_git::Error::protocol("the request did not arrive in time");
                let Some(mut next) = next.map_err(late)?? else { return Ok(()) };
                object_lookup::remove_unreachable_claims(app, repository, &mut next.round, &wants, &mut slot).await?;
                stdin.write_all(&next.round.raw).await.map_err(holdfast_git::Error::from)?;
                if next.is_last {
                    return Ok(());
                }
            }
        };
        let outcome: Result<()> = forward_rounds.await;
        drop(stdin);
        match outcome {
            Ok(()) => future::pending().await,
            // Git may close its input before the client has sent all rounds.
            Err(Error::Git(holdfast_git::Error::Io(error))) if error.kind() == io::ErrorKind::BrokenPipe => {
                future::pending().await
            }
            Err(error) => error,
        }
    };
    let send_response = async {
        // Skips git's own ref advertisement: the client has already received one.
        while !matches!(pkt::read(&mut stdout).await.map_err(io::Error::other)?, None | Some(Packet::Flush)) {}
        let stderr_tail = async { io::Result::Ok(read_stderr_tail(stderr).await) };
        let ((), stderr_tail) = tokio::try_join!(bounded_stream::copy_to_client(&mut stdout, output), stderr_tail)?;
        io::Result::Ok(stderr_tail)
    };
    let stderr_tail = tokio::select! {
        result = send_response => result?,
        error = receive_rounds => return Err(error),
    };
    Ok(process.wait_success(&stderr_tail).await?)
}
