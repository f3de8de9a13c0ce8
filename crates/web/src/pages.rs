//! The table of pages.
//!
//! A page is declared once, with its method, path, access, cost, title and handler. The router, `docs/pages.txt`, the
//! API request in the footer and the tests that call every page in every role are derived from the declaration.

pub mod accounts;
pub mod activity;
pub mod ci;
pub mod hooks;
pub mod instance;
pub mod merge_requests;
pub mod namespaces;
pub mod planning;
pub mod projects;
pub mod repository;

use axum::http::Method;
use futures_util::future::BoxFuture;
use holdfast_http_core::params::{self, ParamSet, RawParams};
use holdfast_http_core::{Access, RequestError};

use crate::cost::Cost;
use crate::request::RequestContext;
use crate::respond::PageResult;

/// A declared page or action.
pub struct Page {
    pub method: Method,
    /// The path with `:name` for parameters; a last segment `*name` is the rest of the path.
    pub path: &'static str,
    pub access: Access,
    pub cost: Cost,
    pub title: &'static str,
    /// The request of the API with the same content, such as `GET /projects/:id`.
    pub api_call: Option<&'static str>,
    /// Whether the viewer must have entered the password a short time ago.
    pub needs_confirmation: bool,
    pub(crate) parse: Parse,
}

/// Parses the parameters of a page, and returns the call with them.
pub(crate) type Parse = Box<dyn Fn(&RawParams) -> Result<Call, RequestError> + Send + Sync>;
/// Calls the handler of a page with the parameters that were parsed for it.
pub(crate) type Call = Box<dyn FnOnce(RequestContext) -> BoxFuture<'static, PageResult> + Send>;

impl Page {
    /// Names the request of the API with the same content.
    pub fn api(&mut self, call: &'static str) -> &mut Self {
        self.api_call = Some(call);
        self
    }

    /// Requires that the viewer has entered the password a short time ago.
    pub fn confirmed(&mut self) -> &mut Self {
        self.needs_confirmation = true;
        self
    }
}

/// A handler: an `async fn(RequestContext, P) -> PageResult`.
pub trait Handler<P>: Clone + Send + Sync + 'static {
    fn call(&self, context: RequestContext, params: P) -> impl Future<Output = PageResult> + Send;
}

impl<F, Fut, P> Handler<P> for F
where
    F: Fn(RequestContext, P) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = PageResult> + Send,
{
    fn call(&self, context: RequestContext, params: P) -> impl Future<Output = PageResult> + Send {
        self(context, params)
    }
}

/// The declared pages and actions.
#[derive(Default)]
pub struct Pages {
    list: Vec<Page>,
}

impl Pages {
    /// Declares a page. `HEAD` is answered, too.
    pub fn get<P: ParamSet + 'static>(
        &mut self,
        path: &'static str,
        access: Access,
        cost: Cost,
        title: &'static str,
        handler: impl Handler<P>,
    ) -> &mut Page {
        self.push(Method::GET, path, access, cost, title, boxed(handler))
    }

    /// Declares an action: a form that redirects to a page.
    pub fn post<P: ParamSet + 'static>(
        &mut self,
        path: &'static str,
        access: Access,
        cost: Cost,
        title: &'static str,
        handler: impl Handler<P>,
    ) -> &mut Page {
        self.push(Method::POST, path, access, cost, title, boxed(handler))
    }

    fn push(
        &mut self,
        method: Method,
        path: &'static str,
        access: Access,
        cost: Cost,
        title: &'static str,
        parse: Parse,
    ) -> &mut Page {
        let page = Page { method, path, access, cost, title, api_call: None, needs_confirmation: false, parse };
        self.list.push(page);
        self.list.last_mut().expect("a page was added")
    }

    pub fn list(&self) -> &[Page] {
        &self.list
    }

    pub(crate) fn into_list(self) -> Vec<Page> {
        self.list
    }
}

/// Returns a handler without the type of its parameters, so that the shared checks are compiled once for all pages.
fn boxed<P: ParamSet + 'static>(handler: impl Handler<P>) -> Parse {
    Box::new(move |raw: &RawParams| {
        let params = params::read::<P>(raw)?;
        let handler = handler.clone();
        let call = move |context| -> BoxFuture<'static, PageResult> {
            Box::pin(async move { handler.call(context, params).await })
        };
        Ok(Box::new(call) as Call)
    })
}

/// Returns all pages of the web interface.
pub fn all() -> Pages {
    let mut pages = Pages::default();
    accounts::declare(&mut pages);
    activity::declare(&mut pages);
    namespaces::declare(&mut pages);
    projects::declare(&mut pages);
    repository::declare(&mut pages);
    planning::declare(&mut pages);
    merge_requests::declare(&mut pages);
    ci::declare(&mut pages);
    hooks::declare(&mut pages);
    instance::declare(&mut pages);
    pages
}

/// Formats the pages as text, one line per page, sorted by path.
pub fn to_text(pages: &[Page]) -> String {
    let mut pages: Vec<&Page> = pages.iter().collect();
    pages.sort_by_key(|page| (page.path, page.method.as_str()));
    let line = |page: &Page| {
        let access = page.access.describe();
        let call = page.api_call.unwrap_or("-");
        let confirmed = if page.needs_confirmation { ", confirmed" } else { "" };
        let cost = page.cost.as_str();
        format!("{:<5} {:<40} {cost:<7} {call:<28} {access}{confirmed}\n", page.method.as_str(), page.path)
    };
    pages.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_list_of_pages_is_current() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pages.txt");
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(text, to_text(all().list()), "run: holdfast routes --pages >docs/pages.txt");
    }

    #[test]
    fn a_page_is_declared_once() {
        let pages = all();
        let names: BTreeSet<_> = pages.list().iter().map(|page| (page.path, page.method.as_str())).collect();
        assert_eq!(names.len(), pages.list().len());
    }

    #[test]
    fn a_page_about_a_project_or_group_names_it_in_its_path() {
        for page in all().list() {
            let needed: &[&str] = match page.access {
                Access::Project(_) => &[":namespace", ":project"],
                Access::Group(_) => &[":group"],
                Access::Anyone | Access::Instance(_) => &[],
            };
            assert!(needed.iter().all(|name| page.path.split('/').any(|part| part == *name)), "{}", page.path);
        }
    }
}
