//! Groups.

mod group;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    group::declare(pages);
}
