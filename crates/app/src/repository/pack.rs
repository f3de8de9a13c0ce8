//! Making packs last.

use holdfast_git::index_pack::{IndexedPack, PARTS};
use holdfast_store::repository::pack::{self, Bytes, NewPack};

use super::receipt::{Intended, Receipt};
use crate::{App, Error, Result};

/// Small ones come with the transaction, others go to the object store first, with a receipt if a push is about to move
/// refs to it.
pub(super) async fn store(app: &App, pack: &IndexedPack, push: Option<Intended<'_>>) -> Result<NewPack> {
    let sizes = pack.sizes()?;
    let files: Vec<_> =
        PARTS.iter().zip(sizes).filter(|(_, size)| *size > 0).map(|(part, _)| pack.file(part)).collect();
    let bytes = if sizes[0] <= app.engine.settings.inline_pack_bytes {
        let mut content = Vec::new();
        for file in files {
            content.extend(tokio::fs::read(file).await?);
        }
        if content.len() as u64 != sizes.iter().sum::<u64>() {
            return Err(Error::Internal("a pack changed while it was read".into()));
        }
        Bytes::Inline(content)
    } else {
        let key = format!("packs/{}", app.entropy.hex::<16>());
        let id = pack::intend(&mut *app.database.connection().await?, &key, app.clock.now()).await?;
        let receipt = match push {
            Some(push) => Receipt::of_push(app, push, &key, &pack.checksum, &sizes)?,
            None => Vec::new(),
        };
        app.objects.put_files(&key, &files, receipt).await?;
        Bytes::Stored(id)
    };
    Ok(NewPack { checksum: pack.checksum.clone(), sizes, bytes, is_cruft: false })
}
