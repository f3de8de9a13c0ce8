//! The object store: a local directory, or a bucket of an S3-compatible service. Its objects are packs,
//! uploads, traces and artifacts, not git objects.
//!
//! Keys are made of fresh random ids. Only the database knows the name and the owner of an object.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::buffered::BufWriter;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ClientOptions, GetOptions, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig};
use tokio::io::AsyncWriteExt;
use url::Url;

use crate::fault_injection::{self, FaultyStore};

pub use bytes::Bytes;
pub use object_store::{Error, Result};

#[derive(Clone)]
pub enum Options {
    Directory(PathBuf),
    S3 {
        bucket: String,
        prefix: String,
        /// The URL of an S3-compatible service. None means AWS.
        endpoint: Option<String>,
        region: String,
        /// The access key and its secret. None means the credentials that the environment provides.
        credentials: Option<(String, String)>,
    },
}

impl Options {
    /// Parses a URL such as `file:///var/lib/holdfast` or `s3://bucket/prefix`.
    pub fn from_url(
        url: &Url,
        endpoint: &str,
        region: &str,
        credentials: Option<(String, String)>,
    ) -> std::result::Result<Self, &'static str> {
        match url.scheme() {
            "file" => {
                let directory = url.to_file_path().map_err(|()| "it is not the path of a directory on this machine")?;
                Ok(Self::Directory(directory))
            }
            "s3" => Ok(Self::S3 {
                bucket: url.host_str().filter(|host| !host.is_empty()).ok_or("it has no bucket name")?.to_owned(),
                prefix: url.path().trim_matches('/').to_owned(),
                endpoint: Some(endpoint.to_owned()).filter(|endpoint| !endpoint.is_empty()),
                region: region.to_owned(),
                credentials,
            }),
            _ => Err("it must begin with file:// or s3://"),
        }
    }
}

#[derive(Clone)]
pub struct Objects {
    options: Options,
    faults: fault_injection::FaultSettings,
    lazy_store: Arc<OnceLock<Arc<dyn ObjectStore>>>,
}

/// An object that is being written. It is not visible before [`finish`](Self::finish).
pub struct ObjectWriter(BufWriter);

impl ObjectWriter {
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.0.put(bytes).await
    }

    /// Completes the object, which is durable when this returns.
    pub async fn finish(mut self) -> Result<()> {
        self.0.shutdown().await.map_err(upload_error)
    }

    pub async fn abort(mut self) {
        self.0.abort().await.ok();
    }
}

/// Describes an error for operators in one line: with its last cause, and with the code of S3 instead of the whole response.
pub fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    if let Some(cause) = causes.last().map(ToString::to_string)
        && !text.contains(&cause)
    {
        text = format!("{text}: {cause}");
    }
    let Some((before, response)) = text.split_once("<?xml").or_else(|| text.split_once("<Error>")) else { return text };
    let code = response.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    format!("{}{}", before, code.map_or("", |(code, _)| code)).trim_end_matches([':', ' ']).to_owned()
}

fn upload_error(error: std::io::Error) -> Error {
    Error::Generic { store: "upload", source: error.into() }
}

/// An object as the store lists it.
#[derive(Clone, Debug)]
pub struct ObjectMeta {
    pub key: String,
    pub size: u64,
    pub last_modified: DateTime<Utc>,
}

/// The content of an object as a stream.
pub type ByteStream = BoxStream<'static, std::io::Result<Bytes>>;

impl Objects {
    /// Creates a handle. The store is opened at the first use, because most commands do not need it.
    pub fn new(options: Options) -> Self {
        Self { options, faults: fault_injection::FaultSettings::default(), lazy_store: Arc::default() }
    }

    /// Returns a handle to the same store that injects faults.
    pub fn with_faults(self, faults: fault_injection::FaultSettings) -> Self {
        Self { faults, lazy_store: Arc::default(), ..self }
    }

    fn store(&self) -> Result<&dyn ObjectStore> {
        if let Some(store) = self.lazy_store.get() {
            return Ok(store.as_ref());
        }
        let mut store = open(&self.options)?;
        if self.faults.is_enabled() {
            store = Arc::new(FaultyStore::new(store, self.faults));
        }
        Ok(self.lazy_store.get_or_init(|| store).as_ref())
    }

    fn shared_store(&self) -> Result<Arc<dyn ObjectStore>> {
        self.store()?;
        Ok(self.lazy_store.get().expect("the store was initialized above").clone())
    }

