//! The generated documents, and the documents that describe the API, agree with the code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use holdfast_http::{ApiVersion, InstanceUrls, api, openapi, routes};
use serde_json::Value;

/// Routes that are served beside the specification. docs/api-design.md gives the reason for each.
const ADDITIONS: &[&str] = &[
    "/session",
    "/user/personal_access_tokens",
    "/groups/:/members",
    "/groups/:/access_requests",
    "/namespaces",
    "/projects/:/members",
    "/projects/:/access_requests",
    "/projects/:/share/:",
    "/deploy_keys",
    "/projects/:/deploy_keys",
    "/projects/:/keys",
    "/projects/:/import",
    "/projects/search/:",
    "/hooks/:/deliveries",
    "/hooks/:/replay",
    "/projects/:/hooks/:/deliveries",
    "/projects/:/hooks/:/replay",
    "/issues",
    "/groups/:/issues",
    "/projects/:/issues",
    "/todos",
    "/projects/:/milestones",
    "/projects/:/merge_requests",
    "/projects/:/merge_request/:",
    "/projects/:/boards/:/issues/:",
    "/projects/:/boards/:/lists/:/issues",
    "/projects/:/repository/archive.",
    "/projects/:/repository/ref_log",
    "/projects/:/builds",
    "/projects/:/repository/commits",
    "/projects/:/repository/files",
    "/projects/:/statuses/:",
    "/projects/:/runners",
    "/projects/:/variables",
    "/projects/:/triggers",
    "/projects/:/job_token_scope/allowlist",
    "/projects/:/trigger/builds",
    "/projects/:/ref/:/trigger/builds",
    "/runners",
    "/ci/lint",
];

