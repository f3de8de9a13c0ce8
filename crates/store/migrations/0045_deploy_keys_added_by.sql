alter table deploy_key_projects
    add constraint deploy_key_projects_added_by_fkey foreign key (added_by) references users on delete set null;
