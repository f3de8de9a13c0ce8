//! Imports of GitLab project exports: through version 4 of the API, and in the job.

mod generator;
mod kill;

use std::collections::{BTreeMap, BTreeSet};

use holdfast_tests::{Client, Server, TestResponse};
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tar::EntryType;

use generator::{ALICE, CAROL, Entry, Note, SMALL, STABLE, Source, SourceUser, TOPIC, TRUNK, compress, pack, pack_tar};

/// The users that an administrator maps: Alice by the username, and Carol, whose username the export does not have, by
/// the id.
const USERS: &str = "# Users of the old server.\n\nalice,ada\n103,cora\n";
/// The local usernames of the users in [`USERS`].
const MAPPED: &[(SourceUser, &str)] = &[(ALICE, "ada"), (CAROL, "cora")];

/// Returns an export with nothing in it.
pub fn smallest_export() -> Vec<u8> {
    pack(&[Entry::file("VERSION", "0.2.4"), Entry::file("tree/project.json", "{}")])
}

async fn post_export(client: &Client, fields: &[(&str, &str)], archive: &[u8]) -> TestResponse {
    let mut form = Form::new();
    for (name, value) in fields {
        form = form.text((*name).to_owned(), (*value).to_owned());
    }
    let file = Part::bytes(archive.to_vec()).file_name("export.tar.gz");
    client.send(client.request("POST", "/api/v4/projects/import").multipart(form.part("file", file))).await
}

/// Starts a server with the users that are mapped.
async fn start_with_users() -> Server {
    let server = Server::start().await;
    for (_, username) in MAPPED {
        server.user(username).await;
    }
    server
}

/// Returns all rows of a list.
async fn list(client: &Client, path: &str) -> Vec<Value> {
    const PAGE_SIZE: usize = 100;
    let separator = if path.contains('?') { '&' } else { '?' };
    let mut rows = Vec::new();
    for page in 1.. {
        let listed = client.get(&format!("{path}{separator}per_page={PAGE_SIZE}&page={page}")).await;
        assert_eq!(listed.status, 200, "{path}: {}", listed.text);
        let part = listed.body.as_array().unwrap();
        rows.extend(part.iter().cloned());
        if part.len() < PAGE_SIZE {
            break;
        }
    }
    rows
}

/// Returns the row in which a field has a value.
#[track_caller]
fn find<'a>(rows: &'a [Value], name: &str, value: &Value) -> &'a Value {
    rows.iter().find(|row| row[name] == *value).unwrap_or_else(|| panic!("no row has the {name} {value}"))
}

/// Compares the fields of a response body that are expected.
#[track_caller]
fn check_fields(body: &Value, expected: &Value, subject: &str) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&body[name], value, "{name} of {subject}");
    }
}

/// Returns the texts of a list, sorted.
fn sorted_texts(list: &Value) -> Vec<&str> {
    let mut texts: Vec<&str> = list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    texts.sort_unstable();
    texts
}

/// Returns the access levels of the members that a path lists, by username.
async fn list_levels(client: &Client, path: &str) -> BTreeMap<String, i64> {
    let members = list(client, path).await;
    let level =
        |member: &Value| (member["username"].as_str().unwrap().to_owned(), member["access_level"].as_i64().unwrap());
    members.iter().map(level).collect()
}

/// A project that was imported, as one client sees it.
struct Imported<'a> {
    server: &'a Server,
    client: &'a Client,
    source: &'a Source,
    /// The users of the source who are mapped, with their local usernames.
    mapped: &'a [(SourceUser, &'a str)],
    id: i64,
    path: String,
    /// The path of the project in the API.
    api: String,
    /// The ids of the placeholders that were found, by the id of the user in the source.
    placeholders: BTreeMap<i64, i64>,
}