    /// Stores an object, which is durable when this returns.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<()> {
        self.store()?.put(&Path::from(key), PutPayload::from(bytes)).await?;
        Ok(())
    }

    /// Stores the concatenation of some files and a trailer as one object, which is durable when this returns.
    pub async fn put_files(&self, key: &str, files: &[PathBuf], trailer: Vec<u8>) -> Result<()> {
        let ObjectWriter(mut upload) = self.writer(key)?;
        let written = async {
            for file in files {
                let mut file = tokio::fs::File::open(file).await?;
                tokio::io::copy(&mut file, &mut upload).await?;
            }
            upload.write_all(&trailer).await
        };
        match written.await {
            Ok(()) => upload.shutdown().await.map_err(upload_error),
            Err(error) => {
                upload.abort().await.ok();
                Err(upload_error(error))
            }
        }
    }

    /// Starts an object that is written in chunks.
    pub fn writer(&self, key: &str) -> Result<ObjectWriter> {
        let upload = BufWriter::with_capacity(self.shared_store()?, Path::from(key), PART_SIZE).with_max_concurrency(4);
        Ok(ObjectWriter(upload))
    }

    /// Returns the content of an object, or None if it does not exist.
    pub async fn get(&self, key: &str) -> Result<Option<ByteStream>> {
        match self.store()?.get(&Path::from(key)).await {
            Ok(found) => Ok(Some(found.into_stream().map_err(std::io::Error::other).boxed())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the size of an object, or None if it does not exist.
    pub async fn size(&self, key: &str) -> Result<Option<u64>> {
        match self.store()?.head(&Path::from(key)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns a range of an object, which is shorter than requested if the object ends before, or None if the object
    /// does not exist.
    pub async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<BoxStream<'static, Result<Bytes>>>> {
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        match self.store()?.get_opts(&Path::from(key), options).await {
            Ok(found) => Ok(Some(found.into_stream())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists all objects below a directory, in no particular order. Only for cases in which the database cannot know
    /// the keys.
    pub fn list(&self, directory: &str) -> Result<BoxStream<'static, Result<ObjectMeta>>> {
        let found = self.shared_store()?.list(Some(&Path::from(directory)));
        let found = found.map_ok(|it| ObjectMeta {
            key: it.location.to_string(),
            size: it.size,
            last_modified: it.last_modified,
        });
        Ok(found.boxed())
    }

    /// Deletes an object. Idempotent: a missing object is not an error.
    pub async fn delete(&self, key: &str) -> Result<()> {
        self.delete_parts(key);
        match self.store()?.delete(&Path::from(key)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes the parts that an interrupted upload left in a directory. In a bucket, the lifecycle rules of the bucket
    /// delete them.
    fn delete_parts(&self, key: &str) {
        if let Options::Directory(directory) = &self.options {
            let part = |number: u32| directory.join(format!("{key}#{number}"));
            (1..).take_while(|number| std::fs::remove_file(part(*number)).is_ok()).for_each(drop);
        }
    }

    /// Checks that an object can be stored, read and deleted. The error is a description for operators.
    pub async fn check(&self, key: &str) -> std::result::Result<(), String> {
        let check = async {
            self.put(key, Bytes::from_static(b"holdfast")).await?;
            self.store()?.get(&Path::from(key)).await?.bytes().await?;
            self.delete(key).await
        };
        check.await.map_err(|error| match (&error, &self.options) {
            (Error::NotFound { .. }, Options::S3 { bucket, .. }) => format!("the bucket {bucket} does not exist"),
            _ => describe(&error),
        })
    }
}

/// The size of the parts of a multipart upload. Smaller objects are sent in one request.
const PART_SIZE: usize = 8 << 20;

/// How long a request waits for the store: less than common clients wait for a response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

fn open(options: &Options) -> Result<Arc<dyn ObjectStore>> {
    match options {
        Options::Directory(directory) => {
            std::fs::create_dir_all(directory)
                .map_err(|source| Error::Generic { store: "directory", source: source.into() })?;
            // An acknowledged write is on the disk: both the file and its directory entry are synchronized.
            let store = LocalFileSystem::new_with_prefix(directory)?.with_fsync(true).with_automatic_cleanup(false);
            Ok(Arc::new(store))
        }
        Options::S3 { bucket, prefix, endpoint, region, credentials } => {
            // The environment is only read if no credentials are configured: a mixture of both would not match.
            let builder = if credentials.is_some() { AmazonS3Builder::new() } else { AmazonS3Builder::from_env() };
            let mut builder = builder
                .with_bucket_name(bucket)
                .with_region(region)
                .with_retry(RetryConfig { max_retries: 3, retry_timeout: REQUEST_TIMEOUT, ..RetryConfig::default() })
                .with_client_options(
                    ClientOptions::new()
                        .with_connect_timeout(CONNECT_TIMEOUT)
                        .with_timeout_disabled()
                        .with_read_timeout(REQUEST_TIMEOUT),
                );
            if let Some(endpoint) = endpoint {
                builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
            }
            if let Some((id, secret)) = credentials {
                builder = builder.with_access_key_id(id).with_secret_access_key(secret);
            }
            Ok(Arc::new(PrefixStore::new(builder.build()?, prefix.as_str())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Cause {
        text: &'static str,
        source: Option<Box<Cause>>,
    }

    #[test]
    fn errors_are_described_in_one_line_with_their_last_cause() {
        let describe_cause = |text, cause: Option<&'static str>| {
            let source = cause.map(|text| Box::new(Cause { text, source: None }));
            describe(&Error::Generic { store: "S3", source: Box::new(Cause { text, source }) })
        };
        let text = describe_cause("HTTP error: error sending request", Some("Connection refused (os error 111)"));
        assert_eq!(text, "Generic S3 error: HTTP error: error sending request: Connection refused (os error 111)");
        assert_eq!(describe_cause("timeout", None), "Generic S3 error: timeout");
        let response =
            "403 Forbidden: <?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>m</Message></Error>";
        assert_eq!(describe_cause(response, None), "Generic S3 error: 403 Forbidden: AccessDenied");
        assert_eq!(describe_cause("404 Not Found: <?xml version=\"1.0\"?>", None), "Generic S3 error: 404 Not Found");
    }
}
