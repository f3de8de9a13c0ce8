-- Explicit subscriptions. Without a row, the author and the assignee are subscribed.
create table merge_request_subscriptions (
    merge_request_id bigint not null references merge_requests on delete cascade,
    user_id          bigint not null references users on delete cascade,
    subscribed       boolean not null,
    primary key (merge_request_id, user_id)
);

create index merge_request_subscriptions_user on merge_request_subscriptions (user_id);
