-- The search for words in the titles of issues, over all projects. The expression is that of
-- push_contains in search.rs.
create index issues_title_search on issues
    using gin ((lower(title collate "und-x-icu") collate "C") gin_trgm_ops);
