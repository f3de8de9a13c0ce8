-- The constraints are not checked for existing rows, which all belong to issues.
alter table notes
    add column merge_request_id bigint,
    add constraint notes_merge_request_id_fkey foreign key (merge_request_id) references merge_requests on delete cascade
        not valid,
    drop constraint notes_issue_id_check,
    add constraint notes_target_check check (num_nonnulls(issue_id, merge_request_id) = 1) not valid;
