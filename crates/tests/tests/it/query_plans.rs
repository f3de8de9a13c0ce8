//! Checks the query plan of every list. Sequential scans are disabled in the planner, so one that remains has no usable
//! index and would read the whole table at a million rows.

use std::collections::BTreeSet;

use holdfast_app::hooks::dispatch::run_once;
use holdfast_http::{ApiVersion, api};
use holdfast_tests::{Client, Server};
use serde_json::Value;

use crate::v4::lists::LISTS;

/// Each list with its filters and orders. `{group}` is a group of the current user.
const LIST_ROUTES: &[(&str, &[&str])] = &[
    (
        "/users",
        &[
            "",
            "page=50",
            "username=ada",
            "search=ada",
            "active=true",
            "blocked=true",
            "external=true",
            "search=ada&active=true",
        ],
    ),
    ("/user/keys", &[""]),
    ("/users/:uid/keys", &[""]),
    ("/user/emails", &[""]),
    ("/users/:uid/emails", &[""]),
    ("/user/personal_access_tokens", &[""]),
    (
        "/groups",
        &[
            "",
            "sort=desc",
            "order_by=path",
            "order_by=path&sort=desc",
            "search=team",
            "skip_groups=1,2",
            "page=50",
            "all_available=true",
            "all_available=true&order_by=path&sort=desc",
            "all_available=true&skip_groups=1,2",
            "all_available=true&sort=desc",
            "all_available=true&order_by=path",
            "all_available=true&search=team",
            "all_available=true&page=50",
        ],
    ),
    ("/groups/owned", &[""]),
    ("/groups/:id/projects", PROJECT_FILTERS),
    ("/groups/:id/access_requests", &[""]),
    ("/groups/:id/members", &["", "query=ada"]),
    ("/namespaces", &["", "search=team"]),
    ("/projects", PROJECT_FILTERS),
    ("/projects/visible", PROJECT_FILTERS),
    ("/projects/owned", PROJECT_FILTERS),
    ("/projects/starred", PROJECT_FILTERS),
    ("/projects/all", PROJECT_FILTERS),
    ("/projects/search/:query", &[""]),
    ("/projects/:id/members", &["", "query=ada"]),
    ("/projects/:id/access_requests", &[""]),
    ("/projects/:id/deploy_keys", &["", "page=50"]),
    ("/projects/:id/keys", &["", "page=50"]),
    ("/deploy_keys", &["", "page=50"]),
    ("/projects/:id/hooks", &[""]),
    ("/projects/:id/hooks/:hook_id/deliveries", &["", "page=50"]),
    ("/hooks", &[""]),
    ("/hooks/:id/deliveries", &["", "page=50"]),
    ("/projects/:id/labels", &["", "page=3"]),
    ("/projects/:id/boards", &[""]),
    ("/projects/:id/boards/:board_id/lists", &["", "page=3"]),
    ("/projects/:id/boards/:board_id/lists/:list_id/issues", &["", "page=3"]),
    ("/projects/:id/issues", ISSUE_FILTERS),
    ("/projects/:id/issues", &["iid=7"]),
    ("/groups/:id/issues", ISSUE_FILTERS),
    ("/issues", ISSUE_FILTERS),
    ("/projects/:id/issues/:issue_id/notes", &["", "page=3"]),
    ("/projects/:id/milestones", &["", "state=closed", "iid=3"]),
    ("/projects/:id/milestones/:milestone_id/issues", &["", "page=3"]),
    (
        "/projects/:id/merge_requests",
        &["", "page=50", "state=opened", "state=merged&order_by=updated_at&sort=asc", "iid=7", "iid[]=7&iid[]=8"],
    ),
    ("/projects/:id/milestones/:milestone_id/merge_requests", &["", "page=3"]),
    ("/projects/:id/merge_requests/:merge_request_id/notes", &["", "page=3"]),
    ("/projects/:id/merge_requests/:merge_request_id/comments", &["", "page=3"]),
    ("/projects/:id/merge_requests/:merge_request_id/closes_issues", &["", "page=3"]),
    ("/projects/:id/merge_requests/:merge_request_id/discussions", &["", "page=3"]),
    ("/projects/:id/merge_request/:merge_request_id/notes", &["", "page=3"]),
    ("/projects/:id/merge_request/:merge_request_id/comments", &["", "page=3"]),
    ("/projects/:id/merge_request/:merge_request_id/closes_issues", &["", "page=3"]),
    ("/projects/:id/issues/:issue_id/award_emoji", &["", "page=3"]),
    ("/projects/:id/issues/:issue_id/notes/:note_id/award_emoji", &["", "page=3"]),
    ("/projects/:id/merge_requests/:merge_request_id/award_emoji", &["", "page=3"]),
    ("/projects/:id/merge_requests/:merge_request_id/notes/:note_id/award_emoji", &["", "page=3"]),
    (
        "/todos",
        &[
            "",
            "page=50",
            "state=done",
            "action=mentioned",
            "author_id=3",
            "project_id=1",
            "type=Issue",
            "type=MergeRequest",
        ],
    ),
    ("/projects/:id/events", &["", "page=50"]),
    ("/users/:id/events", &["", "page=50"]),
    ("/projects/:id/repository/branches", &["", "page=3"]),
    ("/projects/:id/repository/tags", &["", "page=3"]),
    ("/projects/:id/repository/tree", &["", "recursive=true"]),
    ("/projects/:id/repository/contributors", &["", "page=3"]),
    ("/projects/:id/repository/ref_log", &["", "page=50", "ref_name=main", "ref_name=refs/tags/t7&page=3"]),
    ("/projects/:id/pipelines", &["", "page=50"]),
    ("/projects/:id/builds", &["", "page=50", "scope=failed", "scope[]=pending&scope[]=running"]),
    ("/projects/:id/repository/commits/:sha/builds", &["", "scope=failed"]),
    ("/projects/:id/repository/commits/:sha/comments", &["", "page=3"]),
    ("/projects/:id/repository/commits/:sha/statuses", &["", "all=true", "ref=main&name=n&stage=s"]),
    ("/projects/:id/runners", &["", "scope=online"]),
    ("/projects/:id/variables", &[""]),
    ("/projects/:id/triggers", &[""]),
    ("/projects/:id/job_token_scope/allowlist", &["", "page=3"]),
    ("/runners", &["", "scope=active"]),
    ("/runners/all", &["", "page=3", "scope=shared"]),
];

