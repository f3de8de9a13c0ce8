-- The issues that are assigned to a user, in the order of their creation.
create index issues_of_assignee_by_created_at on issues (assignee_id, closed, created_at, id) where assignee_id is not null;

-- The failed pipelines of a user, and whether the same ref has a newer one.
create index pipelines_failed_of_user on pipelines (user_id, id desc) where status = 'failed';
create index pipelines_of_ref on pipelines (project_id, ref, id desc);
