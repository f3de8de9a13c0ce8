-- Finds the merge requests that a merge commit belongs to.
create index merge_requests_by_merge_commit on merge_requests (project_id, merge_commit) where merge_commit is not null;
