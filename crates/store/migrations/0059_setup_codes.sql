-- The codes with which the operator creates the first user in the browser. The table is empty once there is a user.
create table setup_codes (
    -- SHA-256 of the code.
    digest     bytea primary key,
    created_at timestamptz not null
);
