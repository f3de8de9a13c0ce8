-- What users say about themselves. A user without a row has no status.
create table user_statuses (
    user_id  bigint primary key references users on delete cascade,
    emoji    text not null,
    message  text,
    is_busy  boolean not null,
    -- The status is not shown from then on.
    clear_at timestamptz
);
