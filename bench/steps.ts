import { randomBytes } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { unsealData } from 'iron-session';
import { createCookieFinder, parseCookies } from '../lib/tools/cookies.ts';
import { createPathMatcher } from '../lib/tools/paths/path-matcher.ts';
import { createKeySet } from '../lib/session/keys.ts';
import { verifyAccessToken, readToken } from '../lib/session/jwt.ts';
import { createSessionCache, unseen } from '../lib/session/cache.ts';
import { createSeal, openSeal } from '../lib/b2b/seal.ts';
import type { Fixtures } from './fixtures.ts';
import { median } from './measure.ts';

/** The cost of each step that requests share, and the memory of cached sessions: a process of its own, run with `--expose-gc`. */

export interface Step {
  readonly title: string;
  /** Microseconds. */
  readonly cost: number;
}

export interface Memory {
  readonly sessions: number;
  readonly bytesEach: number;
}

export interface StepResults {
  readonly steps: readonly Step[];
  readonly memory: readonly Memory[];
}

interface Opened {
  readonly accessToken: string;
  readonly user: { readonly id: string };
}

async function run(fixtures: Fixtures, batchMs: number, sizes: readonly number[]): Promise<StepResults> {
  const { b2bCookie, backendCookie, password, host, port } = fixtures;
  const header = fixtures.paddedCookies[4] ?? b2bCookie;
  const seal = b2bCookie.slice('b2b-session='.length);
  const { accessToken } = openSeal(seal, password, Date.now()) as Opened;
  const supabaseToken = tokenOf(backendCookie);
  const keysAt = (path: string) => createKeySet({ url: `http://${host}:${port}${path}`, now: Date.now });
  const workosKeys = keysAt('/sso/jwks/client');
  const supabaseKeys = keysAt('/auth/v1/.well-known/jwks.json');
  const sealer = createSeal([password]);
  const content = openSeal(seal, password, Date.now());
  const verified = createSessionCache(1000, Date.now);
  verified.add(seal, sessionLike(content as Opened));
  const socket = new Socket();
  const nextRequest = () => new IncomingMessage(socket);
  const [weakMap, symbol] = [new WeakMap<object, unknown>(), Symbol('value')];
  const matchers = [5, 50, 500].map((count) => [count, createPathMatcher(patterns(count))] as const);

  const findSession = createCookieFinder('b2b-session');
  const nextHeader = copiesOf(header);
  const nextSeal = copiesOf(seal);
  const titled: readonly (readonly [string, () => unknown])[] = [
    ['find the session in a 4 KB Cookie header', () => findSession(nextHeader())],
    ['look up a verified session', () => verified.get(nextSeal())],
    ['make a request object', () => nextRequest()],
    ['make one, and attach a value by a WeakMap', () => weakMap.set(nextRequest(), content)],
    [
      'the same by a symbol that printing does not show',
      () => Object.defineProperty(nextRequest(), symbol, { value: content }),
    ],
    ...matchers.map(
      ([count, isProtected]) =>
        [`test a path against ${count} patterns`, () => isProtected('/a-page/of/the-app')] as const,
    ),
    ['parse a 4 KB Cookie header', () => parseCookies(nextHeader())],
    ['open a seal of 2.3 KB', () => openSeal(seal, password, Date.now())],
    ['the same by iron-session', () => unsealData(seal, { password: { 1: password }, ttl: 0 })],
    ['seal it again', () => sealer.seal(content)],
    ['read a token without trust', () => readToken(accessToken)],
    ['verify an RS256 token', () => verifyAccessToken(readToken(accessToken), workosKeys, Date.now)],
    ['verify an ES256 token', () => verifyAccessToken(readToken(supabaseToken), supabaseKeys, Date.now)],
  ];
  const steps: Step[] = [];
  for (const [title, step] of titled) steps.push({ title, cost: await costOf(step, batchMs) });
  return { steps, memory: sizes.map((sessions) => memoryOf(sessions, content as Opened)) };
}

/** Copies of the same text, in rotation, as requests bring new strings: one string would be compared and searched only once. */
function copiesOf(text: string): () => string {
  const copies = Array.from({ length: 64 }, () => Buffer.from(text, 'latin1').toString('latin1'));
  let next = 0;
  return () => copies[next++ % copies.length] ?? text;
}

/** Median over batches, in microseconds. */
async function costOf(step: () => unknown, batchMs: number): Promise<number> {
  const costs: number[] = [];
  for (let batch = 0; batch < 11; batch += 1) {
    const start = performance.now();
    let runs = 0;
    while (performance.now() - start < batchMs) {
      for (let repeat = 0; repeat < 20; repeat += 1) {
        const result = step();
        if (result instanceof Promise) await result;
      }
      runs += 20;
    }
    costs.push(((performance.now() - start) / runs) * 1000);
  }
  return median(costs);
}

/** A full cache, in which every session and every cookie is distinct. */
function memoryOf(sessions: number, content: Opened): Memory {
  globalThis.gc?.();
  const before = process.memoryUsage();
  const cache = createSessionCache(sessions, Date.now);
  for (let added = 0; added < sessions; added += 1) {
    cache.add(randomBytes(1725).toString('base64url'), sessionLike(content));
  }
  globalThis.gc?.();
  const after = process.memoryUsage();
  // Keeps the sessions' objects alive until here.
  cache.delete('');
  return { sessions, bytesEach: (after.heapUsed + after.external - before.heapUsed - before.external) / sessions };
}

function sessionLike(content: Opened) {
  const { accessToken, user } = JSON.parse(JSON.stringify(content)) as Opened;
  const expiresAt = Date.now() + 3_600_000;
  const claims = { ...readToken(accessToken).claims, sub: user.id, exp: expiresAt / 1000 };
  const { id } = user;
  const shown = { id, email: `${id}@example.com`, firstName: 'Ada', lastName: null, profilePictureUrl: null };
  const session = {
    adapter: 'b2b' as const,
    credential: 'cookie' as const,
    user: shown,
    accessToken,
    claims,
    expiresAt,
  };
  const keys = { session: undefined, subjects: [], pair: undefined, beganAt: 0, issuedAt: 0 };
  return { session, keys, validUntil: expiresAt, checkedAt: Date.now(), changes: unseen };
}

function tokenOf(cookie: string): string {
  const value = cookie.slice(cookie.indexOf('=') + 1);
  const text = Buffer.from(value.replace(/^base64-/, ''), 'base64url').toString();
  return (JSON.parse(text) as { access_token: string }).access_token;
}

function patterns(count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    index % 2 === 0 ? `/section-${index}(.*)` : `/area-${index}/:id`,
  );
}

process.on('message', ({ fixtures, batchMs, sizes }: { fixtures: Fixtures; batchMs: number; sizes: number[] }) => {
  run(fixtures, batchMs, sizes).then(
    (results) => process.send?.(results),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
  );
});