impl<'a> Imported<'a> {
    /// Imports an archive as a new project. The job has not run yet.
    async fn schedule(
        server: &'a Server,
        client: &'a Client,
        source: &'a Source,
        fields: &[(&str, &str)],
        archive: &[u8],
    ) -> Self {
        let has_users = fields.iter().any(|(name, _)| *name == "users");
        let created = post_export(client, fields, archive).await;
        assert_eq!(created.status, 201, "{}", created.text);
        let expected = json!({ "import_status": "scheduled", "import_type": "gitlab_project", "import_error": null });
        check_fields(&created.body, &expected, "the response");
        let id = created.body["id"].as_i64().unwrap();
        Self {
            server,
            client,
            source,
            mapped: if has_users { MAPPED } else { &[] },
            id,
            path: created.body["path_with_namespace"].as_str().unwrap().to_owned(),
            api: format!("/api/v4/projects/{id}"),
            placeholders: BTreeMap::new(),
        }
    }

    /// Imports a source for an administrator who maps users, and runs the job.
    async fn by_administrator(server: &'a Server, source: &'a Source) -> Self {
        let fields = [("path", "engine"), ("users", USERS)];
        let imported = Self::schedule(server, &server.admin, source, &fields, &source.archive().await).await;
        server.run_jobs().await;
        imported
    }

    async fn show_import(&self) -> Value {
        let shown = self.client.get(&format!("{}/import", self.api)).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        shown.body
    }

    /// Checks that everything that an import carries equals the source.
    async fn check(&mut self) {
        let finished = json!({ "import_status": "finished", "import_type": "gitlab_project", "import_error": null });
        check_fields(&self.show_import().await, &finished, "the import");
        self.check_project().await;
        self.check_labels().await;
        self.check_milestones().await;
        self.check_issues().await;
        self.check_merge_requests().await;
        self.check_releases().await;
        self.check_placeholders().await;
    }

    /// Checks the attributes of the project, and its branches and tags.
    async fn check_project(&self) {
        let shown = self.client.get(&self.api).await;
        let expected = json!({ "description": self.source.description, "default_branch": TRUNK });
        check_fields(&shown.body, &expected, "the project");
        let url = self.server.git_url(self.client, &self.path);
        let list_refs =
            async |url: &str| self.source.tree.git(["ls-remote", "--heads", "--tags", url]).await.ok().stdout;
        assert_eq!(list_refs(&url).await, list_refs(".").await);
    }

    async fn check_labels(&self) {
        let listed = list(self.client, &format!("{}/labels", self.api)).await;
        assert_eq!(listed.len(), self.source.labels.len());
        for label in &self.source.labels {
            let expected =
                json!({ "color": label.color, "description": label.description, "priority": label.priority });
            check_fields(find(&listed, "name", &json!(label.title)), &expected, label.title);
        }
    }

    async fn check_milestones(&self) {
        let listed = list(self.client, &format!("{}/milestones", self.api)).await;
        assert_eq!(listed.len(), self.source.milestones.len());
        for milestone in &self.source.milestones {
            let expected = json!({
                "title": milestone.title,
                "description": milestone.description,
                "state": milestone.state,
                "start_date": milestone.start_date,
                "due_date": milestone.due_date,
                "created_at": milestone.created_at,
                "updated_at": milestone.updated_at,
            });
            check_fields(find(&listed, "iid", &json!(milestone.iid)), &expected, milestone.title);
        }
    }

    async fn check_issues(&mut self) {
        let source = self.source;
        let listed = list(self.client, &format!("{}/issues", self.api)).await;
        assert_eq!(listed.len(), source.issues.len());
        for issue in &source.issues {
            let subject = format!("issue {}", issue.iid);
            let body = find(&listed, "iid", &json!(issue.iid));
            let expected = json!({
                "title": issue.title,
                "description": issue.description,
                "state": issue.state,
                "confidential": issue.is_confidential,
                "due_date": issue.due_date,
                "created_at": issue.created_at,
                "updated_at": issue.updated_at,
                "user_notes_count": count_comments(&issue.notes),
            });
            check_fields(body, &expected, &subject);
            self.check_planning(body, &issue.labels, issue.milestone, &subject);
            self.check_assignee(body, issue.assignee, &subject).await;
            let times = json!({ "time_estimate": issue.time_estimate, "total_time_spent": issue.time_spent });
            check_fields(&body["time_stats"], &times, &subject);
            self.check_author(issue.author, &body["author"]).await;
            self.check_notes(&format!("{}/issues/{}/notes", self.api, issue.iid), &issue.notes).await;
        }
    }

