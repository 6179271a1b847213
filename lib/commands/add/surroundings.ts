import type { AdapterName } from '../../types.ts';

type Variables = Readonly<Record<string, string>>;

/** What the command touches beside the files of the project. */
export interface Surroundings {
  /** The application's folder. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly print: (text: string) => void;
  /** Runs a program there. @returns its exit code, or `undefined` where it is not installed */
  readonly run: (
    program: string,
    args: readonly string[],
    options?: { readonly isQuiet: boolean },
  ) => Promise<number | undefined>;
  readonly runDoctor: (adapter: AdapterName) => Promise<unknown>;
  readonly standIns: {
    readonly settings: (adapter: AdapterName) => Promise<Variables>;
    /** The text of a `.env` with these settings, in lines that `providers` knows. */
    readonly withSettings: (text: string, settings: Variables) => string;
  };
}