/// The filters of every list of projects.
pub const PROJECT_FILTERS: &[&str] = &[
    "",
    "page=50",
    "order_by=id",
    "order_by=name",
    "order_by=path&sort=asc",
    "order_by=created_at&sort=asc",
    "order_by=updated_at",
    "order_by=last_activity_at&page=50",
    "archived=true",
    "archived=false&order_by=name",
    "visibility=public",
    "visibility=internal&page=50",
    "visibility=private",
    "archived=false&visibility=public&order_by=path",
    "search=abcd",
    "search=abcd&archived=false&visibility=public",
    "search=team&order_by=name",
    "ci_enabled_first=true",
    "simple=true",
];

/// Pages with statements that no request of the API executes.
const PAGES: &[&str] = &[
    "/",
    "/dashboard/merge_requests",
    "/dashboard/merge_requests?scope=created&state=all",
    "/dashboard/todos",
    "/search?q=abcd&in=issues",
    "/search?q=abcd&in=merge_requests",
    "/search?q=abcd&in=users",
    "/search/jump?q=abcd",
    "/ada",
];

/// The filters of every list of issues.
pub const ISSUE_FILTERS: &[&str] = &[
    "",
    "page=50",
    "state=opened",
    "state=closed&order_by=updated_at",
    "order_by=updated_at&sort=asc&page=50",
    "labels=l7",
    "labels=l7,l8&state=opened",
    "milestone=m7",
];

