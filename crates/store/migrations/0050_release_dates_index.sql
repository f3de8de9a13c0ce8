-- Lists the releases of a project by their date.
create index releases_by_date on releases (project_id, (coalesce(released_at, created_at)) desc, tag_name desc);