    async fn check_merge_requests(&mut self) {
        let source = self.source;
        let listed = list(self.client, &format!("{}/merge_requests", self.api)).await;
        assert_eq!(listed.len(), source.merge_requests.iter().filter(|request| request.has_head()).count());
        for request in source.merge_requests.iter().filter(|request| request.has_head()) {
            let subject = format!("merge request {}", request.iid);
            let body = find(&listed, "iid", &json!(request.iid));
            let expected = json!({
                "title": request.title,
                "description": request.description,
                "state": request.state,
                "source_branch": request.source_branch,
                "target_branch": TRUNK,
                "source_project_id": (!request.is_from_fork).then_some(self.id),
                "target_project_id": self.id,
                "sha": request.proposal.head,
                "merge_commit_sha": request.merge_commit,
                "merged_at": request.merged_at,
                "created_at": request.created_at,
                "updated_at": request.updated_at,
                "user_notes_count": count_comments(&request.notes),
            });
            check_fields(body, &expected, &subject);
            self.check_planning(body, &request.labels, request.milestone, &subject);
            self.check_assignee(body, request.assignee, &subject).await;
            let times = json!({ "time_estimate": request.time_estimate, "total_time_spent": request.time_spent });
            check_fields(&body["time_stats"], &times, &subject);
            self.check_author(request.author, &body["author"]).await;
            let path = format!("{}/merge_requests/{}", self.api, request.iid);
            self.check_notes(&format!("{path}/notes"), &request.notes).await;
            // The commits of branches that were deleted were in the export, too.
            let commits = list(self.client, &format!("{path}/commits")).await;
            let ids: Vec<&str> = commits.iter().map(|commit| commit["id"].as_str().unwrap()).collect();
            assert_eq!(ids, request.proposal.commits, "commits of {subject}");
        }
    }

    /// Checks the labels and the milestone of an issue or a merge request.
    fn check_planning(&self, body: &Value, labels: &[usize], milestone: Option<usize>, subject: &str) {
        let mut titles: Vec<&str> = labels.iter().map(|index| self.source.labels[*index].title).collect();
        titles.sort_unstable();
        assert_eq!(sorted_texts(&body["labels"]), titles, "labels of {subject}");
        let milestone = milestone.map(|index| self.source.milestones[index].title);
        assert_eq!(body["milestone"]["title"], json!(milestone), "milestone of {subject}");
    }

    /// Checks the assignee of an issue or a merge request.
    async fn check_assignee(&mut self, body: &Value, assignee: Option<SourceUser>, subject: &str) {
        match assignee {
            Some(user) => self.check_author(user, &body["assignee"]).await,
            None => assert_eq!(body["assignee"], Value::Null, "assignee of {subject}"),
        }
    }

    async fn check_notes(&mut self, path: &str, notes: &[Note]) {
        let listed = list(self.client, &format!("{path}?sort=asc")).await;
        assert_eq!(listed.len(), notes.len(), "{path}");
        for (body, note) in listed.iter().zip(notes) {
            let expected = json!({
                "body": note.body,
                "system": note.is_system,
                "created_at": note.created_at,
                "updated_at": note.updated_at,
            });
            check_fields(body, &expected, path);
            self.check_author(note.author, &body["author"]).await;
        }
    }

    async fn check_releases(&mut self) {
        let source = self.source;
        let listed = list(self.client, &format!("{}/releases", self.api)).await;
        assert_eq!(listed.len(), source.releases.iter().filter(|release| release.has_tag).count());
        for release in source.releases.iter().filter(|release| release.has_tag) {
            let body = find(&listed, "tag_name", &json!(release.tag));
            let expected = json!({
                "name": release.name,
                "description": release.description,
                "created_at": release.created_at,
                "released_at": release.released_at,
            });
            check_fields(body, &expected, release.tag);
            let links = body["assets"]["links"].as_array().unwrap();
            assert_eq!(links.len(), release.links.len(), "links of {}", release.tag);
            for link in &release.links {
                let expected = json!({ "url": link.url, "link_type": link.link_type });
                check_fields(find(links, "name", &json!(link.name)), &expected, release.tag);
            }
            self.check_author(release.author, &body["author"]).await;
        }
    }

