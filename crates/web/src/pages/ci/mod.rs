//! Pipelines and builds.

mod artifact;
mod build;
mod build_live;
mod lint;
mod pipeline;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    pipeline::declare(pages);
    build::declare(pages);
    build_live::declare(pages);
    artifact::declare(pages);
    lint::declare(pages);
}
