export * from '../../../example-app/providers/supabase/stand-in.ts';
