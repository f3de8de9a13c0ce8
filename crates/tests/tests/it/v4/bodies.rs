//! Compares the bodies of the same thing in both versions of the API, field by field.

use std::collections::BTreeSet;

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::Value;

/// The same thing in both versions, and how its bodies differ. In paths, `{project}` is the project.
struct Pair {
    v3: &'static str,
    v4: &'static str,
    /// Fields with another name in version 4.
    renamed: &'static [(&'static str, &'static str)],
    /// Fields that version 4 does not have.
    removed: &'static [&'static str],
    /// Fields with another form or value in version 4.
    changed: &'static [&'static str],
    /// Fields that version 3 does not have.
    added: &'static [&'static str],
}

#[rustfmt::skip]
const PAIRS: &[Pair] = &[
    Pair {
        v3: "/user",
        v4: "/user",
        renamed: &[],
        removed: &["is_admin"],
        changed: &["bio", "location"],
        added: &[
            "bot", "commit_email", "discord", "followers", "following", "is_followed", "job_title",
            "last_activity_on", "local_time", "locked", "private_profile", "pronouns", "public_email",
            "work_information",
        ],
    },
    Pair {
        v3: "/users/2",
        v4: "/users/2",
        renamed: &[],
        removed: &["is_admin"],
        changed: &["bio", "location"],
        added: &[
            "bot", "discord", "followers", "following", "is_followed", "job_title", "local_time", "locked",
            "pronouns", "public_email", "work_information",
        ],
    },
    Pair {
        v3: "/projects/{project}",
        v4: "/projects/{project}",
        renamed: &[
            ("builds_enabled", "jobs_enabled"),
            ("only_allow_merge_if_build_succeeds", "only_allow_merge_if_pipeline_succeeds"),
            ("public_builds", "public_jobs"),
        ],
        removed: &["public", "visibility_level"],
        changed: &["namespace", "owner"],
        added: &[
            "_links", "allow_merge_on_skipped_pipeline", "auto_cancel_pending_pipelines", "auto_devops_enabled",
            "autoclose_referenced_issues", "build_git_strategy", "builds_access_level", "can_create_merge_request_in",
            "ci_config_path", "ci_default_git_depth", "ci_job_token_scope_enabled", "container_registry_access_level",
            "emails_enabled", "empty_repo", "environments_access_level", "forking_access_level",
            "group_runners_enabled", "import_status", "issues_access_level", "marked_for_deletion_at", "merge_method",
            "merge_requests_access_level", "merge_trains_enabled", "mirror", "mr_default_target_self",
            "packages_enabled", "pages_access_level", "printing_merge_request_link_enabled", "readme_url",
            "releases_access_level", "remove_source_branch_after_merge", "repository_access_level",
            "resolve_outdated_diff_discussions", "service_desk_enabled", "snippets_access_level", "squash_option",
            "suggestion_commit_message", "topics", "updated_at", "visibility", "wiki_access_level",
        ],
    },
    Pair {
        v3: "/projects",
        v4: "/projects?membership=true",
        renamed: &[
            ("builds_enabled", "jobs_enabled"),
            ("only_allow_merge_if_build_succeeds", "only_allow_merge_if_pipeline_succeeds"),
            ("public_builds", "public_jobs"),
        ],
        removed: &["public", "visibility_level"],
        changed: &["namespace", "owner"],
        added: &[
            "_links", "allow_merge_on_skipped_pipeline", "auto_cancel_pending_pipelines", "auto_devops_enabled",
            "autoclose_referenced_issues", "build_git_strategy", "builds_access_level", "can_create_merge_request_in",
            "ci_config_path", "ci_default_git_depth", "ci_job_token_scope_enabled", "container_registry_access_level",
            "emails_enabled", "empty_repo", "environments_access_level", "forking_access_level",
            "group_runners_enabled", "issues_access_level", "marked_for_deletion_at", "merge_method",
            "merge_requests_access_level", "merge_trains_enabled", "mirror", "mr_default_target_self",
            "packages_enabled", "pages_access_level", "printing_merge_request_link_enabled", "readme_url",
            "releases_access_level", "remove_source_branch_after_merge", "repository_access_level",
            "resolve_outdated_diff_discussions", "service_desk_enabled", "snippets_access_level", "squash_option",
            "suggestion_commit_message", "topics", "updated_at", "visibility", "wiki_access_level",
        ],
    },
    Pair {
        v3: "/projects/{project}/labels",
        v4: "/projects/{project}/labels?with_counts=true",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["archived", "description_html", "is_project_label", "text_color"],
    },
    Pair {
        v3: "/projects/{project}/milestones/1",
        v4: "/projects/{project}/milestones/1",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["expired", "web_url"],
    },
    Pair {
        v3: "/projects/{project}/issues/1",
        v4: "/projects/{project}/issues/1",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &[
            "_links", "assignees", "closed_at", "closed_by", "discussion_locked", "has_tasks", "imported",
            "imported_from", "issue_type", "merge_requests_count", "moved_to_id", "references",
            "service_desk_reply_to", "severity", "start_date", "task_completion_status", "time_stats", "type",
        ],
    },
    Pair {
        v3: "/projects/{project}/issues",
        v4: "/projects/{project}/issues",
        renamed: &[],
        removed: &["subscribed"],
        changed: &[],
        added: &[
            "_links", "assignees", "closed_at", "closed_by", "discussion_locked", "has_tasks", "imported",
            "imported_from", "issue_type", "merge_requests_count", "moved_to_id", "references",
            "service_desk_reply_to", "severity", "start_date", "task_completion_status", "time_stats", "type",
        ],
    },
    Pair {
        v3: "/projects/{project}/issues/1/notes",
        v4: "/projects/{project}/issues/1/notes?sort=asc",
        renamed: &[],
        removed: &["attachment", "downvote", "upvote"],
        changed: &[],
        added: &[
            "commands_changes", "confidential", "imported", "imported_from", "internal", "noteable_iid", "project_id",
            "resolvable", "type",
        ],
    },
    Pair {
        v3: "/projects/{project}/merge_requests/1",
        v4: "/projects/{project}/merge_requests/1",
        renamed: &[("merge_when_build_succeeds", "merge_when_pipeline_succeeds")],
        removed: &[],
        changed: &["merge_status"],
        added: &[
            "assignees", "blocking_discussions_resolved", "changes_count", "closed_at", "closed_by",
            "detailed_merge_status", "diff_refs", "discussion_locked", "draft", "first_contribution",
            "first_deployed_to_production_at", "has_conflicts", "head_pipeline", "imported", "imported_from",
            "latest_build_finished_at", "latest_build_started_at", "merge_after", "merge_error", "merge_user",
            "merged_at", "merged_by", "pipeline", "prepared_at", "reference", "references", "reviewers", "squash",
            "squash_commit_sha", "squash_on_merge", "task_completion_status", "time_stats", "user",
        ],
    },
    Pair {
        v3: "/projects/{project}/merge_requests",
        v4: "/projects/{project}/merge_requests",
        renamed: &[("merge_when_build_succeeds", "merge_when_pipeline_succeeds")],
        removed: &["subscribed"],
        changed: &[],
        added: &[
            "assignees", "blocking_discussions_resolved", "closed_at", "closed_by", "detailed_merge_status",
            "discussion_locked", "draft", "has_conflicts", "imported", "imported_from", "merge_after", "merge_user",
            "merged_at", "merged_by", "prepared_at", "reference", "references", "reviewers", "squash",
            "squash_commit_sha", "squash_on_merge", "task_completion_status", "time_stats",
        ],
    },
    Pair {
        v3: "/projects/{project}/hooks/1",
        v4: "/projects/{project}/hooks/1",
        renamed: &[("build_events", "job_events")],
        removed: &["failing_since", "paused_at"],
        changed: &[],
        added: &[
            "alert_status", "branch_filter_strategy", "confidential_issues_events", "confidential_note_events",
            "custom_headers", "custom_webhook_template", "deployment_events", "description", "disabled_until",
            "emoji_events", "feature_flag_events", "milestone_events", "name", "push_events_branch_filter",
            "releases_events", "repository_update_events", "resource_access_token_events", "url_variables",
        ],
    },
    Pair {
        v3: "/projects/{project}/variables",
        v4: "/projects/{project}/variables",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["description", "environment_scope", "hidden", "masked", "protected", "raw", "variable_type"],
    },
    Pair {
        v3: "/projects/{project}/triggers",
        v4: "/projects/{project}/triggers",
        renamed: &[],
        removed: &["deleted_at"],
        changed: &[],
        added: &["expires_at"],
    },
    Pair {
        v3: "/projects/{project}/repository/branches",
        v4: "/projects/{project}/repository/branches",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["can_push", "default", "merged", "web_url"],
    },
    Pair {
        v3: "/projects/{project}/repository/tags/v1",
        v4: "/projects/{project}/repository/tags/v1",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["created_at", "protected", "target"],
    },
    Pair {
        v3: "/projects/{project}/repository/tree",
        v4: "/projects/{project}/repository/tree",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &[],
    },
    Pair {
        v3: "/projects/{project}/repository/commits",
        v4: "/projects/{project}/repository/commits?ref_name=main",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["authored_date", "committed_date", "extended_trailers", "parent_ids", "trailers", "web_url"],
    },
    Pair {
        v3: "/projects/{project}/repository/commits/main",
        v4: "/projects/{project}/repository/commits/main",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["extended_trailers", "last_pipeline", "project_id", "trailers", "web_url"],
    },
    Pair {
        v3: "/projects/{project}/repository/compare?from=main&to=topic",
        v4: "/projects/{project}/repository/compare?from=main&to=topic",
        renamed: &[],
        removed: &[],
        changed: &["diffs"],
        added: &["web_url"],
    },
    Pair {
        v3: "/projects/{project}/repository/files?file_path=a.txt&ref=main",
        v4: "/projects/{project}/repository/files/a.txt?ref=main",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["content_sha256", "execute_filemode"],
    },
    Pair {
        v3: "/projects/{project}/events",
        v4: "/projects/{project}/events",
        renamed: &[],
        removed: &["data", "title"],
        changed: &[],
        added: &["id", "imported", "imported_from", "push_data", "target_iid"],
    },
    Pair {
        v3: "/namespaces",
        v4: "/namespaces",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["avatar_url", "parent_id", "web_url"],
    },
    Pair {
        v3: "/projects/{project}/merge_requests/1/versions",
        v4: "/projects/{project}/merge_requests/1/versions",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &[],
    },
    Pair {
        v3: "/user/personal_access_tokens",
        v4: "/personal_access_tokens",
        renamed: &[],
        removed: &[],
        changed: &[],
        added: &["description", "user_id"],
    },
];

