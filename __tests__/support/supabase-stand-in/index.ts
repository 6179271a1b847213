export * from '../../../stand-ins/supabase/stand-in.ts';
