-- The forks of a project, in the order of their last activity.
create index projects_of_source_by_last_activity_at on projects (forked_from_id, last_activity_at, id)
    where forked_from_id is not null;
