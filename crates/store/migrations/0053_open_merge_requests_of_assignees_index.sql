-- Counts the open merge requests that are assigned to a user.
create index merge_requests_open_of_assignee on merge_requests (assignee_id, id)
    where assignee_id is not null and state in (1, 3);
