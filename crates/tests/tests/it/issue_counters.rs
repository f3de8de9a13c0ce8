//! Recomputes the stored counters of issues, labels, boards and feeds.

use sqlx::PgConnection;

/// Queries that each return the rows that violate an invariant.
const VIOLATION_QUERIES: [(&str, &str); 11] = [
    (
        "open issues of a project",
        "select p.id from projects p cross join lateral (
           select count(*) filter (where not confidential) as open, count(*) filter (where confidential) as hidden
           from issues where project_id = p.id and state <> 2) i
         where (p.open_issues, p.open_confidential_issues) <> (i.open, i.hidden)",
    ),
    (
        "issues of a label",
        "select l.id from labels l cross join lateral (
           select count(*) filter (where state <> 2 and not confidential) as open,
             count(*) filter (where state = 2 and not confidential) as done,
             count(*) filter (where state <> 2 and confidential) as hidden_open,
             count(*) filter (where state = 2 and confidential) as hidden_done
           from issues i join issue_labels x on x.issue_id = i.id where x.label_id = l.id) i
         where (l.open_issues, l.closed_issues, l.open_confidential_issues, l.closed_confidential_issues)
           <> (i.open, i.done, i.hidden_open, i.hidden_done)",
    ),
    (
        "an issue's count of notes",
        "select id from issues i
         where notes_count <> (select count(*) from notes n where n.issue_id = i.id and not n.system)",
    ),
    (
        "a label of another project",
        "select i.id from issues i join issue_labels x on x.issue_id = i.id join labels l on l.id = x.label_id
         where l.project_id <> i.project_id",
    ),
    (
        "a milestone of another project",
        "select i.id from issues i join milestones m on m.id = i.milestone_id where m.project_id <> i.project_id",
    ),
    (
        "a number beyond the last",
        "select i.id from issues i join projects p on p.id = i.project_id where iid not between 1 and last_issue_iid",
    ),
    (
        "positions on a board",
        "select project_id from board_lists where deleted_at is null group by project_id
         having min(position) <> 0 or max(position) <> count(*) - 1 or count(distinct position) <> count(*)",
    ),
    (
        "hooks that receive an event",
        "select e.id from events e join issues i on i.id = e.subject_id and e.subject_kind = 1
         where e.audience <> case when i.confidential then 2 else 0 end",
    ),
    (
        "an event about an issue that is gone",
        "select id from events e where subject_kind = 1 and not exists (select from issues i where i.id = e.subject_id)",
    ),
    (
        "an event about a note that is gone",
        "select id from events e where note_id is not null and not exists (select from notes n where n.id = e.note_id)",
    ),
    (
        "an author who is not known where it did something",
        "select id from events e where not exists (
           select from event_authors a where a.author_id = e.author_id and a.project_id = e.project_id)",
    ),
];

pub async fn assert_consistent(database: &mut PgConnection) {
    for (description, query) in VIOLATION_QUERIES {
        let violations: Vec<i64> = sqlx::query_scalar(query).fetch_all(&mut *database).await.unwrap();
        assert!(violations.is_empty(), "{description}: {violations:?}");
    }
}
