//! Stores new packs, in the database or in the object store. [`super::pack_download`] reads them from there.

use holdfast_git::index_pack::IndexedPack;
use holdfast_store::repository::pack::{self, NewPack, PackBytes};

use super::transfer::receipt::{IntendedPush, Receipt};
use crate::{App, Error, Result};

/// Stores a pack. A small one is returned as bytes, for the transaction that lists it. A larger one is uploaded to the
/// object store, with a receipt if it comes from a push.
pub(super) async fn store_pack(app: &App, pack: &IndexedPack, push: Option<IntendedPush<'_>>) -> Result<NewPack> {
    let sizes = pack.sizes()?;
    let files: Vec<_> = sizes.files().map(|(file, _)| pack.file_path(file)).collect();
    let bytes = if sizes.pack <= app.git_runtime.settings.inline_pack_bytes {
        let mut content = Vec::new();
        for file in files {
            content.extend(tokio::fs::read(file).await?);
        }
        if content.len() as u64 != sizes.total() {
            return Err(Error::Internal("a pack file changed while it was read".into()));
        }
        PackBytes::Inline(content)
    } else {
        let key = format!("packs/{}", app.entropy.hex::<16>());
        let id = pack::insert_upload_intent(&mut *app.database.connection().await?, &key, app.clock.now()).await?;
        let receipt = match push {
            Some(push) => Receipt::encode_for_push(app, push, &key, &pack.checksum, sizes)?,
            None => Vec::new(),
        };
        app.objects.put_files(&key, &files, receipt).await?;
        PackBytes::Uploaded(id)
    };
    Ok(NewPack { checksum: pack.checksum.clone(), sizes, bytes, is_cruft: false })
}
