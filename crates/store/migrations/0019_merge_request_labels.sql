alter table labels
    add column open_merge_requests integer not null default 0,
    add constraint labels_open_merge_requests_check check (open_merge_requests >= 0) not valid;

create table merge_request_labels (
    merge_request_id bigint not null references merge_requests on delete cascade,
    label_id         bigint not null references labels on delete cascade,
    primary key (merge_request_id, label_id)
);

create index merge_request_labels_label on merge_request_labels (label_id, merge_request_id);
