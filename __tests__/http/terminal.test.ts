import { jest } from '@jest/globals';
import createDebug from 'debug';
import { backendAuth } from '../../lib/backend/index.ts';
import { createApplication } from '../support/application.ts';
import { withNodeEnv } from '../support/node-env.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

/** A line of error pages that is for developers, and true. */
const line = 'The terminal says why.';

let server: RunningServer;
let visitor: Visitor;
let warn: jest.SpiedFunction<typeof process.emitWarning>;
const { log } = createDebug;

beforeEach(async () => {
  warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const { host, listener } = createApplication();
  host.use(backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test' }));
  server = await serve(listener);
  visitor = createVisitor(server.origin);
});
afterEach(async () => {
  createDebug.disable();
  createDebug.log = log;
  jest.restoreAllMocks();
  await server.close();
});

const outage = (): Promise<string> =>
  visitor.get('/auth/login?provider=github').then(() => text('/auth/callback?code=made-up'));
const text = async (path: string): Promise<string> => (await visitor.get(path)).text;
async function postFrom(origin: string): Promise<string> {
  const headers = { origin, 'content-type': 'application/x-www-form-urlencoded' };
  return (await visitor.post('/auth/login', { headers, body: 'email=a' })).text;
}

it('an error page in development says that the terminal says why, once a warning has named the cause', async () => {
  await withNodeEnv('development', async () => {
    const query = '/auth/callback?error=server_error&error_code=unexpected_failure';
    expect(await text(query)).toContain('For support:');
    expect(warn).not.toHaveBeenCalled();
    expect(await text(query)).not.toContain(line);
    expect(await outage()).toContain(line);
    expect(warn.mock.calls.map(([message]) => String(message)).join()).toContain('did not answer');
    // Of the query's own failure no warning tells.
    expect(await text(query)).not.toContain(line);
    expect(await text('/auth/callback?code=x&state=y')).not.toContain(line);
  });
});

it.each(['production', 'test', 'staging'])('no page says so where NODE_ENV is %s', async (mode) => {
  await withNodeEnv(mode, async () => {
    createDebug.log = () => undefined;
    createDebug.enable('express-auth-adapters:*');
    expect(await outage()).not.toContain(line);
  });
});

it('a page that refuses another site says so only where a warning names that site', async () => {
  await withNodeEnv(undefined, async () => {
    expect(await postFrom('http://localhost:5173')).toContain(line);
    expect(warn.mock.calls.map(([message]) => String(message)).join()).toContain('http://localhost:5173');
    expect(await postFrom('https://evil.example')).not.toContain(line);
    expect(await postFrom('null')).not.toContain(line);
  });
});

it('every error page says so where DEBUG prints each refusal', async () => {
  await withNodeEnv(undefined, async () => {
    const printed: string[] = [];
    createDebug.log = (...given: unknown[]) => void printed.push(String(given[0]));
    createDebug.enable('express-auth-adapters:*');
    expect(await text('/auth/pages.svg')).toContain(line);
    expect(printed.length).toBeGreaterThan(0);
  });
});
