/** One measured server in a separate process: the variant from the command line, and its costs on request. */
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Fixtures } from './fixtures.ts';

export interface Variant {
  readonly app: RequestListener;
  /** The path to request; default `/`. */
  readonly path?: string;
  /** `Cookie` headers, used in rotation; default none. */
  readonly cookies?: readonly string[];
  /** A path that returns session cookies, for peers that only issue them over HTTP. */
  readonly signInPath?: string;
}

export interface Ready {
  readonly port: number;
  readonly path: string;
  readonly cookies: readonly string[];
}

export interface Usage {
  /** Microseconds, user and system. */
  readonly cpu: number;
  readonly heapUsed: number;
  readonly rss: number;
}

type VariantModule = Readonly<Record<string, (fixtures: Fixtures) => Variant | Promise<Variant>>>;

async function start(fixtures: Fixtures): Promise<Ready> {
  const [group = '', name = ''] = (process.argv[2] ?? '').split('.');
  const isFormer = group === 'former';
  // lib.ts reads it once the variants are imported.
  if (isFormer) process.env['BENCH_LIB'] = process.env['BENCH_FORMER'];
  const file = isFormer ? 'ours' : group;
  const variants = (await import(`./variants/${file}.js`)) as VariantModule;
  const variant = await variants[name]?.(fixtures);
  if (variant === undefined) throw new Error(`There is no variant ${file}.${name}`);
  // Twice Node's default limit, which is below 16 KB of cookies.
  const server = createServer({ maxHeaderSize: 32 * 1024 }, variant.app);
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const cookies = variant.signInPath === undefined ? (variant.cookies ?? []) : [await signIn(port, variant.signInPath)];
  return { port, path: variant.path ?? '/', cookies };
}

async function signIn(port: number, path: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual' });
  const cookies = response.headers.getSetCookie();
  if (cookies.length === 0) throw new Error(`${path} set no cookie (${response.status} ${await response.text()})`);
  return cookies.map((cookie) => cookie.split(';', 1)[0]).join('; ');
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  const { heapUsed, rss } = process.memoryUsage();
  return { cpu: user + system, heapUsed, rss };
}

process.on('message', (message: Fixtures | 'usage') => {
  if (message === 'usage') process.send?.(usage());
  else
    start(message).then(
      (ready) => process.send?.(ready),
      (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
    );
});