#[tokio::test]
async fn no_list_needs_a_sequential_scan() {
    for (version, listed) in [(ApiVersion::V3, LIST_ROUTES), (ApiVersion::V4, LISTS)] {
        let routes = api::routes(version).into_list();
        let lists: BTreeSet<&str> = routes.iter().filter(|route| route.is_list).map(|route| route.path).collect();
        assert_eq!(lists, listed.iter().map(|(path, _)| *path).collect(), "every list has its entry");
    }

    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 0).await;
    let project = server.project_in(&ada, "team-project", 0, Some(group)).await;
    server.push_first(&ada, "team/team-project").await;
    insert_rows(&server).await;
    let find = "select id from hooks where project_id is not distinct from $1";
    let [hook, system_hook] = [Some(project), None].map(|owner| sqlx::query_scalar::<_, i64>(find).bind(owner));
    let hook = hook.fetch_one(&mut server.database().await).await.unwrap();
    let system_hook = system_hook.fetch_one(&mut server.database().await).await.unwrap();
    let find_note = async |column: &str| {
        let query = format!("select min(id) from notes where {column} = 7");
        let mut query = sqlx::QueryBuilder::<sqlx::Postgres>::new(query);
        query.build_query_scalar::<i64>().fetch_one(&mut server.database().await).await.unwrap()
    };
    let (note, merge_request_note) = (find_note("issue_id").await, find_note("merge_request_id").await);
    let name = explain_everything(&server).await;
    // Each connection of the pool that was closed costs one request.
    for _ in 0..5 {
        ada.get("/user").await;
    }
    let v3 = LIST_ROUTES.iter().map(|entry| (ApiVersion::V3, entry));
    let v4 = LISTS.iter().map(|entry| (ApiVersion::V4, entry));
    for (version, (path, queries)) in v3.chain(v4) {
        let id = if path.starts_with("/projects") { project } else { group };
        let id = if path.starts_with("/users") { 2 } else { id };
        let id = if path.starts_with("/hooks") { system_hook } else { id };
        let path = path.replace(":uid", "2").replace(":id", &id.to_string()).replace(":query", "abcd");
        let path = path.replace(":board_id", &project.to_string()).replace(":list_id", "1");
        let path = path.replace(":sha", "main");
        let path = path.replace(":merge_request_id/notes/:note_id", &format!("7/notes/{merge_request_note}"));
        let path = path.replace(":issue_id/notes/:note_id", &format!("7/notes/{note}"));
        let path = path.replace(":issue_id", "7").replace(":hook_id", &hook.to_string()).replace(":milestone_id", "7");
        let path = path.replace(":merge_request_id", "7");
        let path = path.replace(":merge_request_iid/notes/:note_id", &format!("7/notes/{merge_request_note}"));
        let path = path.replace(":issue_iid/notes/:note_id", &format!("7/notes/{note}"));
        let path = path.replace(":issue_iid", "7").replace(":merge_request_iid", "7").replace(":pipeline_id", "7");
        let path = format!("{}{}", version.prefix(), path.replace(":tag_name", "t7"));
        for query in *queries {
            for client in [&ada, &server.admin] {
                let status = Client::get(client, &format!("{path}?{query}")).await.status;
                // The rows of the test have no commits, and no pipeline or release with this name in the project.
                let needs_objects = ["/commits", "/diffs", "/links", "/pipelines/7/jobs", "/pipelines/7/variables"]
                    .iter()
                    .any(|end| path.ends_with(end));
                let is_expected = [200, 403].contains(&status) || status == 404 && needs_objects;
                assert!(is_expected, "{path}?{query}: {status}");
            }
        }
    }
    for username in ["ada", "root"] {
        let browser = server.sign_in(username).await;
        for path in PAGES {
            assert_eq!(browser.get(path).await.status, 200, "{path}");
        }
    }
    // Adding a deploy key looks for the projects in which the current user manages it.
    let key = ada.get(&format!("/projects/{project}/deploy_keys")).await.ids()[0];
    for end in [format!("{key}/enable"), "1/enable".into()] {
        ada.post(&format!("/projects/{project}/deploy_keys/{end}"), &[]).await;
    }
    sqlx::query(
        "insert into outbox_queue (outbox_id, kind, project_id, created_at) values (1000000, 'push', $1, now())",
    )
    .bind(project)
    .execute(&mut server.database().await)
    .await
    .unwrap();
    run_once(&server.app).await.unwrap();
    for path in [
        "/users/2".into(),
        format!("/groups/{group}"),
        "/groups/team".into(),
        format!("/groups/{group}/members/2"),
        format!("/projects/{project}"),
        "/projects/team%2Fteam-project".into(),
        "/api/v4/user_counts".into(),
    ] {
        assert_eq!(ada.get(&path).await.status, 200);
    }

    let plans = read_plans(&name);
    assert!(plans.len() > 40, "only {} plans were logged", plans.len());
    let mut scans = Vec::new();
    for plan in &plans {
        find_filtered_walks(&plan["Plan"], &mut |index| {
            let text = plan["Query Text"].as_str().unwrap_or_default();
            scans.push(format!("every entry of {index} is read and filtered by its text: {text}"));
        });
        find_sequential_scans(&plan["Plan"], &mut |table| {
            scans.push(format!(
                "{table} is read from end to end by: {}",
                plan["Query Text"].as_str().unwrap_or_default()
            ));
        });
    }
    assert!(scans.is_empty(), "{}", scans.join("\n\n"));
}

