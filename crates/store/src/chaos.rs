//! An object store that fails as real ones do: for trials only, switched on by the section `[chaos]`.

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

/// Shares of requests in per cent; all zero means that nothing fails.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Answered with an error, and nothing done.
    pub fail_percent: f64,
    /// Done after `slow`.
    pub slow_percent: f64,
    pub slow: Duration,
    /// Begun, not finished, and answered with an error: a write leaves a part of the object or an unfinished upload,
    /// or even all of it; a read breaks off in the middle.
    pub tear_percent: f64,
    pub seed: u64,
}

impl Settings {
    pub fn is_on(&self) -> bool {
        self.fail_percent > 0.0 || self.slow_percent > 0.0 || self.tear_percent > 0.0
    }
}

#[derive(Debug)]
struct Dice {
    settings: Settings,
    random: Mutex<StdRng>,
}

impl Dice {
    fn comes_up(&self, percent: f64) -> bool {
        percent > 0.0 && self.below(1.0) * 100.0 < percent
    }

    fn below(&self, end: f64) -> f64 {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).random_range(0.0..end)
    }

    /// Before anything is done.
    async fn hinder(&self) -> Result<()> {
        if self.comes_up(self.settings.slow_percent) {
            tokio::time::sleep_until(tokio::time::Instant::now() + self.settings.slow).await;
        }
        if self.comes_up(self.settings.fail_percent) { Err(failure("nothing was done")) } else { Ok(()) }
    }

    fn tears(&self) -> bool {
        self.comes_up(self.settings.tear_percent)
    }

    /// How many of so many bytes still come: none, some, or all of them.
    fn share(&self, bytes: usize) -> usize {
        ((self.below(1.2) * bytes as f64) as usize).min(bytes)
    }
}

fn failure(what: &'static str) -> Error {
    Error::Generic { store: "chaos", source: format!("made to fail: {what}").into() }
}

#[derive(Debug)]
pub struct Chaos<S> {
    inner: S,
    dice: Arc<Dice>,
}

impl<S: ObjectStore> Chaos<S> {
    pub fn new(inner: S, settings: Settings) -> Self {
        let random = Mutex::new(StdRng::seed_from_u64(settings.seed));
        Self { inner, dice: Arc::new(Dice { settings, random }) }
    }
}

impl<S: ObjectStore> fmt::Display for Chaos<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chaos({})", self.inner)
    }
}

#[async_trait::async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: ObjectStore> ObjectStore for Chaos<S> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.dice.hinder().await?;
        if self.dice.tears() {
            let whole: Bytes = payload.into();
            let begun = whole.slice(..self.dice.share(whole.len()));
            self.inner.put_opts(location, begun.into(), options).await?;
            return Err(failure("a write was torn"));
        }
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.dice.hinder().await?;
        let inner = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(Upload { inner, dice: self.dice.clone() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.dice.hinder().await?;
        let found = self.inner.get_opts(location, options).await?;
        if !self.dice.tears() {
            return Ok(found);
        }
        let length = usize::try_from(found.range.end - found.range.start).unwrap_or(usize::MAX);
        let left = self.dice.share(length).min(length.saturating_sub(1));
        Ok(broken_off(found, left))
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.dice.hinder().await?;
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let dice = self.dice.clone();
        let hindered = locations.and_then(move |location| {
            let dice = dice.clone();
            async move { dice.hinder().await.map(|()| location) }
        });
        self.inner.delete_stream(hindered.boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.dice.hinder().await?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.dice.hinder().await?;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.dice.hinder().await?;
        self.inner.rename_opts(from, to, options).await
    }
}

fn broken_off(found: GetResult, mut left: usize) -> GetResult {
    let (meta, range) = (found.meta.clone(), found.range.clone());
    let (attributes, extensions) = (found.attributes.clone(), found.extensions.clone());
    let bytes = found.into_stream().map(move |bytes| {
        let bytes = bytes?;
        left = left.checked_sub(bytes.len()).ok_or_else(|| failure("a read broke off"))?;
        Ok(bytes)
    });
    GetResult { payload: GetResultPayload::Stream(bytes.boxed()), meta, range, attributes, extensions }
}

#[derive(Debug)]
struct Upload {
    inner: Box<dyn MultipartUpload>,
    dice: Arc<Dice>,
}

#[async_trait::async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let put = self.inner.put_part(data);
        let dice = self.dice.clone();
        Box::pin(async move {
            dice.hinder().await?;
            put.await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.dice.hinder().await?;
        if self.dice.tears() {
            return Err(failure("an upload was not finished"));
        }
        let done = self.inner.complete().await?;
        if self.dice.tears() { Err(failure("an upload was finished in silence")) } else { Ok(done) }
    }

    async fn abort(&mut self) -> Result<()> {
        match self.dice.tears() {
            true => Err(failure("an upload was left behind")),
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

    async fn stored(inner: &Arc<InMemory>) -> Option<usize> {
        Some(inner.get(&Path::from(KEY)).await.ok()?.bytes().await.ok()?.len())
    }

    fn around(inner: &Arc<InMemory>, settings: Settings) -> Chaos<Arc<InMemory>> {
        Chaos::new(inner.clone(), settings)
    }

    #[tokio::test]
    async fn zero_changes_nothing() {
        let inner = Arc::new(InMemory::new());
        assert!(!Settings::default().is_on());
        let store = around(&inner, Settings::default());
        for _ in 0..100 {
            store.put(&Path::from(KEY), vec![1; 10].into()).await.unwrap();
            assert_eq!(store.get(&Path::from(KEY)).await.unwrap().bytes().await.unwrap().len(), 10);
        }
    }

    #[tokio::test]
    async fn what_fails_does_nothing() {
        let inner = Arc::new(InMemory::new());
        let store = around(&inner, Settings { fail_percent: 100.0, ..Settings::default() });
        assert!(store.put(&Path::from(KEY), vec![1; 10].into()).await.is_err());
        assert_eq!(stored(&inner).await, None);
        inner.put(&Path::from(KEY), vec![1; 10].into()).await.unwrap();
        assert!(store.get(&Path::from(KEY)).await.is_err());
        assert!(store.delete(&Path::from(KEY)).await.is_err());
        assert_eq!(stored(&inner).await, Some(10));
    }

    #[tokio::test]
    async fn a_torn_write_leaves_something_and_is_never_acknowledged() {
        let inner = Arc::new(InMemory::new());
        let store = around(&inner, Settings { tear_percent: 100.0, ..Settings::default() });
        let (mut parts, mut wholes) = (0, 0);
        for _ in 0..200 {
            assert!(store.put(&Path::from(KEY), vec![1; 1000].into()).await.is_err());
            match stored(&inner).await.unwrap() {
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
    async fn a_torn_read_is_never_taken_for_a_whole_one() {
        let inner = Arc::new(InMemory::new());
        inner.put(&Path::from(KEY), vec![1; 1000].into()).await.unwrap();
        let store = around(&inner, Settings { tear_percent: 100.0, ..Settings::default() });
        for _ in 0..200 {
            assert!(store.get(&Path::from(KEY)).await.unwrap().bytes().await.is_err());
        }
    }

    #[tokio::test]
    async fn the_same_seed_fails_at_the_same_places() {
        let run = async |seed| {
            let inner = Arc::new(InMemory::new());
            let store = around(&inner, Settings { fail_percent: 30.0, seed, ..Settings::default() });
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
