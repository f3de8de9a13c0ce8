alter table deploy_key_projects
    add constraint deploy_key_projects_project_id_fkey foreign key (project_id) references projects on delete cascade;
