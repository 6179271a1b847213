/** The part of the database that this app reads, as `supabase gen types` would write it. */
export interface NotesDatabase {
  public: {
    Tables: {
      notes: {
        Row: { id: string; user_id: string; body: string; created_at: string };
        Insert: { user_id: string; body: string };
        Update: { body?: string };
        Relationships: [];
      };
    };
    Views: Record<string, never>;
    Functions: Record<string, never>;
  };
}
