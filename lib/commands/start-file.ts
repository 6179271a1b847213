import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord, parseJson } from '../tools/json.ts';

const usual = ['', 'src/'].flatMap((folder) =>
  ['server', 'app', 'index', 'main'].flatMap((name) =>
    ['js', 'mjs', 'cjs', 'ts', 'mts', 'cts'].map((end) => `${folder}${name}.${end}`),
  ),
);

/** The file that starts the application, where a script or a usual name says it. */
export function startFile(directory: string): string | undefined {
  const manifest = parseJson(textOf(join(directory, 'package.json')).replace(/^\uFEFF/, ''));
  const scripts = isRecord(manifest) && isRecord(manifest['scripts']) ? manifest['scripts'] : {};
  const words = ['start', 'dev', 'start:dev'].flatMap((name) => String(scripts[name]).split(/\s+/));
  const named = words.find(
    (word) =>
      /^[\w./@-]+$/.test(word) && /(?:\.[cm]?[jt]s|\bbin\/[\w-]+)$/.test(word) && existsSync(join(directory, word)),
  );
  if (named !== undefined) return named;
  const [only, another] = usual.filter((file) => textOf(join(directory, file)).includes('.listen('));
  return another === undefined ? only : undefined;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
