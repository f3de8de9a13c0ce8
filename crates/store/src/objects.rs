//! The object store: a directory of this machine, or a bucket of anything that speaks S3. Keys are made of fresh random
//! ids; what an object is called, and whose it is, only the database knows.

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

use crate::chaos::{self, Chaos};

pub use bytes::Bytes;
pub use object_store::{Error, Result};

#[derive(Clone)]
pub enum Options {
    Directory(PathBuf),
    S3 {
        bucket: String,
        prefix: String,
        /// None means AWS.
        endpoint: Option<String>,
        region: String,
        /// None means what the environment of the machine provides.
        credentials: Option<(String, String)>,
    },
}

impl Options {
    /// `file:///var/lib/holdfast` or `s3://bucket/prefix`.
    pub fn from_url(
        url: &Url,
        endpoint: &str,
        region: &str,
        credentials: Option<(String, String)>,
    ) -> std::result::Result<Self, &'static str> {
        match url.scheme() {
            "file" => {
                let directory = url.to_file_path().map_err(|()| "it names no directory of this machine")?;
                Ok(Self::Directory(directory))
            }
            "s3" => Ok(Self::S3 {
                bucket: url.host_str().filter(|host| !host.is_empty()).ok_or("it names no bucket")?.to_owned(),
                prefix: url.path().trim_matches('/').to_owned(),
                endpoint: Some(endpoint.to_owned()).filter(|endpoint| !endpoint.is_empty()),
                region: region.to_owned(),
                credentials,
            }),
            _ => Err("it begins with neither file:// nor s3://"),
        }
    }
}

#[derive(Clone)]
pub struct Objects {
    options: Options,
    chaos: chaos::Settings,
    opened: Arc<OnceLock<Arc<dyn ObjectStore>>>,
}

/// An object that is being written. Nobody finds it before it is finished.
pub struct Sink(BufWriter);

impl Sink {
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.0.put(bytes).await
    }

    /// Durable when it returns.
    pub async fn finish(mut self) -> Result<()> {
        self.0.shutdown().await.map_err(failed)
    }

    pub async fn abort(mut self) {
        self.0.abort().await.ok();
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::Generic { store: "upload", source: error.into() }
}

/// What is there, by the word of the store itself.
#[derive(Clone, Debug)]
pub struct Found {
    pub key: String,
    pub size: u64,
    pub at: DateTime<Utc>,
}

/// The bytes of an object, as they come.
pub type Content = BoxStream<'static, std::io::Result<Bytes>>;

impl Objects {
    /// Opened when it is first used: most commands need none of it.
    pub fn new(options: Options) -> Self {
        Self { options, chaos: chaos::Settings::default(), opened: Arc::default() }
    }

    /// The same, made to fail now and then.
    pub fn with_chaos(self, chaos: chaos::Settings) -> Self {
        Self { chaos, opened: Arc::default(), ..self }
    }

    fn store(&self) -> Result<&dyn ObjectStore> {
        if let Some(store) = self.opened.get() {
            return Ok(store.as_ref());
        }
        let mut store = open(&self.options)?;
        if self.chaos.is_on() {
            store = Arc::new(Chaos::new(store, self.chaos));
        }
        Ok(self.opened.get_or_init(|| store).as_ref())
    }

    fn store_shared(&self) -> Result<Arc<dyn ObjectStore>> {
        self.store()?;
        Ok(self.opened.get().expect("it was opened just now").clone())
    }

