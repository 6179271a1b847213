import http from 'node:http';
import { getSession } from '../../lib/index.ts';
import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import type { Host } from '../support/hosts.ts';
import { until } from '../support/until.ts';
import { send } from '../support/visitor.ts';

/** Handlers that do not wait for the session before they answer. */
function addHandlers(app: Host): void {
  app.get('/head-first', (req, res, next) => {
    res.writeHead(200, { 'content-type': 'text/plain' });
    res.write('first ');
    getSession(req).then((session) => res.end(session === null ? 'signed out' : 'signed in'), next);
  });
  app.get('/meanwhile', (req, res, next) => {
    const asked = getSession(req);
    res.writeHead(200, { 'content-type': 'text/plain' });
    res.write('first ');
    asked.then((session) => res.end(session === null ? 'signed out' : 'signed in'), next);
  });
  app.get('/stream', (req, res, next) => {
    getSession(req).then((session) => {
      res.writeHead(200, { 'content-type': 'text/plain', 'set-cookie': 'own=1', 'cache-control': 'public' });
      res.write(session === null ? 'signed out ' : 'signed in ');
      res.end('end');
    }, next);
  });
  app.get('/never', (req, _res, next) => {
    getSession(req).then(() => undefined, next);
  });
}

describe.each(adapters)('$name, when the head is sent', ({ start }) => {
  let app: AppUnderTest;
  let crashes: unknown[] = [];
  const crash = (reason: unknown): void => void crashes.push(reason);
  beforeAll(async () => {
    process.on('unhandledRejection', crash);
    app = await start({ after: addHandlers });
  });
  beforeEach(() => {
    crashes = [];
  });
  afterEach(() => {
    expect(crashes).toEqual([]);
  });
  afterAll(async () => {
    process.off('unhandledRejection', crash);
    await app.close();
  });

  const socketUrl = (path: string): string => `http://127.0.0.1:${new URL(app.origin).port}${path}`;

  async function withExpiredToken() {
    const visitor = await app.signedIn();
    app.expireTokens();
    app.forget();
    return visitor;
  }

  it('uses no token for a handler that asks too late, and reports it', async () => {
    const visitor = await withExpiredToken();
    const late = await visitor.get('/head-first');
    expect([late.status, late.text, late.setCookies]).toEqual([200, 'first signed out', []]);
    expect(app.eventTypes()).toEqual(['refresh_skipped']);
    expect(app.refreshes()).toEqual([]);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('still returns a valid session to a handler that asks late', async () => {
    const visitor = await app.signedIn();
    expect((await visitor.get('/head-first')).text).toBe('first signed in');
  });

  it('keeps the tokens for the next request if the head was sent before the refresh was done', async () => {
    const visitor = await withExpiredToken();
    const gate = app.gate();
    const meanwhile = visitor.get('/meanwhile');
    // Whichever comes first: the refresh was started before the head, or not at all.
    await Promise.race([gate.arrived(), meanwhile]);
    gate.open();
    const late = await meanwhile;
    expect([late.status, late.setCookies]).toEqual([200, []]);
    // Only a refresh that was started before the head can lose its cookie; otherwise none was started.
    expect(app.eventTypes().some((type) => type === 'cookie_lost' || type === 'refresh_skipped')).toBe(true);
    app.clock.advance(60_000);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(app.refreshes()).toHaveLength(1);
  });

  it('adds the cookie to a head that the handler writes itself, and prevents caching', async () => {
    const visitor = await withExpiredToken();
    const streamed = await visitor.get('/stream');
    expect(streamed.text).toBe('signed in end');
    expect(streamed.setCookies).toHaveLength(2);
    expect(streamed.setCookies[0]).toBe('own=1');
    expect(streamed.headers['cache-control']).toBe('private, no-store');
    app.clock.advance(30_000);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(app.refreshes()).toHaveLength(1);
  });

  it('gives the next request the tokens of a client that disconnected during the refresh, long after', async () => {
    const visitor = await withExpiredToken();
    const gate = app.gate();
    const abandoned = http.get(socketUrl('/api/me'), { agent: false, headers: { cookie: visitor.cookieHeader() } });
    abandoned.on('error', () => undefined);
    await gate.arrived();
    const closed = new Promise((resolve) => abandoned.once('close', resolve));
    abandoned.destroy();
    await closed;
    gate.open();
    await until(() => app.eventTypes().includes('cookie_lost'));
    app.clock.advance(120_000);
    const next = await visitor.getJson('/api/me');
    expect([next.status, next.setCookies.length]).toEqual([200, 1]);
    expect(app.refreshes()).toHaveLength(1);
  });

  it('gives them to other requests while a response takes longer than any cache', async () => {
    const visitor = await withExpiredToken();
    const cookie = visitor.cookieHeader();
    const endless = http.get(socketUrl('/never'), { agent: false, headers: { cookie } });
    endless.on('error', () => undefined);
    await until(() => app.eventTypes().includes('session_refreshed'));
    app.clock.advance(60_000);
    const headers = { cookie, accept: 'application/json' };
    expect((await send(new URL('/api/me', app.origin), { headers })).status).toBe(200);
    endless.destroy();
    await until(() => app.eventTypes().includes('cookie_lost'));
    expect(app.refreshes()).toHaveLength(1);
  });
});
