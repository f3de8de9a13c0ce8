//! Use cases: the functions of `app` that other crates call with an `&App`.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Ident, Item, ItemFn, Visibility};

use super::{Source, report, sources, without_exceptions};

/// Types of parameters that only a caller with the permission can have.
const AUTHORITY: &[&str] = &["Actor", "OpenRepository", "LocatedFile", "BuildCredential"];

/// Use cases without such a parameter, by reason.
const WITHOUT_AUTHORITY: &[(&str, &[&str])] = &[
    (
        "it authenticates a client",
        &[
            "accounts::authentication::authenticate",
            "accounts::authentication::authenticate_basic",
            "accounts::authentication::authenticate_key",
            "accounts::browser_session::authenticate",
            "accounts::browser_session::confirm",
            "accounts::browser_session::create",
            "accounts::browser_session::delete",
            "accounts::session::create",
        ],
    ),
    (
        "it authenticates the operator by a setup code, while there is no user",
        &["accounts::setup::create_administrator"],
    ),
    ("it tells only whether the instance has users", &["accounts::setup::is_needed"]),
    (
        "it authenticates by a token of a runner, a build or a trigger, which is one of its parameters",
        &[
            "ci::artifact::show_for_build",
            "ci::artifact::delete_own",
            "ci::artifact::begin_upload",
            "ci::job::request",
            "ci::runner_api::register",
            "ci::runner_api::verify",
            "ci::runner_api::unregister",
            "ci::runner_api::reset_token",
            "ci::runner_api::append_trace",
            "ci::trigger::fire",
        ],
    ),
    (
        "it reads the user whose permits the requests of a verified build count for",
        &["ci::runner_api::find_pipeline_user"],
    ),
    ("it checks a text that the client sends and reads nothing else", &["ci::creation::lint"]),
    (
        "it limits the time in which a request is read",
        &["repository::transfer::request_reader::within_request_timeout"],
    ),
    (
        "the node itself calls it, for its own work or its metrics",
        &[
            "accounts::host_key::load_or_create",
            "ci::stale_builds::run",
            "ci::queue::stats",
            "ci::retention::delete_expired",
            "hooks::dispatch::run",
            "hooks::dispatch::run_once",
            "hooks::dispatch::stats",
            "repository::warming::warm",
            "worker::run",
            "worker::run_once",
            "worker::job::stats",
        ],
    ),
];

#[test]
fn use_cases_take_an_actor() {
    let sources = sources("app/src");
    let exports = Exports::of(&sources);
    let mut found = Vec::new();
    for source in &sources {
        for item in source.syntax().items {
            let Item::Fn(function) = item else { continue };
            let path = [source.module(), vec![&function.sig.ident.to_string()]].concat().join("::");
            if exports.contain(&path) && is_use_case(&function) && !has_authority(&function) {
                found.push(path);
            }
        }
    }
    let exceptions = WITHOUT_AUTHORITY.iter().flat_map(|(_, paths)| paths.iter().copied());
    report(
        "a use case takes an `&Actor` and begins with its permission check; a function that only `app` calls is \
         pub(crate)",
        &without_exceptions(found, exceptions),
    );
}

fn is_use_case(function: &ItemFn) -> bool {
    let first = function.sig.inputs.first();
    let takes_app = first.is_some_and(|parameter| names_in(|names| names.visit_fn_arg(parameter)).contains("App"));
    takes_app && function.sig.asyncness.is_some() && is_public(&function.vis)
}

fn has_authority(function: &ItemFn) -> bool {
    let names = names_in(|names| function.sig.inputs.iter().for_each(|parameter| names.visit_fn_arg(parameter)));
    AUTHORITY.iter().any(|name| names.contains(*name))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Which modules of a crate other crates can name, and which names are exported by a `pub use`.
struct Exports {
    private_modules: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Exports {
    fn of(sources: &[Source]) -> Self {
        let mut exports = Self { private_modules: BTreeSet::new(), names: BTreeSet::new() };
        for source in sources {
            for item in source.syntax().items {
                match item {
                    Item::Mod(module) if !is_public(&module.vis) => {
                        let path = [source.module(), vec![&module.ident.to_string()]].concat().join("::");
                        exports.private_modules.insert(path);
                    }
                    Item::Use(import) if is_public(&import.vis) => {
                        exports.names.append(&mut names_in(|names| names.visit_item_use(&import)));
                    }
                    _ => {}
                }
            }
        }
        exports
    }

    fn contain(&self, path: &str) -> bool {
        let is_private = |module: &String| path.starts_with(&format!("{module}::"));
        let name = path.rsplit("::").next().unwrap_or_default();
        !self.private_modules.iter().any(is_private) || self.names.contains(name)
    }
}

/// Collects all names in a part of the syntax.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_ident(&mut self, name: &'ast Ident) {
        self.0.insert(name.to_string());
        visit::visit_ident(self, name);
    }
}

fn names_in(visit: impl FnOnce(&mut Names)) -> BTreeSet<String> {
    let mut names = Names::default();
    visit(&mut names);
    names.0
}
