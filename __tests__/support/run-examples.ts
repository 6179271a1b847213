/**
 * Runs examples as their reader would: each file is imported by its path, and `express-auth-adapters` is this package's source.
 * For the blocks of the docs `next` is a stand-in, and WorkOS' SDK calls the local one. Every `listen` gets a free port of the loopback
 * address in place of the example's own, and requests may say from which network they come. Started by `run-blocks.test.ts` and `recipe-code.ts`, which it tells what happened.
 *
 *     node run-examples.ts <file>…
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { registerHooks } from 'node:module';
import net from 'node:net';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface ExampleReport {
  readonly file: string;
  /** Of the server that the example has started, if it did. */
  readonly port?: number;
  readonly error?: string;
}

const root = new URL('../../', import.meta.url);

const standIn = (file: string): string => new URL(`__tests__/support/${file}`, root).href;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const isExample = context.parentURL?.includes('/reports/docs-runs/') === true;
    if (isExample && specifier === '@workos-inc/node') return nextResolve(standIn('recipe-workos.ts'), context);
    if (isExample && specifier === 'next') return nextResolve(standIn('recipe-next.ts'), context);
    const [isOwn, entry] = /^express-auth-adapters(?:\/(\w+(?:\/\w+)?))?$/.exec(specifier) ?? [];
    if (isOwn === undefined) return nextResolve(specifier, context);
    const file = entry === undefined ? 'index' : entry.startsWith('texts/') ? entry : `${entry}/index`;
    const source = new URL(`lib/${file}.ts`, root);
    // `require` resolves paths, `import` URLs.
    return nextResolve(context.conditions.includes('require') ? fileURLToPath(source) : source.href, context);
  },
});

const servers: net.Server[] = [];
const listen = Reflect.get(net.Server.prototype, 'listen');
net.Server.prototype.listen = function (this: net.Server, ...asked: readonly unknown[]) {
  servers.push(this);
  this.prependListener('request', comeFrom);
  const callback = asked.find((argument) => typeof argument === 'function');
  return Reflect.apply(listen, this, [0, '127.0.0.1', callback]);
};

/** A request of a test says from which network it comes; each has a connection of its own. */
function comeFrom({ socket, headers }: IncomingMessage): void {
  const { 'x-test-address': value } = headers;
  if (value !== undefined) Object.defineProperty(socket, 'remoteAddress', { value });
}

for (const file of process.argv.slice(2)) process.send?.(await run(file));
process.send?.({ file: '' } satisfies ExampleReport);

async function run(file: string): Promise<ExampleReport> {
  try {
    await import(pathToFileURL(file).href);
    const server = servers.pop();
    if (server === undefined) return { file };
    if (!server.listening) await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? { file, port: address.port } : { file };
  } catch (error) {
    return { file, error: String(error) };
  }
}