/// Inserts enough rows for the planner to have a choice.
async fn insert_rows(server: &Server) {
    sqlx::raw_sql(
        "insert into users (username, name, email, password_hash, can_create_group, projects_limit, created_at, updated_at)
         select 'u' || translate(md5(n::text), 'abcdef', 'ghijkl'), 'n', 'u' || n || '@example.com', '', true, 0, now(), now() from generate_series(1, 20000) n;
         insert into namespaces (kind, path, name, visibility_level, created_at, updated_at)
         select 'group', 'g' || md5(n::text), 'n' || n, 10 * (n % 3), now(), now() from generate_series(1, 20000) n;
         insert into namespaces (kind, owner_id, path, name, visibility_level, created_at, updated_at)
         select 'user', id, username, username, 20, now(), now() from users u
         where not exists (select from namespaces n where n.owner_id = u.id);
         insert into projects (namespace_id, creator_id, name, path, visibility_level, archived, issues_enabled,
           merge_requests_enabled, wiki_enabled, builds_enabled, snippets_enabled, container_registry_enabled,
           shared_runners_enabled, public_builds, lfs_enabled, request_access_enabled,
           only_allow_merge_if_build_succeeds, only_allow_merge_if_all_discussions_are_resolved, runners_token,
           created_at, updated_at, last_activity_at)
         select (select min(id) from namespaces where visibility_level = 20 and kind = 'group') + 3 * (n % 5000), 1,
           'n' || n, 'p' || md5(n::text), 10 * (n % 3), n % 30 = 0, true, true, true, n % 2 = 0, true, true, true, true, true,
           true, false, false, 't' || n, now() - n * interval '1 minute', now() - n * interval '2 minutes', now()
         from generate_series(1, 20000) n;
         insert into project_members (project_id, user_id, access_level, created_at)
         select id, 3 + id % 19000, 30, now() from projects where id > 1;
         insert into group_members (group_id, user_id, access_level, created_at)
         select namespace_id, 4 + id % 19000, 30, now() from projects where id > 1 on conflict do nothing;
         insert into project_shares (project_id, group_id, access_level, created_at)
         select id, namespace_id + 3, 30, now() from projects where id % 10 = 0;
         insert into stars (user_id, project_id, created_at) select 3 + id % 500, id, now() from projects;
         insert into stars (user_id, project_id, created_at) select 2, id, now() from projects where id % 100 = 0;
         insert into events (project_id, author_id, action, audience, created_at)
         select 1 + n % 2000, 2 + n % 500, 8, n % 3, now() from generate_series(1, 20000) n;
         insert into event_authors (author_id, project_id) select distinct author_id, project_id from events
         on conflict do nothing;
         insert into labels (project_id, title, color, created_at, updated_at)
         select 1, 'l' || n, '#123456', now(), now() from generate_series(1, 2000) n;
         insert into labels (project_id, title, color, created_at, updated_at)
         select id, 'l7', '#123456', now(), now() from projects where id > 1;
         insert into board_lists (project_id, label_id, position, created_at)
         select project_id, id, row_number() over (partition by project_id order by id) - 1, now() from labels;
         insert into milestones (project_id, iid, title, created_at, updated_at)
         select 1, n, 'm' || n, now(), now() from generate_series(1, 2000) n;
         insert into issues (project_id, iid, author_id, title, state, confidential, milestone_id, created_at, updated_at)
         select 1, n, 2 + n % 500, 't', 1 + n % 3, n % 20 = 0, 1 + n % 2000, now() - n * interval '1 second', now()
         from generate_series(1, 20000) n;
         insert into issues (project_id, iid, author_id, title, state, confidential, created_at, updated_at)
         select id, 1, 2 + id % 500, 't', 1, false, now(), now() from projects where id > 1;
         insert into issue_labels (issue_id, label_id) select id, 1 + id % 2000 from issues where project_id = 1;
         insert into notes (issue_id, author_id, body, system, created_at, updated_at)
         select id, author_id, 'b', false, now(), now() from issues;
         insert into notes (issue_id, author_id, body, system, created_at, updated_at)
         select 7, author_id, 'b', false, now(), now() from issues where id < 200;
         insert into ref_log (repository_id, generation, name, new, actor_id, via, created_at)
         select 1, 10 + n, 'refs/tags/t' || n % 100, decode(repeat('00', 20), 'hex'), 2 + n % 500, 'api', now()
         from generate_series(1, 20000) n;
         insert into hooks (project_id, url, push_events, tag_push_events, issues_events, merge_requests_events,
           note_events, build_events, pipeline_events, wiki_page_events, enable_ssl_verification, created_at, updated_at)
         select id, 'http://hook.example', true, true, true, true, true, true, true, true, true, now(), now() from projects
         union all select null, 'http://hook.example', true, true, true, true, true, true, true, true, true, now(), now();
         insert into hook_queues (hook_id, last_sequence, position) select id, 3000, 3000 from hooks;
         insert into deliveries (hook_id, sequence, outbox_id, created_at, kind)
         select h.id, n, n, now(), 'push' from hooks h, generate_series(1, 3000) n where h.project_id is null or h.id < 9;
         insert into pipelines (project_id, user_id, ref, tag, sha, before_sha, commit, status, created_at, updated_at)
         select 1 + n % 1000, 2, 'main', false, md5(n::text), '', jsonb_build_object('id', '', 'message', '', 'author_name',
           '', 'author_email', '', 'committer_name', '', 'committer_email', '', 'created_at', ''), 'success', now(), now()
         from generate_series(1, 20000) n;
         insert into builds (project_id, pipeline_id, name, stage, stage_index, status, run_when, allow_failure, tags,
           options, created_at)
         select p.project_id, p.id, 'b' || n, 's', 0, case n when 1 then 'failed' else 'success' end, 'on_success', false,
           '{}', '{}', now() from pipelines p, generate_series(1, 3) n;
         insert into runners (token_digest, active, shared, locked, run_untagged, tags, created_at)
         select int8send(n), true, n % 100 = 0, false, true, '{}', now() from generate_series(1, 20000) n;
         insert into runner_projects (runner_id, project_id) select id, 1 + id % 2000 from runners where not shared;
         insert into project_variables (project_id, key, value, created_at, updated_at)
         select id, 'k', '', now(), now() from projects where id > 1;
         insert into triggers (project_id, owner_id, token, token_digest, token_start, created_at, updated_at)
         select id, 1, 't' || id, sha256(id::text::bytea), 't', now(), now() from projects;
         insert into ssh_keys (user_id, title, key, fingerprint, created_at)
         select case n % 2 when 0 then 2 + n end, 't', 'k', 'f' || n, now() from generate_series(1, 19000) n;
         insert into deploy_key_projects (project_id, ssh_key_id, added_by, can_push, created_at)
         select x.id, k.id, 1, false, now() from ssh_keys k cross join generate_series(0, 1) p
         join projects x on x.id = 1 + (k.id + p) * (k.id % 5) where k.user_id is null on conflict do nothing;
         insert into job_token_allowlist (target_id, source_id, created_at)
         select t.id, s.id, now() from projects t, projects s where s.id <= 3 and t.id <> s.id;
         insert into users (username, name, email, password_hash, can_create_group, projects_limit, bot, created_at,
           updated_at)
         select 'bot' || translate(md5(n::text), 'abcdef', 'ghijkl'), 'n', '', '', false, 0, true, now(), now() from generate_series(1, 2000) n;
         insert into bots (user_id, project_id, group_id)
         select id, case id % 2 when 0 then 1 + id % 200 end, case id % 2 when 1 then
           (select min(id) from namespaces where kind = 'group') + id % 200 end
         from users where bot;
         insert into project_members (project_id, user_id, access_level, created_at)
         select project_id, user_id, 30, now() from bots where project_id is not null;
         insert into group_members (group_id, user_id, access_level, created_at)
         select group_id, user_id, 30, now() from bots where group_id is not null;
         insert into tokens (user_id, kind, name, digest, scopes, created_at, expires_at)
         select user_id, 'bot', 'n', int8send(user_id), '{api}', now(), now() + interval '1 day' from bots;
",
    )
    .execute(&mut server.database().await)
    .await
    .unwrap();
    server.add_repositories().await;
    sqlx::raw_sql(
        "insert into refs (repository_id, name, target) select r.id, 'refs/heads/b' || n, f.target
         from repositories r join refs f on f.repository_id = r.id, generate_series(1, 20000) n;
         insert into refs (repository_id, name, target) select r.id, 'refs/tags/t' || n, f.target
         from repositories r join refs f on f.repository_id = r.id and f.name = 'refs/heads/main', generate_series(1, 5000) n;
         insert into merge_requests (project_id, iid, source_project_id, source_branch, target_branch, author_id, title,
           state, milestone_id, merged_at, created_at, updated_at)
         select 1, n, 1, 'b' || n, 'main', 2 + n % 500, 't', 1 + n % 4, 1 + n % 2000, case n % 4 when 3 then now() end,
           now() - n * interval '1 second', now() from generate_series(1, 20000) n;
         insert into merge_request_versions (merge_request_id, number, head, start, created_at)
         select mr.id, 1, f.target, f.target, now() from merge_requests mr join repositories r on r.project_id = mr.project_id
         join refs f on f.repository_id = r.id and f.name = 'refs/heads/main';
         insert into merge_request_labels (merge_request_id, label_id) select id, 1 + id % 2000 from merge_requests;
         insert into notes (merge_request_id, author_id, body, system, created_at, updated_at)
         select 1 + id % 300, author_id, 'b', false, now(), now() from merge_requests;
         insert into award_emoji (issue_id, user_id, name, created_at)
         select 1 + n % 300, 2 + n / 300, 'rocket', now() from generate_series(1, 20000) n;
         insert into award_emoji (merge_request_id, user_id, name, created_at)
         select 1 + n % 300, 2 + n / 300, 'rocket', now() from generate_series(1, 20000) n;
         insert into award_emoji (note_id, user_id, name, created_at)
         select (select min(id) from notes) + n % 300, 2 + n / 300, 'rocket', now() from generate_series(1, 20000) n;
         insert into todos (user_id, author_id, issue_id, action, done, created_at)
         select 1 + n % 50, 3, 1 + n / 50, 1, n % 3 = 0, now() from generate_series(1, 20000) n;
         insert into todos (user_id, author_id, merge_request_id, action, done, created_at)
         select 1 + n % 50, 3, 1 + n / 50, 2, n % 3 = 0, now() from generate_series(1, 20000) n;
         insert into discussions (merge_request_id, created_at) select 1 + n % 300, now() from generate_series(1, 20000) n;
         insert into notes (merge_request_id, discussion_id, author_id, body, system, created_at, updated_at)
         select d.merge_request_id, d.id, 3, 'b', false, now(), now() from discussions d;
         insert into releases (project_id, tag_name, description, created_at, updated_at)
         select id, 't' || n, '', now(), now() from projects, generate_series(1, 5000) n where path = 'team-project';
         insert into contributors (repository_id, email, name, newest, commits, additions, deletions)
         select r.id, 'e' || n, '', n, 1, 1, 1 from repositories r, generate_series(1, 3) n;
         insert into contributors (repository_id, email, name, newest, commits, additions, deletions)
         select f.repository_id, 'a' || n, '', n, 1, 1, 1 from refs f, generate_series(1, 20000) n
         where f.name = 'refs/heads/main'",
    )
    .execute(&mut server.database().await)
    .await
    .unwrap();
    sqlx::raw_sql("vacuum analyze").execute(&mut server.database().await).await.unwrap();
}

