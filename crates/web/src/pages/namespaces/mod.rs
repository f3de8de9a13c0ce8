//! Groups.

mod group;
mod new_group;

use super::Pages;

pub fn declare(pages: &mut Pages) {
    group::declare(pages);
    new_group::declare(pages);
}
