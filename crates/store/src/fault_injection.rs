//! Fault injection: a wrapper that makes the object store fail as real ones do. For tests only; enabled by the section
//! `[fault_injection]` of the configuration.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The percentages of requests that fail in each way. If all are zero, no fault is injected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultSettings {
    /// Requests that fail without any effect.
    pub fail_percent: f64,
    /// Requests that are executed after `delay`.
    pub slow_percent: f64,
    pub delay: Duration,
    /// Requests that are started, not finished, and fail. A write leaves a part of the object, an unfinished upload, or
    /// even the whole object; a read ends with an error before the end of the object.
    pub truncate_percent: f64,
    pub seed: u64,
}

impl FaultSettings {
    pub fn is_enabled(&self) -> bool {
        self.fail_percent > 0.0 || self.slow_percent > 0.0 || self.truncate_percent > 0.0
    }
}

#[derive(Debug)]
struct FaultSource {
    settings: FaultSettings,
    random: Mutex<StdRng>,
}

impl FaultSource {
    fn occurs(&self, percent: f64) -> bool {
        percent > 0.0 && self.random_below(1.0) * 100.0 < percent
    }

    fn random_below(&self, end: f64) -> f64 {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).random_range(0.0..end)
    }

    /// Delays or fails a request before it has any effect.
    async fn maybe_delay_or_fail(&self) -> Result<()> {
        if self.occurs(self.settings.slow_percent) {
            tokio::time::sleep_until(tokio::time::Instant::now() + self.settings.delay).await;
        }
        if self.occurs(self.settings.fail_percent) { Err(failure("request failed before it was sent")) } else { Ok(()) }
    }

    fn should_truncate(&self) -> bool {
        self.occurs(self.settings.truncate_percent)
    }

    /// Returns how many of `bytes` are still transferred: none, some, or all of them.
    fn truncated_length(&self, bytes: usize) -> usize {
        ((self.random_below(1.2) * bytes as f64) as usize).min(bytes)
    }
}

fn failure(what: &'static str) -> Error {
    Error::Generic { store: "fault injection", source: format!("injected fault: {what}").into() }
}

#[derive(Debug)]
pub struct FaultyStore<S> {
    inner: S,
    faults: Arc<FaultSource>,
}

impl<S: ObjectStore> FaultyStore<S> {
    pub fn new(inner: S, settings: FaultSettings) -> Self {
        let random = Mutex::new(StdRng::seed_from_u64(settings.seed));
        Self { inner, faults: Arc::new(FaultSource { settings, random }) }
    }
}

impl<S: ObjectStore> fmt::Display for FaultyStore<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultyStore({})", self.inner)
    }
}

#[async_trait::async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: ObjectStore> ObjectStore for FaultyStore<S> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.faults.maybe_delay_or_fail().await?;
        if self.faults.should_truncate() {
            let bytes: Bytes = payload.into();
            let prefix = bytes.slice(..self.faults.truncated_length(bytes.len()));
            self.inner.put_opts(location, prefix.into(), options).await?;
            return Err(failure("write truncated"));
        }
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.faults.maybe_delay_or_fail().await?;
        let inner = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(FaultyUpload { inner, faults: self.faults.clone() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.faults.maybe_delay_or_fail().await?;
        let found = self.inner.get_opts(location, options).await?;
        if !self.faults.should_truncate() {
            return Ok(found);
        }
        let length = usize::try_from(found.range.end - found.range.start).unwrap_or(usize::MAX);
        let remaining = self.faults.truncated_length(length).min(length.saturating_sub(1));
        Ok(truncate_result(found, remaining))
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.faults.maybe_delay_or_fail().await?;
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let faults = self.faults.clone();
        let faulty_locations = locations.and_then(move |location| {
            let faults = faults.clone();
            async move { faults.maybe_delay_or_fail().await.map(|()| location) }
        });
        self.inner.delete_stream(faulty_locations.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.faults.maybe_delay_or_fail().await?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.faults.maybe_delay_or_fail().await?;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.faults.maybe_delay_or_fail().await?;
        self.inner.rename_opts(from, to, options).await
    }
}

fn truncate_result(found: GetResult, mut remaining: usize) -> GetResult {
    let (meta, range) = (found.meta.clone(), found.range.clone());
    let (attributes, extensions) = (found.attributes.clone(), found.extensions.clone());
    let bytes = found.into_stream().map(move |bytes| {
        let bytes = bytes?;
        remaining = remaining.checked_sub(bytes.len()).ok_or_else(|| failure("read truncated"))?;
        Ok(bytes)
    });
    GetResult { payload: GetResultPayload::Stream(bytes.boxed()), meta, range, attributes, extensions }
}

#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    faults: Arc<FaultSource>,
}

