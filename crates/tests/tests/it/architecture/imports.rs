//! Imports between the top-level modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::{LAYERS, report, sources, written_paths};

/// Imports that would close a cycle, each with its reason. They are left out of the check.
const EXCEPTIONS: &[(&str, &str, &str, &str)] =
    &[("store", "migrate", "worker", "a migrated database has the tables of the worker and its tasks")];

/// The modules that each module imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_have_no_import_cycles() {
    let mut violations = Vec::new();
    for (layer, _) in LAYERS {
        let mut imports = read_imports(layer);
        for (_, module, imported, _) in EXCEPTIONS.iter().filter(|(of, ..)| of == layer) {
            let is_removed = imports.get_mut(*module).is_some_and(|all| all.remove(*imported));
            let is_needed = is_removed && has_path(&imports, imported, module);
            assert!(is_needed, "{layer}: remove the exception {module} -> {imported}, which is no longer needed");
        }
        for (module, imported) in &imports {
            let closing = imported.iter().filter(|other| has_path(&imports, other, module));
            violations.extend(closing.map(|other| format!("{layer}: {module} -> {other}")));
        }
    }
    report(
        "these imports form a cycle: move what both modules need to the lower one, or to a module of its own",
        &violations,
    );
}

/// Reads which top-level modules each top-level module of a crate imports. Tests in the modules count, too.
fn read_imports(layer: &str) -> Imports {
    let sources = sources(&format!("{layer}/src"));
    let modules: BTreeSet<&str> = sources.iter().filter_map(|source| source.module().first().copied()).collect();
    let mut imports = Imports::new();
    for source in &sources {
        let Some(module) = source.module().first().copied() else { continue };
        let imported = imports.entry(module.to_owned()).or_default();
        for path in written_paths(source.tokens()) {
            let name = path.strip_prefix("crate::").and_then(|path| path.split("::").next());
            imported.extend(name.filter(|name| *name != module && modules.contains(name)).map(str::to_owned));
        }
    }
    imports
}

/// Returns whether a module imports another one, or a module that does.
fn has_path(imports: &Imports, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(module) = pending.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            pending.extend(imports[module].iter().map(String::as_str));
        }
    }
    false
}
