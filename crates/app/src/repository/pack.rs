//! Making packs last.

use holdfast_git::index_pack::{IndexedPack, PARTS};
use holdfast_store::repository::pack::{self, Bytes, NewPack};

use crate::{App, Result};

/// Small ones come with the transaction, others go to the object store first.
pub(super) async fn store(app: &App, pack: &IndexedPack) -> Result<NewPack> {
    let sizes = pack.sizes();
    let files: Vec<_> =
        PARTS.iter().zip(sizes).filter(|(_, size)| *size > 0).map(|(part, _)| pack.file(part)).collect();
    let bytes = if sizes[0] <= app.engine.settings.inline_pack_bytes {
        let mut content = Vec::new();
        for file in files {
            content.extend(tokio::fs::read(file).await?);
        }
        Bytes::Inline(content)
    } else {
        let key = format!("packs/{}", app.entropy.hex::<16>());
        let id = pack::intend(&mut *app.database.connection().await?, &key, app.clock.now()).await?;
        app.objects.put_files(&key, &files).await?;
        Bytes::Stored(id)
    };
    Ok(NewPack { checksum: pack.checksum.clone(), sizes, bytes })
}