/// Logs the plan of every statement from now on, and returns the name of the database.
pub async fn explain_everything(server: &Server) -> String {
    let mut database = server.database().await;
    let name: String = sqlx::query_scalar("select current_database()::text").fetch_one(&mut database).await.unwrap();
    let settings = [
        ("session_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_format", "json"),
        ("enable_seqscan", "off"),
    ];
    for (key, value) in settings {
        let statement = format!("alter database {name} set {key} = '{value}'");
        sqlx::QueryBuilder::<sqlx::Postgres>::new(statement).build().execute(&mut database).await.unwrap();
    }
    // Existing connections do not have the setting yet.
    sqlx::query("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
        .execute(&mut database)
        .await
        .unwrap();
    name
}

pub fn read_plans(database: &str) -> Vec<Value> {
    let path =
        std::env::var("HOLDFAST_TEST_POSTGRES_LOG").expect("HOLDFAST_TEST_POSTGRES_LOG is not set: use dev/test");
    let log = String::from_utf8_lossy(&std::fs::read(path).expect("the log of PostgreSQL")).into_owned();
    let is_head = |line: &str| line.len() > 20 && line.as_bytes()[4] == b'-' && line.as_bytes()[10] == b' ';
    let mut entries: Vec<String> = Vec::new();
    for line in log.lines() {
        match entries.last_mut() {
            Some(entry) if !is_head(line) => *entry += line,
            _ => entries.push(line.to_owned()),
        }
    }
    let ours = format!(" {database} ");
    let json = |entry: &String| serde_json::from_str(&entry[entry.find('{')?..]).ok();
    entries.iter().filter(|entry| entry.contains(&ours) && entry.contains("plan:")).filter_map(json).collect()
}

/// Finds index scans in the order of the list that filter each row by a search text: these read as much as a sequential
/// scan.
fn find_filtered_walks(node: &Value, found: &mut impl FnMut(&str)) {
    let filters_text = node["Filter"].as_str().is_some_and(|filter| filter.contains("search_text"));
    let is_walk = node["Node Type"] == "Index Scan" && node["Index Cond"].is_null();
    if filters_text && is_walk {
        found(node["Index Name"].as_str().unwrap_or("?"));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        find_filtered_walks(child, found);
    }
}

fn find_sequential_scans(node: &Value, found: &mut impl FnMut(&str)) {
    if node["Node Type"] == "Seq Scan" {
        found(node["Relation Name"].as_str().unwrap_or("?"));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        find_sequential_scans(child, found);
    }
}
