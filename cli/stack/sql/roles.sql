-- cli/stack/sql/roles.sql — the roles of a Supabase project, on an empty database. Run as the superuser.
-- Passwords are set by the caller with `alter role`, so that no secret stands in a file.

create role anon nologin inherit;
create role authenticated nologin inherit;
create role service_role nologin inherit bypassrls;
create role authenticator login noinherit;
create role supabase_auth_admin login noinherit;

-- As on the platform since Postgres 16: no superuser, but able to hand the three API roles on.
create role postgres login nosuperuser createdb createrole replication bypassrls;
grant anon, authenticated, service_role to postgres with admin option;
grant pg_monitor, pg_read_all_data, pg_signal_backend to postgres with admin option;

grant anon, authenticated, service_role to authenticator;

-- A role's own timeout applies at its login only; the Data API applies those of the first two per request.
alter role anon set statement_timeout = '3s';
alter role authenticated set statement_timeout = '8s';
alter role authenticator set statement_timeout = '8s';
alter role authenticator set lock_timeout = '8s';
alter role supabase_auth_admin set search_path = auth;
alter role postgres set search_path = "$user", public, extensions;

-- Makes postgres the owner of public, too: that schema belongs to whoever owns the database.
alter database postgres owner to postgres;

create schema extensions authorization supabase_admin;
create extension pgcrypto with schema extensions;
create extension "uuid-ossp" with schema extensions;
grant usage on schema public, extensions to postgres, anon, authenticated, service_role;
-- Ours: the real service hashes passwords by itself, ours asks pgcrypto.
grant usage on schema extensions to supabase_auth_admin;
grant create on schema extensions to postgres;

-- The historic default of existing projects, harsher for us than the rule of 2026: whatever a migration
-- creates in public is open to all three roles until that migration revokes it.
alter default privileges for role postgres in schema public
  grant all on tables to postgres, anon, authenticated, service_role;
alter default privileges for role postgres in schema public
  grant all on functions to postgres, anon, authenticated, service_role;
alter default privileges for role postgres in schema public
  grant all on sequences to postgres, anon, authenticated, service_role;
alter default privileges for role supabase_admin in schema public
  grant all on tables to postgres, anon, authenticated, service_role;
alter default privileges for role supabase_admin in schema public
  grant all on functions to postgres, anon, authenticated, service_role;
alter default privileges for role supabase_admin in schema public
  grant all on sequences to postgres, anon, authenticated, service_role;
