-- cli/stack/sql/schema-reload.sql — tells the Data API about every change of the schema, as the platform does.
-- Grants and revokes are not in the list there either: they take effect without a reload.

create function extensions.pgrst_ddl_watch()
  returns event_trigger
  language plpgsql
as $$
begin
  if exists (
    select from pg_catalog.pg_event_trigger_ddl_commands() as command
    where coalesce(command.schema_name, '') not in ('pg_temp', 'auth')
      and command.command_tag in (
        'CREATE SCHEMA', 'ALTER SCHEMA', 'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE',
        'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'CREATE VIEW', 'ALTER VIEW', 'CREATE MATERIALIZED VIEW',
        'ALTER MATERIALIZED VIEW', 'CREATE FUNCTION', 'ALTER FUNCTION', 'CREATE TRIGGER', 'CREATE TYPE',
        'ALTER TYPE', 'CREATE RULE', 'COMMENT'
      )
  ) then
    notify pgrst, 'reload schema';
  end if;
end;
$$;

create function extensions.pgrst_drop_watch()
  returns event_trigger
  language plpgsql
as $$
begin
  if exists (
    select from pg_catalog.pg_event_trigger_dropped_objects() as dropped
    where not dropped.is_temporary
      and coalesce(dropped.schema_name, '') <> 'auth'
      and dropped.object_type in (
        'schema', 'table', 'foreign table', 'view', 'materialized view', 'function', 'trigger', 'type', 'rule'
      )
  ) then
    notify pgrst, 'reload schema';
  end if;
end;
$$;

create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();
create event trigger pgrst_drop_watch on sql_drop execute function extensions.pgrst_drop_watch();