    /// Returns the local username of a user who is mapped.
    fn local_username(&self, user: SourceUser) -> Option<&'a str> {
        self.mapped.iter().find(|(mapped, _)| *mapped == user).map(|(_, username)| *username)
    }

    /// Checks an author or an assignee: the local user, or the one placeholder of a user who is not mapped.
    async fn check_author(&mut self, user: SourceUser, author: &Value) {
        if let Some(username) = self.local_username(user) {
            assert_eq!(author["username"], json!(username));
            return;
        }
        let id = author["id"].as_i64().unwrap();
        if let Some(known) = self.placeholders.insert(user.id, id) {
            assert_eq!(id, known, "{user:?} has one placeholder");
            return;
        }
        let shown = self.client.get(&format!("/api/v4/users/{id}")).await;
        assert_eq!((shown.status, &shown.body["bot"]), (200, &json!(true)), "{user:?}: {}", shown.text);
        match self.source.known_name(user) {
            Some(name) => assert_eq!(shown.body["name"], json!(name)),
            None => assert_ne!(shown.body["name"], json!("")),
        }
    }

    /// Checks that different users have different placeholders, and that there are no others in the project.
    async fn check_placeholders(&self) {
        let ids: BTreeSet<i64> = self.placeholders.values().copied().collect();
        assert_eq!(ids.len(), self.placeholders.len(), "{:?}", self.placeholders);
        let query = sqlx::query_scalar("select user_id from bots where project_id = $1 order by user_id");
        let stored: Vec<i64> = query.bind(self.id).fetch_all(&mut self.server.database().await).await.unwrap();
        assert_eq!(stored, ids.into_iter().collect::<Vec<_>>());
    }
}

fn count_comments(notes: &[Note]) -> usize {
    notes.iter().filter(|note| !note.is_system).count()
}

#[tokio::test]
async fn an_imported_project_equals_its_source() {
    let server = start_with_users().await;
    let source = Source::new(SMALL).await;
    let mut imported = Imported::by_administrator(&server, &source).await;
    assert_eq!(imported.path, "root/engine");
    imported.check().await;
    assert_eq!(imported.placeholders.len(), 3);

    // Of the members only Alice is mapped.
    let empty = server.project(&server.admin, "empty", 0).await;
    for list in ["members", "members/all"] {
        let mut expected = list_levels(&server.admin, &format!("/api/v4/projects/{empty}/{list}")).await;
        expected.insert("ada".into(), 40);
        assert_eq!(list_levels(&server.admin, &format!("{}/{list}", imported.api)).await, expected, "{list}");
    }
}

#[tokio::test]
async fn the_report_names_what_was_left_out() {
    let server = start_with_users().await;
    let source = Source::new(SMALL).await;
    let fields = [("path", "engine"), ("users", USERS)];
    let imported = Imported::schedule(&server, &server.admin, &source, &fields, &source.archive().await).await;
    assert_eq!(imported.show_import().await["import_status"], "scheduled");
    server.run_jobs().await;

    let report = imported.show_import().await;
    assert_eq!(report["import_status"], "finished", "{report}");
    let (fetched, stored) = (&report["stats"]["fetched"], &report["stats"]["imported"]);
    for (name, count, left_out) in [
        ("milestones", source.milestones.len(), 0),
        ("issues", source.issues.len(), 0),
        ("merge_requests", source.merge_requests.len(), 1),
        ("releases", source.releases.len(), 1),
    ] {
        assert_eq!((&fetched[name], &stored[name]), (&json!(count), &json!(count - left_out)), "{name}: {report}");
    }
    let failed = report["failed_relations"].as_array().unwrap();
    let entries_of = |name: &str| failed.iter().filter(|it| it["relation_name"] == name).collect::<Vec<_>>();
    assert!(source.relations().len() >= 26);
    for (name, lines) in generator::uncarried_relations() {
        let entries = entries_of(name);
        assert_eq!(entries.len(), 1, "{name}: {report}");
        assert_eq!(entries[0]["count"], json!(lines.len()), "{name}: {report}");
        assert_ne!(entries[0]["exception_message"].as_str().unwrap(), "", "{name}");
    }
    let lost = source.merge_requests.iter().find(|request| !request.has_head()).unwrap().iid.to_string();
    let untagged = source.releases.iter().find(|release| !release.has_tag).unwrap().tag;
    for (name, word) in [("merge_requests", lost.as_str()), ("releases", untagged)] {
        // Other entries of the relation are about parts of records, such as award emoji.
        let entries: Vec<&Value> = entries_of(name).into_iter().filter(|it| it["examples"] == json!([word])).collect();
        assert_eq!(entries.len(), 1, "{name}: {report}");
        assert_eq!(entries[0]["count"], json!(1), "{name}: {report}");
        assert_ne!(entries[0]["exception_message"].as_str().unwrap(), "", "{name}");
    }
    for name in ["labels", "milestones"] {
        assert!(entries_of(name).is_empty(), "{name}: {report}");
    }
}

