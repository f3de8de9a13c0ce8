//! Pipelines and builds.

mod build;
mod pipeline;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    pipeline::declare(pages);
    build::declare(pages);
}
