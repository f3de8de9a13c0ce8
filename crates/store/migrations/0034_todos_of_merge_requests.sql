alter table todos
    add constraint todos_merge_request_id_fkey foreign key (merge_request_id) references merge_requests on delete cascade;
