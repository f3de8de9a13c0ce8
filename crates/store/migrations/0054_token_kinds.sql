-- Impersonation tokens, and access tokens of projects and groups. Every existing row has one of the former kinds, so the
-- constraint is not checked for them.
alter table tokens
    drop constraint tokens_kind_check,
    add constraint tokens_kind_check check (kind in ('personal', 'session', 'impersonation', 'bot')) not valid;