#[tokio::test]
async fn new_rows_continue_the_numbers_of_the_source() {
    let server = start_with_users().await;
    let source = Source::new(SMALL).await;
    let imported = Imported::by_administrator(&server, &source).await;
    let highest_milestone = source.milestones.iter().map(|milestone| milestone.iid).max().unwrap();
    let form = [("title", "t"), ("source_branch", TOPIC), ("target_branch", STABLE)];
    for (list, form, iid) in [
        ("issues", &form[..1], source.highest_issue_iid() + 1),
        ("issues", &form[..1], source.highest_issue_iid() + 2),
        ("milestones", &form[..1], highest_milestone + 1),
        ("merge_requests", &form[..], source.highest_merge_request_iid() + 1),
    ] {
        let created = server.admin.post(&format!("{}/{list}", imported.api), form).await;
        assert_eq!((created.status, &created.body["iid"]), (201, &json!(iid)), "{list}: {}", created.text);
    }
}

#[tokio::test]
async fn users_import_into_their_own_namespaces() {
    let server = start_with_users().await;
    let (_, eve) = server.user("eve").await;
    let (_, mallory) = server.user("mallory").await;
    let source = Source::new(SMALL).await;
    // Members can have names without `./`, and be in any order.
    let mut entries = source.entries().await;
    entries.reverse();
    let archive = pack(&entries);

    let before = server.dump_database().await;
    let path = ("path", "engine");
    assert_eq!(post_export(&server.anonymous(), &[path], &archive).await.status, 401);
    for namespace in ["eve", "missing"] {
        let refused = post_export(&mallory, &[path, ("namespace", namespace)], &archive).await;
        assert!((400..500).contains(&refused.status), "{namespace}: {} {}", refused.status, refused.text);
    }
    assert_eq!(server.dump_database().await, before);

    let mut own = Imported::schedule(&server, &eve, &source, &[path], &archive).await;
    server.group(&eve, "team", 20).await;
    let fields = [path, ("namespace", "team"), ("name", "The Engine")];
    let mut shared = Imported::schedule(&server, &eve, &source, &fields, &archive).await;
    server.run_jobs().await;
    for (imported, path, name) in [(&mut own, "eve/engine", "engine"), (&mut shared, "team/engine", "The Engine")] {
        assert_eq!(imported.path, path);
        assert_eq!(eve.get(&imported.api).await.body["name"], json!(name));
        imported.check().await;
        assert_eq!(imported.placeholders.len(), 5, "no user is mapped");
        assert_eq!(
            list_levels(&eve, &format!("{}/members/all", imported.api)).await,
            BTreeMap::from([("eve".to_owned(), 50)])
        );
    }
    assert_eq!(post_export(&eve, &[path], &archive).await.status, 400, "the path is taken");
}