/// Returns the first item of a list, or the body itself.
fn first(body: &Value) -> &Value {
    body.as_array().and_then(|items| items.first()).unwrap_or(body)
}

/// Returns whether a value of version 4 has everything that the value of version 3 has.
fn contains(v4: &Value, v3: &Value) -> bool {
    match (v4, v3) {
        (Value::Object(v4), Value::Object(v3)) => {
            v3.iter().all(|(name, value)| v4.get(name).is_some_and(|v4| contains(v4, value)))
        }
        (Value::Array(v4), Value::Array(v3)) => {
            v4.len() == v3.len() && v4.iter().zip(v3).all(|(v4, v3)| contains(v4, v3))
        }
        _ => v4 == v3,
    }
}

fn keys(body: &Value) -> BTreeSet<&str> {
    body.as_object().unwrap_or_else(|| panic!("{body} is no object")).keys().map(String::as_str).collect()
}

/// Creates one of everything that is compared.
async fn create_things(server: &Server, ada: &Client) -> i64 {
    let project = server.project(ada, "p", 20).await;
    let tree = WorkTree::new().await;
    tree.commit("a.txt", b"one\n", "first").await;
    tree.push(&server.git_url(ada, "ada/p"), &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    tree.commit("b.txt", b"two\n", "second").await;
    tree.push(&server.git_url(ada, "ada/p"), &["topic"]).await.ok();
    let api = format!("/projects/{project}");
    for (path, form) in [
        ("/labels", &[("name", "bug"), ("color", "#123456"), ("description", "d")][..]),
        ("/milestones", &[("title", "m"), ("due_date", "2026-01-05")]),
        ("/issues", &[("title", "t"), ("description", "d"), ("labels", "bug"), ("milestone_id", "1")]),
        ("/issues/1/notes", &[("body", "b")]),
        ("/merge_requests", &[("title", "t"), ("source_branch", "topic"), ("target_branch", "main")]),
        ("/hooks", &[("url", "http://a.example")]),
        ("/variables", &[("key", "K"), ("value", "v")]),
        ("/triggers", &[]),
        ("/repository/tags", &[("tag_name", "v1"), ("ref", "main"), ("message", "annotated")]),
        ("/repository/tags/v1/release", &[("description", "notes")]),
    ] {
        let created = ada.post(&format!("{api}{path}"), form).await;
        assert!(matches!(created.status, 200 | 201), "{path}: {}", created.text);
    }
    project
}

/// The bodies differ only where the table says so.
#[tokio::test]
async fn bodies_of_both_versions_differ_only_as_listed() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = create_things(&server, &ada).await;
    let mut wrong = Vec::new();
    for pair in PAIRS {
        let fill = |path: &str| path.replace("{project}", &project.to_string());
        let (v3, v4) = (ada.get(&fill(pair.v3)).await, ada.get(&format!("/api/v4{}", fill(pair.v4))).await);
        if (v3.status, v4.status) != (200, 200) {
            wrong.push(format!("{}: {} {}", pair.v4, v3.text, v4.text));
            continue;
        }
        let (v3, v4) = (first(&v3.body), first(&v4.body));
        let (mut removed, mut changed) = (BTreeSet::new(), BTreeSet::new());
        let mut added = keys(v4);
        for (name, value) in v3.as_object().unwrap() {
            let renamed = pair.renamed.iter().find(|(old, _)| old == name).map(|(_, new)| *new);
            let new_name = renamed.unwrap_or(name);
            added.remove(new_name);
            match v4.get(new_name) {
                None => _ = removed.insert(name.as_str()),
                Some(v4) if !contains(v4, value) => _ = changed.insert(new_name),
                Some(_) => {}
            }
        }
        let expected = [pair.removed, pair.changed, pair.added].map(|names| names.iter().copied().collect());
        for (what, found, expected) in
            [("removed", removed, &expected[0]), ("changed", changed, &expected[1]), ("added", added, &expected[2])]
        {
            if found != *expected {
                wrong.push(format!("{}: {what}: {found:?} instead of {expected:?}", pair.v4));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
