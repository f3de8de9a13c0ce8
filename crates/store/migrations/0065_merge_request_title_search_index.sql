-- Like migration 60, for merge requests. Each migration locks one table that is in use.
create index merge_requests_title_search on merge_requests
    using gin ((lower(title collate "und-x-icu") collate "C") gin_trgm_ops);