    /// Durable when it returns.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<()> {
        self.store()?.put(&Path::from(key), PutPayload::from(bytes)).await?;
        Ok(())
    }

    /// Files one behind the other and something behind them, as one object; durable when it returns.
    pub async fn put_files(&self, key: &str, files: &[PathBuf], behind: Vec<u8>) -> Result<()> {
        let Sink(mut upload) = self.sink(key)?;
        let written = async {
            for file in files {
                let mut file = tokio::fs::File::open(file).await?;
                tokio::io::copy(&mut file, &mut upload).await?;
            }
            upload.write_all(&behind).await
        };
        match written.await {
            Ok(()) => upload.shutdown().await.map_err(failed),
            Err(error) => {
                upload.abort().await.ok();
                Err(failed(error))
            }
        }
    }

    /// One that comes bit by bit.
    pub fn sink(&self, key: &str) -> Result<Sink> {
        let upload = BufWriter::with_capacity(self.store_shared()?, Path::from(key), PART).with_max_concurrency(4);
        Ok(Sink(upload))
    }

    /// None if there is no such object.
    pub async fn get(&self, key: &str) -> Result<Option<Content>> {
        match self.store()?.get(&Path::from(key)).await {
            Ok(found) => Ok(Some(found.into_stream().map_err(std::io::Error::other).boxed())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// None if there is no such object.
    pub async fn size(&self, key: &str) -> Result<Option<u64>> {
        match self.store()?.head(&Path::from(key)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A part of an object; less of it if the object ends before.
    pub async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<BoxStream<'static, Result<Bytes>>>> {
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        match self.store()?.get_opts(&Path::from(key), options).await {
            Ok(found) => Ok(Some(found.into_stream())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All below a directory, in no order. Only for when the database does not know what there is.
    pub fn list(&self, directory: &str) -> Result<BoxStream<'static, Result<Found>>> {
        let found = self.store_shared()?.list(Some(&Path::from(directory)));
        let found = found.map_ok(|it| Found { key: it.location.to_string(), size: it.size, at: it.last_modified });
        Ok(found.boxed())
    }

    /// One that is gone already is fine.
    pub async fn delete(&self, key: &str) -> Result<()> {
        self.delete_parts(key);
        match self.store()?.delete(&Path::from(key)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What an upload that was cut off has left in a directory. In a bucket it is for the bucket's own rules to remove.
    fn delete_parts(&self, key: &str) {
        if let Options::Directory(directory) = &self.options {
            let part = |number: u32| directory.join(format!("{key}#{number}"));
            (1..).take_while(|number| std::fs::remove_file(part(*number)).is_ok()).for_each(drop);
        }
    }

    /// Whether what is put can be read again and deleted.
    pub async fn check(&self, key: &str) -> Result<()> {
        self.put(key, Bytes::from_static(b"holdfast")).await?;
        self.store()?.get(&Path::from(key)).await?.bytes().await?;
        self.delete(key).await
    }
}

/// Of a large object, sent at a time; smaller ones go in one piece.
const PART: usize = 8 << 20;

/// A request waits for the store, but not until its client has given up.
const PATIENCE: Duration = Duration::from_secs(20);
const CONNECT: Duration = Duration::from_secs(5);

fn open(options: &Options) -> Result<Arc<dyn ObjectStore>> {
    match options {
        Options::Directory(directory) => {
            std::fs::create_dir_all(directory)
                .map_err(|source| Error::Generic { store: "directory", source: source.into() })?;
            // What is acknowledged is on the disk, file and directory both.
            let store = LocalFileSystem::new_with_prefix(directory)?.with_fsync(true).with_automatic_cleanup(false);
            Ok(Arc::new(store))
        }
        Options::S3 { bucket, prefix, endpoint, region, credentials } => {
            // What the machine provides is asked for only where no keys are given: half of each fits nothing.
            let builder = if credentials.is_some() { AmazonS3Builder::new() } else { AmazonS3Builder::from_env() };
            let mut builder = builder
                .with_bucket_name(bucket)
                .with_region(region)
                .with_retry(RetryConfig { max_retries: 3, retry_timeout: PATIENCE, ..RetryConfig::default() })
                .with_client_options(
                    ClientOptions::new()
                        .with_connect_timeout(CONNECT)
                        .with_timeout_disabled()
                        .with_read_timeout(PATIENCE),
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
