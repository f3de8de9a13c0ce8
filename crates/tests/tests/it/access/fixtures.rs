//! The users of the access table and the objects that they request.

use std::sync::Arc;

use holdfast_app::App;
use holdfast_app::accounts::user::UserChanges;
use holdfast_domain::AccessLevel;
use holdfast_tests::{Client, Server, TestResponse, user_attributes};
use reqwest::RequestBuilder;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use super::table::{Entry, ROLES};
use crate::gitlab_export;

pub struct AccessFixture {
    clients: Vec<(&'static str, Client)>,
    ids: Vec<(&'static str, i64)>,
    pub database: sqlx::PgConnection,
    app: Arc<App>,
}

impl AccessFixture {
    pub async fn new(server: &Server) -> Self {
        let mut clients = vec![("anonymous", server.anonymous())];
        let mut members = Vec::new();
        for role in &ROLES[1..9] {
            let changes = UserChanges { external: Some(*role == "external"), ..user_attributes(role) };
            let (id, client) = server.user_with(changes).await;
            if let Some(level) = AccessLevel::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(role)) {
                members.push((id.get(), level.as_i16()));
            }
            clients.push((role, client));
        }
        clients.push(("administrator", server.admin.clone()));
        let mut database = server.database().await;
        sqlx::raw_sql("update users set state = 'blocked' where username = 'blocked'")
            .execute(&mut database)
            .await
            .unwrap();
        let (user, target) = server.user("target").await;
        let (member, _) = server.user("member").await;
        let (requester_id, requester) = server.user("requester").await;
        let key =
            target.post("/user/keys", &[("title", "t"), ("key", crate::ssh_keys::ED25519)]).await.body["id"].clone();
        let token = [("name", "n"), ("scopes[]", "api")];
        let impersonation = server.admin.post(&format!("/api/v4/users/{user}/impersonation_tokens"), &token).await;
        assert_eq!(impersonation.status, 201, "{}", impersonation.text);
        let email = target.post("/user/emails", &[("email", "target2@example.com")]).await.body["id"].clone();
        let mut ids = vec![
            ("{user}", user.get()),
            ("{member}", member.get()),
            ("{requester}", requester_id.get()),
            ("{loose}", server.project(&target, "loose", 0).await),
            ("{key}", key.as_i64().unwrap()),
            ("{email}", email.as_i64().unwrap()),
            ("{impersonation}", impersonation.body["id"].as_i64().unwrap()),
        ];
        for (placeholder, project_placeholder, planned, built, requested, path, level) in [
            (
                "{private}",
                "{private_project}",
                &PRIVATE_PLANNING,
                super::build_fixtures::PRIVATE_IDS,
                ["{private_request}", "{private_version}", "{private_request_note}", "{private_discussion}"],
                "private",
                0,
            ),
            ("{internal}", "{internal_project}", &INTERNAL_PLANNING, ["{}"; 4], ["{}"; 4], "internal", 10),
            (
                "{public}",
                "{public_project}",
                &PUBLIC_PLANNING,
                super::build_fixtures::PUBLIC_IDS,
                ["{public_request}", "{public_version}", "{public_request_note}", "{public_discussion}"],
                "public-group",
                20,
            ),
        ] {
            let group = server.group(&server.admin, path, level).await;
            let project = server.project_in(&server.admin, "p", level, Some(group)).await;
            ids.push((placeholder, group));
            ids.push((project_placeholder, project));
            server.push_first(&server.admin, &format!("{path}/p")).await;
            ids.extend(
                built.iter().copied().zip(
                    super::build_fixtures::create_builds(server, &mut database, &format!("{path}/p"), project).await,
                ),
            );
            ids.extend(planned.iter().copied().zip(create_planning(&server.admin, project).await));
            let branch = [("branch_name", "topic"), ("ref", "main")];
            let made = server.admin.post(&format!("/projects/{project}/repository/branches"), &branch).await;
            assert_eq!(made.status, 200, "{}", made.text);
            ids.extend(requested.iter().copied().zip(create_merge_request(&server.admin, project).await));
            let wait = "update merge_requests mr set waiting_head = v.head, waiting_user_id = 1
                from merge_request_versions v where v.merge_request_id = mr.id and mr.project_id = $1";
            sqlx::query(wait).bind(project).execute(&mut database).await.unwrap();
            for (tag, notes) in [("plain", ""), ("noted", "Notes")] {
                let tag = [("tag_name", tag), ("ref", "main"), ("release_description", notes)];
                let made = server.admin.post(&format!("/projects/{project}/repository/tags"), &tag).await;
                assert_eq!(made.status, 201, "{}", made.text);
            }
            let rule = [("name", "guarded-*"), ("create_access_level", "30")];
            let made = server.admin.post(&format!("/api/v4/projects/{project}/protected_tags"), &rule).await;
            assert_eq!(made.status, 201, "{}", made.text);
            let token = [("name", "n"), ("scopes[]", "api")];
            for (parent, placeholders) in [
                (
                    format!("projects/{project}"),
                    ["{private_project_token}", "{internal_project_token}", "{public_project_token}"],
                ),
                (
                    format!("groups/{group}"),
                    ["{private_group_token}", "{internal_group_token}", "{public_group_token}"],
                ),
            ] {
                let made = server.admin.post(&format!("/api/v4/{parent}/access_tokens"), &token).await;
                assert_eq!(made.status, 201, "{}", made.text);
                ids.push((placeholders[usize::from(level as u8 / 10)], made.body["id"].as_i64().unwrap()));
            }
            let link = [("name", "first"), ("url", "https://a.example/first")];
            let links = format!("/api/v4/projects/{project}/releases/noted/assets/links");
            let made = server.admin.post(&links, &link).await;
            assert_eq!(made.status, 201, "{}", made.text);
            ids.push((["{private_link}", "{internal_link}", "{public_link}"][usize::from(level as u8 / 10)], {
                made.body["id"].as_i64().unwrap()
            }));
            let import = format!(
                "insert into imports (project_id, job_id, url, phase, requested_at)
                 values ({project}, 0, 'https://elsewhere.example/p.git', 'waiting', now())"
            );
            sqlx::QueryBuilder::<sqlx::Postgres>::new(import).build().execute(&mut database).await.unwrap();
            let settings = [("request_access_enabled", "true")];
            server.admin.put(&format!("/groups/{group}"), &settings).await;
            server.admin.put(&format!("/projects/{project}"), &settings).await;
            if level > 0 {
                requester.post(&format!("/groups/{group}/access_requests"), &[]).await;
                requester.post(&format!("/projects/{project}/access_requests"), &[]).await;
            }
            let form = [("user_id", member.get().to_string()), ("access_level", "10".into())];
            let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
            server.admin.post(&format!("/projects/{project}/members"), &form).await;
            for (user, level) in members.iter().chain([&(member.get(), 10)]) {
                sqlx::query("insert into group_members (group_id, user_id, access_level, created_at) values ($1, $2, $3, now())")
                    .bind(group)
                    .bind(user)
                    .bind(level)
                    .execute(&mut database)
                    .await
                    .unwrap();
            }
        }
        for (project, targets) in [("{private_project}", PRIVATE_AWARDS), ("{public_project}", PUBLIC_AWARDS)] {
            for (path, placeholder) in targets {
                let path = format!("/projects/{project}{path}/award_emoji");
                let path = ids.iter().fold(path, |path, (name, id)| path.replace(name, &id.to_string()));
                let given = server.admin.post(&path, &[("name", "rocket")]).await;
                assert_eq!(given.status, 201, "{}", given.text);
                ids.push((placeholder, given.body["id"].as_i64().unwrap()));
            }
        }
        for (project, placeholder, key) in [
            ("{private_project}", "{private_deploy_key}", crate::deploy_keys::DEPLOY_KEY),
            ("{public_project}", "{public_deploy_key}", crate::deploy_keys::OTHER_DEPLOY_KEY),
        ] {
            let path = format!("/projects/{project}/deploy_keys");
            let path = ids.iter().fold(path, |path, (name, id)| path.replace(name, &id.to_string()));
            let added = server.admin.post(&path, &[("title", "t"), ("key", key)]).await;
            assert_eq!(added.status, 201, "{}", added.text);
            ids.push((placeholder, added.body["id"].as_i64().unwrap()));
        }
        let find = |name: &str| ids.iter().find(|(placeholder, _)| *placeholder == name).unwrap().1;
        let (project, internal) = (find("{private_project}"), find("{internal}"));
        for placeholder in ["{private_project}", "{public_project}"] {
            sqlx::query("insert into job_token_allowlist (target_id, source_id, created_at) values ($1, $2, now())")
                .bind(find(placeholder))
                .bind(find("{loose}"))
                .execute(&mut database)
                .await
                .unwrap();
        }
        let mut moves = Vec::new();
        for (placeholder, project) in [("{private_move}", project), ("{public_move}", find("{public_project}"))] {
            let api = format!("/projects/{project}/repository");
            server.admin.post(&format!("{api}/branches"), &[("branch_name", "gone"), ("ref", "main")]).await;
            server.admin.delete(&format!("{api}/branches/gone")).await;
            let log = server.admin.get(&format!("{api}/ref_log?ref_name=gone")).await;
            moves.push((placeholder, log.body[0]["generation"].as_i64().unwrap()));
        }
        ids.extend(moves);
        let share = [("group_id", &*internal.to_string()), ("group_access", "10")];
        assert_eq!(server.admin.post(&format!("/projects/{project}/share"), &share).await.status, 201);
        let hook = server.admin.post(&format!("/projects/{project}/hooks"), &[("url", "http://a.example")]).await;
        ids.push(("{hook}", hook.body["id"].as_i64().unwrap()));
        let hook = server.admin.post("/hooks", &[("url", "http://a.example")]).await;
        let system_hook = hook.body[0]["id"].as_i64().unwrap();
        ids.push(("{system_hook}", system_hook));
        // Each hook gets a delivery.
        server.admin.get(&format!("/hooks/{system_hook}")).await;
        server
            .admin
            .post(&format!("/projects/{project}/repository/branches"), &[("branch_name", "described"), ("ref", "main")])
            .await;
        holdfast_app::hooks::dispatch::run_once(&server.app).await.unwrap();
        sqlx::raw_sql(KEEP_TABLES).execute(&mut database).await.unwrap();
        Self { clients, ids, database, app: server.app.clone() }
    }

    /// Restores every table to its contents when the fixture was created.
    pub async fn restore(&mut self) {
        sqlx::raw_sql("call kept.restore()").execute(&mut self.database).await.unwrap();
        self.app.git_runtime.invalidate_caches().await;
    }

    /// Returns whether a statement has written to a table since the last call of [`Self::restore`]. It may have changed
    /// no row.
    pub async fn is_written(&mut self) -> bool {
        let query = sqlx::query_scalar("select exists (select from kept.written)");
        query.fetch_one(&mut self.database).await.unwrap()
    }

    pub fn client(&self, role: &str) -> &Client {
        &self.clients.iter().find(|(name, _)| *name == role).unwrap().1
    }

    pub fn add_ids(&mut self, ids: &[(&'static str, i64)]) {
        self.ids.extend_from_slice(ids);
    }

    /// Replaces placeholders by ids.
    pub fn substitute(&self, text: &str, role: &str) -> String {
        let text = text.replace("{role}", if role == "administrator" { "root" } else { role });
        self.ids.iter().fold(text, |text, (placeholder, id)| text.replace(placeholder, &id.to_string()))
    }

    pub async fn send_status(&self, entry: &Entry, role: &str) -> u16 {
        self.send(entry, role).await.status
    }

    pub async fn send(&self, entry: &Entry, role: &str) -> TestResponse {
        self.send_with(entry, role, &[]).await
    }

    /// Like [`Self::send`], with additional attributes in the form and in the query.
    pub async fn send_with(&self, entry: &Entry, role: &str, extra: &[(&str, &str)]) -> TestResponse {
        let client = self.client(role);
        let fill = |text: &str| self.substitute(text, role);
        let method = entry.route.split(' ').next().unwrap();
        let mut form: Vec<(&str, String)> = entry.form.iter().map(|(name, value)| (*name, fill(value))).collect();
        form.extend(extra.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let request = client.request(method, &fill(entry.path)).query(extra);
        client.send(with_form(request, entry.path, form)).await
    }
}

/// Adds a form to a request, and the file that some routes need.
pub fn with_form(request: RequestBuilder, path: &str, form: Vec<(&str, String)>) -> RequestBuilder {
    let file = match path {
        path if path.ends_with("/uploads") => b"text".to_vec(),
        path if path.ends_with("/projects/import") => gitlab_export::smallest_export(),
        _ => return request.form(&form),
    };
    let parts = Form::new().part("file", Part::bytes(file).file_name("a.txt"));
    request.multipart(form.into_iter().fold(parts, |parts, (name, value)| parts.text(name.to_owned(), value)))
}

/// Copies every table into the schema `kept`. Triggers record which tables are written to, so that only those are
/// restored. Restoring uses DELETE, since TRUNCATE is slower for few rows; the setting disables foreign keys and the
/// triggers meanwhile.
const KEEP_TABLES: &str = "
create schema kept;
create table kept.written (table_name text not null);
create function kept.record_written() returns trigger language plpgsql as $$
begin
    insert into kept.written values (tg_table_name);
    return null;
end $$;
create procedure kept.restore() language plpgsql as $$
declare
    written text;
    columns text;
begin
    perform set_config('session_replication_role', 'replica', true);
    for written in with gone as (delete from kept.written returning table_name) select distinct table_name from gone loop
        select string_agg(quote_ident(column_name), ', ') into columns from information_schema.columns
            where table_schema = 'public' and table_name = written and is_generated = 'NEVER';
        execute format('delete from public.%I', written);
        execute format('insert into public.%1$I (%2$s) select %2$s from kept.%1$I', written, columns);
    end loop;
end $$;
do $$
declare
    name text;
begin
    for name in select relname from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
            and relname <> '_sqlx_migrations'
    loop
        execute format('create table kept.%1$I as table public.%1$I', name);
        execute format('create trigger record_written after insert or update or delete or truncate on public.%I '
            'for each statement execute function kept.record_written()', name);
    end loop;
end $$;
";

const PRIVATE_PLANNING: [&str; 6] = [
    "{private_label}",
    "{private_list}",
    "{private_issue}",
    "{private_secret}",
    "{private_note}",
    "{private_milestone}",
];
const INTERNAL_PLANNING: [&str; 6] = ["{}"; 6];
const PUBLIC_PLANNING: [&str; 6] =
    ["{public_label}", "{public_list}", "{public_issue}", "{public_secret}", "{public_note}", "{public_milestone}"];

/// Creates a label without a list, a list, an issue, a confidential issue, a note and a milestone, and returns their
/// ids.
async fn create_planning(admin: &Client, project: i64) -> [i64; 6] {
    let post = async |path: &str, form: &[(&str, &str)]| {
        let made = admin.post(&format!("/projects/{project}{path}"), form).await;
        assert!(matches!(made.status, 200 | 201), "{}", made.text);
        made.body["id"].as_i64().unwrap()
    };
    let unlisted = post("/labels", &[("name", "unlisted"), ("color", "#123456")]).await;
    let mut list = 0;
    for name in ["feature", "bug"] {
        let label = post("/labels", &[("name", name), ("color", "#123456")]).await;
        list = post(&format!("/boards/{project}/lists"), &[("label_id", &label.to_string())]).await;
    }
    let issue = post("/issues", &[("title", "t"), ("labels", "bug")]).await;
    let secret = post("/issues", &[("title", "t"), ("confidential", "true")]).await;
    let note = post(&format!("/issues/{issue}/notes"), &[("body", "b")]).await;
    [unlisted, list, issue, secret, note, post("/milestones", &[("title", "m")]).await]
}

/// The targets that have an emoji, with the placeholder of its id.
const PRIVATE_AWARDS: [(&str, &str); 4] = [
    ("/issues/{private_issue}", "{private_issue_award}"),
    ("/issues/{private_issue}/notes/{private_note}", "{private_note_award}"),
    ("/merge_requests/{private_request}", "{private_request_award}"),
    ("/merge_requests/{private_request}/notes/{private_request_note}", "{private_request_note_award}"),
];
const PUBLIC_AWARDS: [(&str, &str); 4] = [
    ("/issues/{public_issue}", "{public_issue_award}"),
    ("/issues/{public_issue}/notes/{public_note}", "{public_note_award}"),
    ("/merge_requests/{public_request}", "{public_request_award}"),
    ("/merge_requests/{public_request}/notes/{public_request_note}", "{public_request_note_award}"),
];

/// Creates a merge request of the branch `proposed` into `main`, and returns the ids of the request, its version, a note on
/// it and a discussion.
async fn create_merge_request(admin: &Client, project: i64) -> [i64; 4] {
    let api = format!("/projects/{project}");
    let branch = [("branch_name", "proposed"), ("ref", "main")];
    assert_eq!(admin.post(&format!("{api}/repository/branches"), &branch).await.status, 200);
    let file =
        [("file_path", "proposed"), ("branch_name", "proposed"), ("content", "x"), ("commit_message", "Proposed")];
    assert_eq!(admin.post(&format!("{api}/repository/files"), &file).await.status, 201);
    let form = [("title", "t"), ("source_branch", "proposed"), ("target_branch", "main")];
    let request = admin.post(&format!("{api}/merge_requests"), &form).await;
    assert_eq!(request.status, 201, "{}", request.text);
    let request = request.body["id"].as_i64().unwrap();
    let versions = admin.get(&format!("{api}/merge_requests/{request}/versions")).await;
    let note = admin.post(&format!("{api}/merge_requests/{request}/notes"), &[("body", "b")]).await;
    let discussion = admin.post(&format!("{api}/merge_requests/{request}/discussions"), &[("body", "b")]).await;
    let id = |body: &Value| body["id"].as_i64().unwrap();
    [request, id(&versions.body[0]), id(&note.body), id(&discussion.body)]
}
