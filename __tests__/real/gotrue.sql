-- What a plain PostgreSQL needs before `gotrue migrate`, run as its superuser.
CREATE USER supabase_auth_admin LOGIN CREATEROLE BYPASSRLS PASSWORD 'root';
CREATE SCHEMA auth AUTHORIZATION supabase_auth_admin;
GRANT CREATE ON DATABASE postgres TO supabase_auth_admin;
ALTER USER supabase_auth_admin SET search_path = 'auth';