#[tokio::test]
async fn only_administrators_map_users() {
    let server = start_with_users().await;
    let (_, eve) = server.user("eve").await;
    let archive = Source::new(SMALL).await.archive().await;
    let before = server.dump_database().await;
    for users in [USERS, "alice,eve\n"] {
        let refused = post_export(&eve, &[("path", "engine"), ("users", users)], &archive).await;
        assert_eq!(refused.status, 403, "{}", refused.text);
    }
    // A line without a comma, and a local user who does not exist.
    for users in ["alice\n", "alice,nobody\n"] {
        let refused = post_export(&server.admin, &[("path", "engine"), ("users", users)], &archive).await;
        assert_eq!(refused.status, 400, "{users}: {}", refused.text);
    }
    assert_eq!(server.dump_database().await, before);
}

/// Returns the entries of an export without the one that has this name.
fn remove_entry(entries: &[Entry], name: &str) -> Vec<Entry> {
    let kept: Vec<Entry> = entries.iter().filter(|entry| entry.name != name).cloned().collect();
    assert_eq!(kept.len(), entries.len() - 1, "{name} was an entry");
    kept
}

/// Returns the entries of an export with another content of the file that has this name.
fn replace_file(entries: &[Entry], name: &str, content: &str) -> Vec<Entry> {
    let mut changed = remove_entry(entries, name);
    changed.push(Entry::file(name, content));
    changed
}

/// Returns the entries of an export with one more.
fn add_entry(entries: &[Entry], entry: Entry) -> Vec<Entry> {
    let mut more = entries.to_vec();
    more.push(entry);
    more
}

/// Returns damaged archives, each with its description and with a part of the message that names what is wrong.
fn damaged_archives(entries: &[Entry]) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    const ISSUES: &str = "tree/project/issues.ndjson";
    let (tar, archive) = (pack_tar(entries), pack(entries));
    // An odd length is not the end of an entry.
    let (half_of_tar, half_of_archive) = ((tar.len() / 2) | 1, archive.len() / 2);
    let mut wrong_checksum = archive.clone();
    // The last eight bytes are the checksum and the length.
    wrong_checksum[archive.len() - 8] ^= 0xff;
    let link = |entry_type, target| pack(&add_entry(entries, Entry::special("uploads/link", entry_type, target)));
    let named = |name: &str| pack(&add_entry(entries, Entry::file(name, "content")));
    let line = |content: &str| pack(&replace_file(entries, ISSUES, content));
    vec![
        ("empty", Vec::new(), ""),
        ("text", b"This is no archive".to_vec(), "gzip"),
        ("tar without gzip", tar.clone(), "gzip"),
        ("half of the gzip", archive[..half_of_archive].to_vec(), ""),
        ("half of the tar", compress(&tar[..half_of_tar]), ""),
        ("wrong checksum", wrong_checksum, ""),
        ("gzip of text", compress(b"This is no archive"), ""),
        ("no version", pack(&remove_entry(entries, "VERSION")), "VERSION"),
        ("no project", pack(&remove_entry(entries, "tree/project.json")), "tree/project.json"),
        ("project that is not JSON", pack(&replace_file(entries, "tree/project.json", "{")), "tree/project.json"),
        (
            "link to a repository",
            pack(&replace_file(entries, "project.bundle", "gitdir: ../../other")),
            "project.bundle",
        ),
        ("symbolic link", link(EntryType::Symlink, "/etc/passwd"), "uploads/link"),
        ("symbolic link inside", link(EntryType::Symlink, "../VERSION"), "uploads/link"),
        ("hard link", link(EntryType::Link, "VERSION"), "uploads/link"),
        ("pipe", link(EntryType::Fifo, ""), "uploads/link"),
        ("name above the archive", named("../outside"), "outside"),
        ("name that goes up", named("tree/../../outside"), "outside"),
        ("absolute name", named("/outside"), "outside"),
        ("line that is not JSON", line("{\"iid\":1,\"title\":\n"), "issues"),
        ("line that is no object", line("[1]\n"), "issues"),
        (
            "line that is not UTF-8",
            pack(&add_entry(&remove_entry(entries, ISSUES), Entry::file(ISSUES, vec![0xff, b'\n']))),
            "issues",
        ),
    ]
}

