//! The list of keys.

use holdfast_http_core::Access;

use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::accounts::keyboard::keyboard_page;

pub fn declare(pages: &mut Pages) {
    pages.get("/help/keyboard", Access::Anyone, Cost::Cheap, "Keyboard shortcuts", show);
}

async fn show(context: RequestContext, (): ()) -> PageResult {
    respond::html(&keyboard_page(context.layout()))
}
