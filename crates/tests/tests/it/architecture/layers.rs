//! The layers: which crate may depend on which, and what only some of them may use.

use super::{LAYERS, crates_directory, report, sources, written_paths};

#[test]
fn crates_depend_only_on_lower_layers() {
    let mut violations = Vec::new();
    for (layer, allowed) in LAYERS {
        let manifest = std::fs::read_to_string(crates_directory().join(layer).join("Cargo.toml")).unwrap();
        let names = manifest.lines().filter_map(|line| line.strip_prefix("holdfast-")?.split(['.', ' ']).next());
        let forbidden = names.filter(|name| !allowed.contains(name));
        violations.extend(forbidden.map(|name| format!("{layer} depends on {name}")));
    }
    report("a crate depends only on lower layers: move the code, or see docs/ARCHITECTURE.md", &violations);
}

#[test]
fn every_crate_has_a_layer() {
    let entries = std::fs::read_dir(crates_directory()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let unknown: Vec<String> =
        names.filter(|name| name != "tests" && !LAYERS.iter().any(|(layer, _)| layer == name)).collect();
    report("add the crate and its dependencies to LAYERS and to docs/ARCHITECTURE.md", &unknown);
}

/// Something that only some layers may use. `used` says whether a path in the code uses it.
struct Reserved {
    used: fn(&str) -> bool,
    layers: &'static [&'static str],
    /// Directories or files of other layers that may use it, each for a reason that is given here.
    except: &'static [&'static str],
    advice: &'static str,
}

const RESERVED: &[Reserved] = &[
    Reserved {
        used: |path| path.starts_with("sqlx::"),
        layers: &["store"],
        except: &[],
        advice: "SQL is in store alone: add a function there",
    },
    Reserved {
        used: |path| path.starts_with("object_store::"),
        layers: &["store"],
        except: &[],
        advice: "the object store is used by store alone: use `Objects`",
    },
    Reserved {
        used: |path| path.split("::").any(|name| name == "AssertSqlSafe"),
        layers: &[],
        except: &[],
        advice: "SQL is a literal, or built with push_bind",
    },
    Reserved {
        used: |path| path.split("::").any(|name| name == "StatusCode"),
        // The runner receives status codes from the server.
        layers: &["http-core", "http", "web", "runner"],
        except: &[],
        advice: "status codes are chosen in http and web alone: return an error that they convert",
    },
    Reserved {
        used: |path| path.starts_with("askama::"),
        layers: &["web"],
        except: &[],
        advice: "HTML is written in web alone",
    },
    Reserved {
        used: |path| path.split("::").any(|name| name == "browser_session"),
        layers: &["web", "app", "store", "domain"],
        except: &[],
        advice: "a browser session is no token: only pages accept it",
    },
    Reserved {
        used: |path| path.contains("access::authorize_"),
        layers: &["app"],
        except: &[],
        advice: "permission is checked in app alone: call a use case",
    },
    Reserved {
        used: |path| path.ends_with("database.begin"),
        layers: &["app"],
        except: &[],
        advice: "transactions are opened in app alone: call a use case",
    },
    Reserved {
        used: |path| {
            let names: Vec<&str> = path.split("::").collect();
            // The commands of `holdfast_git` are those that it starts itself.
            names[0] != "holdfast_git"
                && names.windows(2).any(|pair| matches!(pair, ["process", "Command"] | ["Command", "new"]))
        },
        // The stress test starts git clients and nodes.
        layers: &["git", "runner", "stress"],
        // Only the programs of PostgreSQL can copy a database.
        except: &["server/src/command/backup/postgres.rs"],
        advice: "programs are started in git, runner and stress alone: see ADR 0015",
    },
];

#[test]
fn crates_respect_layer_boundaries() {
    for (layer, _) in LAYERS {
        for source in sources(&format!("{layer}/src")) {
            let paths = written_paths(source.tokens());
            for rule in RESERVED {
                let is_allowed =
                    rule.layers.contains(layer) || rule.except.iter().any(|path| source.path.starts_with(path));
                let found = paths.iter().filter(|path| !is_allowed && (rule.used)(path));
                let violations: Vec<_> = found.map(|path| format!("{}: {path}", source.path)).collect();
                report(rule.advice, &violations);
            }
        }
    }
}

#[test]
fn presenters_are_not_async() {
    let mut violations = Vec::new();
    for source in sources("http/src/present").into_iter().chain(sources("web/src/views")) {
        let mut paths = written_paths(source.tokens()).into_iter();
        if paths.any(|path| path == "async" || path.ends_with(".await")) {
            violations.push(source.path);
        }
    }
    report("a presenter or view converts loaded values: load them in the use case", &violations);
}