#[tokio::test]
async fn damaged_archives_are_rejected() {
    let server = start_with_users().await;
    let (_, eve) = server.user("eve").await;
    let entries = Source::new(SMALL).await.entries().await;
    let before = server.dump_database().await;
    for (damage, archive, word) in damaged_archives(&entries) {
        let refused = post_export(&eve, &[("path", "engine")], &archive).await;
        assert_eq!(refused.status, 400, "{damage}: {}", refused.text);
        assert!(refused.text.len() > 20 && refused.text.contains(word), "{damage}: {}", refused.text);
        assert_eq!(server.dump_database().await, before, "{damage}");
    }
    let missing = eve.post("/api/v4/projects/import", &[("path", "engine")]).await;
    assert_eq!(missing.status, 400, "{}", missing.text);
    assert_eq!(server.dump_database().await, before);
}

/// Records that the database or the rules of this server do not accept are left out or changed, and the others are
/// imported.
#[tokio::test]
async fn hostile_records_do_not_stop_the_import() {
    let server = start_with_users().await;
    let source = Source::new(SMALL).await;
    let mut entries = source.entries().await;
    let request = source.merge_requests.iter().find(|request| request.state == "opened" && request.has_head()).unwrap();
    let own =
        source.merge_requests.iter().find(|it| it.state == "opened" && it.has_head() && !it.is_from_fork).unwrap();
    for (name, record) in [
        ("labels", json!({ "title": "nul\u{0}", "color": "red" })),
        ("labels", json!({ "title": source.labels[0].title, "color": "#123456" })),
        ("milestones", json!({ "title": source.milestones[0].title, "iid": 900 })),
        (
            "issues",
            json!({
                "iid": 901,
                "title": "a\u{202e}b\u{0}\n",
                "description": "c\u{0}d",
                "author_id": -1,
                "created_at": "99999-01-01T00:00:00Z",
                "notes": [
                    { "note": "secret", "internal": true, "author_id": 101 },
                    { "note": "\u{0}" },
                    { "note": "kept\u{0}", "author_id": 101 },
                ],
            }),
        ),
        ("issues", json!({ "iid": source.issues[0].iid, "title": "taken" })),
        (
            "merge_requests",
            json!({
                "iid": 902,
                "title": "the same branches",
                "state": "opened",
                "source_branch": own.source_branch,
                "target_branch": TRUNK,
                "source_project_id": 1,
                "target_project_id": 1,
                "merge_request_diff": { "head_commit_sha": request.proposal.head },
            }),
        ),
        ("releases", json!({ "tag": "nul\u{0}" })),
    ] {
        let entry = entries.iter_mut().find(|it| it.name == format!("tree/project/{name}.ndjson")).unwrap();
        entry.content.extend(format!("{record}\n").into_bytes());
    }
    let fields = [("path", "engine"), ("users", USERS)];
    let imported = Imported::schedule(&server, &server.admin, &source, &fields, &pack(&entries)).await;
    server.run_jobs().await;
    let report = imported.show_import().await;
    assert_eq!((&report["import_status"], &report["import_error"]), (&json!("finished"), &Value::Null), "{report}");
    let shown = server.admin.get(&format!("{}/issues/901", imported.api)).await;
    let expected = json!({ "title": "a b", "description": "cd", "created_at": holdfast_tests::START_TIME });
    check_fields(&shown.body, &expected, "the issue");
    assert_eq!(shown.body["author"]["username"], json!("ghost"));
    let notes = list(&server.admin, &format!("{}/issues/901/notes", imported.api)).await;
    assert_eq!(notes.iter().map(|note| &note["body"]).collect::<Vec<_>>(), [&json!("kept")]);
    let request = server.admin.get(&format!("{}/merge_requests/902", imported.api)).await;
    assert_eq!(request.status, 404, "{}", request.text);
    let reasons: Vec<&str> = report["failed_relations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["exception_message"].as_str().unwrap())
        .collect();
    for reason in ["internal notes", "an open one of the same branches", "the title of the label", "with this title"] {
        assert!(reasons.iter().any(|it| it.contains(reason)), "{reason}: {reasons:?}");
    }
}

/// A line with few bytes for each part takes no more memory than others.
#[tokio::test]
async fn records_with_too_many_parts_are_rejected() {
    let server = start_with_users().await;
    let entries = Source::new(SMALL).await.entries().await;
    let notes = format!("{{\"iid\":1,\"title\":\"t\",\"notes\":[{}{{}}]}}\n", "{},".repeat(10_000));
    let archive = pack(&replace_file(&entries, "tree/project/issues.ndjson", &notes));
    let refused = post_export(&server.admin, &[("path", "engine")], &archive).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert!(refused.text.contains("more than 10000 items"), "{}", refused.text);
}

/// A worker may run a job again that another one has finished, if that one died before it deleted the job.
#[tokio::test]
async fn a_repeated_import_job_changes_nothing() {
    let server = start_with_users().await;
    let source = Source::new(SMALL).await;
    let fields = [("path", "engine"), ("users", USERS)];
    let mut imported = Imported::schedule(&server, &server.admin, &source, &fields, &source.archive().await).await;
    let mut database = server.database().await;
    let query = "select t.identifier, j.payload::text from graphile_worker._private_jobs j \
                 join graphile_worker._private_tasks t on t.id = j.task_id order by j.id";
    let jobs: Vec<(String, String)> = sqlx::query_as(query).fetch_all(&mut database).await.unwrap();
    assert!(!jobs.is_empty());
    server.run_jobs().await;
    // The import may have enqueued other jobs.
    server.run_jobs().await;
    imported.check().await;

    let before = server.dump_database().await;
    for (task, payload) in jobs {
        let repeat = sqlx::query("select graphile_worker.add_job($1, $2::json)").bind(task).bind(payload);
        repeat.execute(&mut database).await.unwrap();
    }
    server.run_jobs().await;
    assert_eq!(server.dump_database().await, before);
    let errors: Vec<Option<String>> =
        sqlx::query_scalar("select last_error from graphile_worker.jobs").fetch_all(&mut database).await.unwrap();
    assert_eq!(errors, []);
    imported.check().await;
}

/// The database fails several times during an import, each time at another statement. The next attempts continue it.
#[tokio::test]
async fn an_interrupted_import_is_completed_by_the_next_attempts() {
    /// More attempts than there are interruptions.
    const MAX_ATTEMPTS: usize = 15;
    let server = start_with_users().await;
    let source = Source::new(SMALL).await;
    let fields = [("path", "engine"), ("users", USERS)];
    let mut imported = Imported::schedule(&server, &server.admin, &source, &fields, &source.archive().await).await;
    let mut database = server.database().await;
    // The numbers of a sequence are not rolled back, so that each of them interrupts one attempt.
    sqlx::raw_sql(
        "create schema interruption;
         create sequence interruption.statements;
         create function interruption.interrupt() returns trigger language plpgsql as $function$
         begin
           if nextval('interruption.statements') in (1, 2, 3, 5, 8, 13, 21, 34, 55) then
             raise exception 'interrupted' using errcode = '57P01';
           end if;
           return null;
         end $function$;
         do $block$
         declare
           target text;
         begin
           foreach target in array array['labels', 'milestones', 'issues', 'notes', 'merge_requests',
             'merge_request_versions', 'releases', 'release_links', 'project_members', 'users']
           loop
             execute format('create trigger interrupt after insert on %I for each statement
               execute function interruption.interrupt()', target);
           end loop;
         end $block$",
    )
    .execute(&mut database)
    .await
    .unwrap();
    let mut attempts = 0;
    loop {
        server.run_jobs().await;
        attempts += 1;
        let status = imported.show_import().await["import_status"].clone();
        if status == "finished" {
            break;
        }
        assert!(status == "started" || status == "scheduled", "{status} after {attempts} attempts");
        assert!(attempts < MAX_ATTEMPTS, "{status}");
        // The next attempt would be made after a pause.
        let skip_pause = sqlx::query("update graphile_worker._private_jobs set run_at = now() where run_at > now()");
        skip_pause.execute(&mut database).await.unwrap();
    }
    assert!(attempts > 3, "the import was interrupted {} times", attempts - 1);
    imported.check().await;
}