#[async_trait::async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let put = self.inner.put_part(data);
        let faults = self.faults.clone();
        Box::pin(async move {
            faults.maybe_delay_or_fail().await?;
            put.await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.faults.maybe_delay_or_fail().await?;
        if self.faults.should_truncate() {
            return Err(failure("upload not completed"));
        }
        let done = self.inner.complete().await?;
        if self.faults.should_truncate() { Err(failure("upload completed without a response")) } else { Ok(done) }
    }

    async fn abort(&mut self) -> Result<()> {
        match self.faults.should_truncate() {
            true => Err(failure("upload not aborted")),
            false => self.inner.abort().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    use super::*;

    const KEY: &str = "packs/1";

    async fn stored_length(inner: &Arc<InMemory>) -> Option<usize> {
        Some(inner.get(&Path::from(KEY)).await.ok()?.bytes().await.ok()?.len())
    }

    fn faulty_store(inner: &Arc<InMemory>, settings: FaultSettings) -> FaultyStore<Arc<InMemory>> {
        FaultyStore::new(inner.clone(), settings)
    }

    #[tokio::test]
    async fn zero_percent_injects_no_faults() {
        let inner = Arc::new(InMemory::new());
        assert!(!FaultSettings::default().is_enabled());
        let store = faulty_store(&inner, FaultSettings::default());
        for _ in 0..100 {
            store.put(&Path::from(KEY), vec![1; 10].into()).await.unwrap();
            assert_eq!(store.get(&Path::from(KEY)).await.unwrap().bytes().await.unwrap().len(), 10);
        }
    }

    #[tokio::test]
    async fn failed_requests_have_no_effect() {
        let inner = Arc::new(InMemory::new());
        let store = faulty_store(&inner, FaultSettings { fail_percent: 100.0, ..FaultSettings::default() });
        assert!(store.put(&Path::from(KEY), vec![1; 10].into()).await.is_err());
        assert_eq!(stored_length(&inner).await, None);
        inner.put(&Path::from(KEY), vec![1; 10].into()).await.unwrap();
        assert!(store.get(&Path::from(KEY)).await.is_err());
        assert!(store.delete(&Path::from(KEY)).await.is_err());
        assert_eq!(stored_length(&inner).await, Some(10));
    }

    #[tokio::test]
    async fn a_torn_write_is_never_acknowledged() {
        let inner = Arc::new(InMemory::new());
        let store = faulty_store(&inner, FaultSettings { truncate_percent: 100.0, ..FaultSettings::default() });
        let (mut parts, mut wholes) = (0, 0);
        for _ in 0..200 {
            assert!(store.put(&Path::from(KEY), vec![1; 1000].into()).await.is_err());
            match stored_length(&inner).await.unwrap() {
                1000 => wholes += 1,
                _ => parts += 1,
            }
        }
        assert!(parts > 100 && wholes > 5, "{parts} {wholes}");
        let mut upload = store.put_multipart(&Path::from("packs/2")).await.unwrap();
        upload.put_part(vec![1; 10].into()).await.unwrap();
        assert!(upload.complete().await.is_err());
        assert!(inner.head(&Path::from("packs/2")).await.is_err());
    }

    #[tokio::test]
    async fn a_torn_read_ends_with_an_error() {
        let inner = Arc::new(InMemory::new());
        inner.put(&Path::from(KEY), vec![1; 1000].into()).await.unwrap();
        let store = faulty_store(&inner, FaultSettings { truncate_percent: 100.0, ..FaultSettings::default() });
        for _ in 0..200 {
            assert!(store.get(&Path::from(KEY)).await.unwrap().bytes().await.is_err());
        }
    }

    #[tokio::test]
    async fn the_same_seed_gives_the_same_faults() {
        let run = async |seed| {
            let inner = Arc::new(InMemory::new());
            let store = faulty_store(&inner, FaultSettings { fail_percent: 30.0, seed, ..FaultSettings::default() });
            let mut failed = Vec::new();
            for _ in 0..100 {
                failed.push(store.put(&Path::from(KEY), vec![1].into()).await.is_err());
            }
            failed
        };
        assert_eq!(run(7).await, run(7).await);
        assert_ne!(run(7).await, run(8).await);
    }
}
