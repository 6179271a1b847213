import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { startTour } from '../../show/start.ts';
import type { RunningTour } from '../../show/start.ts';

const root = new URL('../../', import.meta.url);

/** The example in this process, against `lib/` and on a free port; the browser gets the typed client as it was built. */
export function startTourHere({ confirmsEmail = true } = {}): Promise<RunningTour> {
  const clientModules = new URL('dist/client', root).pathname;
  if (!existsSync(clientModules)) throw new Error('The browser needs the built client: npm run build');
  return startTour({
    settings: { port: 0, isRealWorkos: false, isRealSupabase: false, confirmsEmail },
    clientModules,
  });
}

export interface TourProcess {
  /** What it has printed so far. */
  readonly output: () => string;
  /** Resolves once it has printed this; rejects when it ends before. */
  printed(text: string): Promise<void>;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
  stop(): Promise<number | null>;
}

/** Resolves the package to its sources: the suite must not depend on what was built last. */
const resolveToSources = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
registerHooks({
  resolve(specifier, context, next) {
    const name = /^express-auth-adapters\\/(.+)$/.exec(specifier)?.[1];
    if (name === undefined) return next(specifier, context);
    const source = new URL(name + '/index.ts', '${new URL('lib/', root).href}');
    // \`require\` resolves paths, \`import\` URLs.
    return next(context.conditions.includes('require') ? source.pathname : source.href, context);
  },
});`)}`;

/** `npm start` without the build: a process of its own, with nothing of this one's environment that could matter. */
export function startTourProcess(
  environment: Readonly<Record<string, string>>,
  command: readonly string[] = ['show/server.ts'],
  cwd: string | URL = root,
): TourProcess {
  const child = spawn(process.execPath, ['--import', resolveToSources, ...command], {
    cwd,
    env: { PATH: process.env['PATH'], ...environment },
  });
  let output = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      listeners.forEach((listener) => listener());
    });
  }
  // `close`, not `exit`: only then everything printed has arrived.
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));

  return {
    output: () => output,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (output.includes(text)) resolve();
        };
        listeners.add(look);
        look();
        void ended.then((code) => reject(new Error(`It ended with ${code ?? 'a signal'} after: ${output}`)));
      }),
    ended,
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
}
