//! Parameters of functions.

use syn::visit::{self, Visit};
use syn::{FnArg, Signature, Type};

use super::{report, shipped_sources, without_exceptions};

/// Functions with several booleans, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("app/src/repository/refs/branch.rs: protect", "the API has both, and each stands for itself"),
    ("store/src/projects/list.rs: push_accessible", "private: a part of a statement for each"),
    ("store/src/projects/list.rs: push_for_group", "private: a part of a statement for each"),
];

#[test]
fn functions_take_at_most_one_boolean() {
    let mut found = Vec::new();
    for source in shipped_sources() {
        let mut collector = BooleanCollector { found: Vec::new() };
        collector.visit_file(&source.syntax());
        found.extend(collector.found.iter().map(|name| format!("{}: {name}", source.path)));
    }
    let violations = without_exceptions(found, EXCEPTIONS.iter().map(|(function, _)| *function));
    report("two booleans are mixed up at the call: use an enum or a struct", &violations);
}

/// Collects the names of functions with more than one boolean.
struct BooleanCollector {
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for BooleanCollector {
    fn visit_signature(&mut self, signature: &'ast Signature) {
        if signature.inputs.iter().filter(|parameter| is_boolean(parameter)).count() > 1 {
            self.found.push(signature.ident.to_string());
        }
        visit::visit_signature(self, signature);
    }
}

fn is_boolean(parameter: &FnArg) -> bool {
    let FnArg::Typed(parameter) = parameter else { return false };
    matches!(&*parameter.ty, Type::Path(kind) if kind.path.is_ident("bool"))
}
