//! Pipelines and builds.

mod build;
mod build_live;
mod pipeline;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    pipeline::declare(pages);
    build::declare(pages);
    build_live::declare(pages);
}
