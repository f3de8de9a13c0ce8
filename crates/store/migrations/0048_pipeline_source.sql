-- What a pipeline was created by: push, web, api, trigger or external. Null in older rows, which are read as pushes.
alter table pipelines add column source text;