fn repository_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read_file(path: &str) -> String {
    std::fs::read_to_string(repository_root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The beginnings of the reasons why no page names a request of the API.
const REASONS: [&str; 4] = ["Alias.", "Part of a page.", "For programs.", "Not offered yet."];

#[test]
fn requests_without_a_page_are_listed_with_their_reason() {
    let pages = holdfast_web::pages::all();
    let named: BTreeSet<&str> = pages.list().iter().filter_map(|page| page.api_call).collect();
    let routes = api::routes(ApiVersion::V3);
    let requests: Vec<_> = routes.list().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    let requests: BTreeSet<&str> = requests.iter().map(String::as_str).collect();
    let unknown: Vec<_> = named.difference(&requests).collect();
    assert!(unknown.is_empty(), "pages name these, which are no requests of the API: {unknown:#?}");
    let without_page: BTreeSet<&str> = requests.difference(&named).copied().collect();

    let text = read_file("docs/web-api.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "));
    let mut listed = BTreeSet::new();
    for (request, reason) in rows {
        assert!(REASONS.iter().any(|kind| reason.starts_with(kind)), "{request}: no reason of a known kind: {reason}");
        assert!(listed.insert(request), "{request} is listed twice");
    }
    let missing: Vec<_> = without_page.difference(&listed).collect();
    assert!(missing.is_empty(), "name these requests with `.api(…)`, or list them in docs/web-api.md: {missing:#?}");
    let outdated: Vec<_> = listed.difference(&without_page).collect();
    assert!(outdated.is_empty(), "remove these rows from docs/web-api.md: {outdated:#?}");
}

#[test]
fn the_list_of_routes_is_current() {
    let v3 = routes::to_text(api::routes(ApiVersion::V3).list());
    assert_eq!(read_file("docs/routes.txt"), v3, "run: holdfast routes >docs/routes.txt");
    let v4 = routes::to_text(api::routes(ApiVersion::V4).list());
    assert_eq!(read_file("docs/routes-v4.txt"), v4, "run: holdfast routes --api v4 >docs/routes-v4.txt");
}

/// Replaces the names of parameters, as in `GET /users/:/keys` for `GET /users/:uid/keys`.
fn without_parameter_names(row: &str) -> String {
    row.split('/').map(|part| if part.starts_with(':') { ":" } else { part }).collect::<Vec<_>>().join("/")
}

#[test]
fn every_specified_route_is_served() {
    let index = read_file("conformance/suite/rows.py");
    let is_row = |text: &&str| ["GET /", "POST /", "PUT /", "DELETE /"].iter().any(|method| text.starts_with(method));
    let rows: BTreeSet<String> = index.split('"').filter(is_row).map(without_parameter_names).collect();
    assert_eq!(rows.len(), 94);
    let served: BTreeSet<String> = api::v3::routes()
        .list()
        .iter()
        .map(|route| without_parameter_names(&format!("{} {}", route.method, route.path)))
        .collect();
    let path = |row: &str| row.split(' ').nth(1).unwrap().to_owned();
    let begins = |row: &str, prefixes: &[&str]| {
        prefixes.iter().any(|prefix| path(row).starts_with(prefix) || row.starts_with(prefix))
    };
    for row in &rows {
        assert!(served.contains(row), "{row} is not served");
    }
    let reasons = read_file("docs/api-design.md");
    for row in served.difference(&rows) {
        assert!(begins(row, ADDITIONS), "{row} is not in the specification: list it with its reason");
        let segment = path(row).split('/').rfind(|part| !part.is_empty() && *part != ":").unwrap().to_owned();
        assert!(reasons.contains(&segment), "docs/api-design.md does not mention {segment}");
    }
}

#[test]
fn the_openapi_documents_have_every_route() {
    let site = InstanceUrls::new(&"http://holdfast.test".parse().unwrap(), 22);
    for version in ApiVersion::ALL {
        let routes = api::routes(version);
        let document: Value = serde_json::from_str(openapi::render(routes.list(), version, &site).as_str()).unwrap();
        assert_eq!(document["openapi"], "3.1.0");
        for route in routes.list() {
            let path = &document["paths"][routes::brace_path_params(route.path)];
            let operation = &path[route.method.as_str().to_lowercase()];
            assert!(operation["responses"][route.status.as_str()].is_object(), "{} {}", route.method, route.path);
            assert!(!operation["summary"].as_str().unwrap().is_empty());
            // These are idempotent; generated clients need the 304 in the document.
            let idempotent = match version {
                ApiVersion::V3 => &["/star", "/subscription", "/todo"][..],
                ApiVersion::V4 => &["/star", "/unstar", "/subscribe", "/unsubscribe", "/todo"],
            };
            let may_be_unchanged = operation["responses"]["304"].is_object();
            let is_idempotent = idempotent.iter().any(|end| route.path.ends_with(end));
            assert_eq!(may_be_unchanged, is_idempotent, "{} {}", route.method, route.path);
        }
    }
}

#[test]
fn the_openapi_document_describes_parameters_of_bodies() {
    let site = InstanceUrls::new(&"http://holdfast.test".parse().unwrap(), 22);
    let document: Value =
        serde_json::from_str(openapi::render(api::routes(ApiVersion::V3).list(), ApiVersion::V3, &site).as_str())
            .unwrap();
    let operation = &document["paths"]["/projects/{id}/hooks"]["post"];
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(body["properties"]["url"]["description"], "HTTP or HTTPS URL that receives the deliveries.");
    assert_eq!(operation["parameters"][0]["description"], "Project id, or its path as NAMESPACE%2FPROJECT.");
}

fn list_markdown(directory: &Path) -> Vec<PathBuf> {
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { list_markdown(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

/// Returns the link targets of a document, except other sites, paths of a server, and anchors in the same document.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let files = targets.filter_map(|target| target.split('#').next());
    files.filter(|file| !file.is_empty() && !file.starts_with('/') && !file.contains("://") && !file.contains(' '))
}

#[test]
fn doc_links_resolve_and_every_page_is_linked() {
    let docs = repository_root().join("docs").canonicalize().unwrap();
    let documents = list_markdown(&docs);
    let readme = repository_root().join("README.md").canonicalize().unwrap();
    let mut reached = BTreeSet::new();
    for document in documents.iter().chain([&readme]) {
        let text = std::fs::read_to_string(document).unwrap();
        for link in links(&text) {
            let target = document.parent().unwrap().join(link).canonicalize();
            let target = target.unwrap_or_else(|_| panic!("{} leads to {link}", document.display()));
            if document.ends_with("SUMMARY.md") {
                reached.insert(target);
            }
        }
    }
    let missing: Vec<_> = documents.iter().filter(|it| !reached.contains(*it) && !it.ends_with("SUMMARY.md")).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

/// Returns the tests that a line names, such as `hooks.rs::a_hook_belongs_to_its_project`, as file and function.
fn named_tests(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let code = line.split('`').skip(1).step_by(2);
    code.filter_map(|code| code.split_once("::")).filter(|(file, _)| file.ends_with(".rs"))
}

/// Every row of the claim tables in the security model names a test.
#[test]
fn every_security_claim_cites_an_existing_test() {
    let text = read_file("docs/security.md");
    let mut names = BTreeSet::new();
    let mut is_claim = false;
    for line in text.lines() {
        for (file, function) in named_tests(line) {
            let path =
                if file.starts_with("crates/") { file.to_owned() } else { format!("crates/tests/tests/it/{file}") };
            assert!(read_file(&path).contains(&format!("fn {function}(")), "{path} has no test {function}: {line}");
            names.insert((file, function));
        }
        is_claim = line.starts_with('|') && (is_claim || line == "| Claim | Test |");
        let is_head = line == "| Claim | Test |" || line == "|---|---|";
        assert!(!is_claim || is_head || named_tests(line).next().is_some(), "no test shows this claim: {line}");
    }
    assert!(names.len() >= 60, "only {} tests are named", names.len());
}
