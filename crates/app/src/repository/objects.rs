//! Reads git objects of an open repository.

use holdfast_git::reader::Reader;

use super::open_repository::OpenRepository;
use crate::{App, Result};

/// Reads objects of a repository on a blocking thread.
pub(super) async fn read<T: Send + 'static>(
    app: &App,
    repository: &OpenRepository,
    inspect: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
) -> Result<T> {
    repository.objects(app).await?.read(inspect).await
}
