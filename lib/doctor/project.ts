import type { BackendOptions } from '../backend/options.ts';
import type { DoctorContext } from './environment.ts';
import type { Add } from './report.ts';

/** A Supabase project, and the application that it is for. */
export interface Project {
  readonly options: BackendOptions;
  readonly context: DoctorContext;
}

/** A project that told its settings to the key. */
export interface OpenProject extends Project {
  readonly settings: Readonly<Record<string, unknown>>;
  /** Those of its ways to sign in, by their names. */
  readonly external: Readonly<Record<string, unknown>>;
}

/** Reports what the settings say of one capability, after a question where they do not say enough. */
export type CheckSettings = (project: OpenProject, add: Add) => void | Promise<void>;

/** Asks the project about one capability, beside the question for its settings. @returns what reports the answer */
export type AskProject = (project: Project) => Promise<(add: Add) => void>;
