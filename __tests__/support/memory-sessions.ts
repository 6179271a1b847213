import { createHash } from 'node:crypto';
import { chunkNames, cookiesHolding } from '../../lib/tools/cookie-chunks.ts';
import { createCookieFinder } from '../../lib/tools/cookies.ts';
import type { CookieWrite } from '../../lib/tools/cookies.ts';
import { createSessions } from '../../lib/session/sessions.ts';
import type { SharedCoordinator } from '../../lib/session/coordinator.ts';
import type { SessionResolver } from '../../lib/session/sessions.ts';
import type { Resolution } from '../../lib/session/source.ts';
import type { RefreshOutcome, SessionSource, StoredSession } from '../../lib/session/source.ts';
import { readToken } from '../../lib/session/jwt.ts';
import type { AuthEvent } from '../../lib/types.ts';
import { createClock } from './clock.ts';
import type { Clock } from './clock.ts';

export interface MemoryContent {
  readonly userId: string;
  readonly sessionId: string;
  readonly refreshToken: string;
  /** Of the sign-in; a refresh keeps it. */
  readonly beganAt: number;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** Where a test may hold something back, or let a scheduler decide when it goes on. */
export type Pause = (what: 'read' | 'verify' | 'refresh' | 'answer' | 'write') => Promise<unknown>;

export interface MemoryProvider {
  /** Refresh tokens in the order in which they were sent. */
  readonly calls: string[];
  issue(userId: string): MemoryContent;
  revoke(sessionId: string): void;
  /** Instead of an answer; `lost` rotates all the same. */
  fault: 'lost' | 'outage' | undefined;
  refresh(content: MemoryContent): Promise<RefreshOutcome<MemoryContent>>;
}

export const tokenLifetimeMs = 300_000;

/** A provider whose refresh tokens are good for exactly one exchange. */
export function createMemoryProvider(clock: Clock, pause: Pause = () => Promise.resolve()): MemoryProvider {
  const good = new Set<string>();
  const revoked = new Set<string>();
  let serial = 0;

  function next(userId: string, sessionId: string, beganAt = clock.now()): MemoryContent {
    serial += 1;
    const refreshToken = `refresh-${serial}`;
    good.add(refreshToken);
    const issuedAt = clock.now();
    return { userId, sessionId, refreshToken, beganAt, issuedAt, expiresAt: issuedAt + tokenLifetimeMs };
  }

  const provider: MemoryProvider = {
    calls: [],
    fault: undefined,
    issue: (userId) => next(userId, `session-${userId}-${serial}`),
    revoke: (sessionId) => void revoked.add(sessionId),
    async refresh({ userId, sessionId, refreshToken, beganAt }) {
      provider.calls.push(refreshToken);
      await pause('refresh');
      const { fault } = provider;
      if (fault === 'outage') return { kind: 'unanswered', cause: new Error('down') };
      const isGood = good.delete(refreshToken) && !revoked.has(sessionId);
      const outcome: RefreshOutcome<MemoryContent> = isGood
        ? { kind: 'renewed', content: next(userId, sessionId, beganAt) }
        : { kind: 'ended', reason: 'invalid_grant' };
      if (fault === 'lost') return { kind: 'unanswered', cause: new Error('lost') };
      await pause('answer');
      return outcome;
    },
  };
  return provider;
}

const cookieName = 'memory';

export function toCookie(content: MemoryContent): string {
  // A real cookie differs from the others all over. The cache finds a cookie by some of its characters.
  const seal = createHash('sha512').update(content.refreshToken).digest('hex');
  return `${Buffer.from(JSON.stringify(content)).toString('base64url')}.${seal.repeat(4)}`;
}

export function fromCookie(value: string): MemoryContent | undefined {
  try {
    return JSON.parse(Buffer.from(value.split('.', 1)[0] ?? '', 'base64url').toString()) as MemoryContent;
  } catch {
    return undefined;
  }
}

/** Each answer of the provider has an access token of its own; the start of the session is not in it. */
function accessTokenOf(content: MemoryContent): string {
  const claims = JSON.stringify({ ...content, beganAt: undefined });
  const signature = createHash('sha512').update(claims).digest('base64url');
  const times = JSON.stringify({ exp: content.expiresAt / 1000, iat: content.issuedAt / 1000 });
  return `access.${Buffer.from(times).toString('base64url')}.${signature}`;
}

/** The session as the source reads it. */
export function storedOf(content: MemoryContent): StoredSession<MemoryContent> {
  return {
    content,
    refreshToken: content.refreshToken,
    sessionId: content.sessionId,
    userId: content.userId,
    beganAt: content.beganAt,
    issuedAt: content.issuedAt,
    tokenLifetimeMs: content.expiresAt - content.issuedAt,
    token: readToken(accessTokenOf(content)),
  };
}

export function createMemorySource(
  provider: MemoryProvider,
  clock: Clock,
  pause: Pause = () => Promise.resolve(),
): SessionSource<MemoryContent> {
  return {
    adapter: 'b2b',
    isSealed: true,
    findCookie: createCookieFinder(cookieName),
    async read(cookies) {
      const values = cookies.get(cookieName) ?? [];
      if (values.length === 0) return { kind: 'none' };
      await pause('read');
      const candidates = values.flatMap((cookie) => {
        const content = fromCookie(cookie);
        return content === undefined ? [] : [{ ...storedOf(content), cookie }];
      });
      return candidates.length === 0 ? { kind: 'unreadable', reason: 'unreadable' } : { kind: 'stored', candidates };
    },
    async verify(content) {
      await pause('verify');
      const { userId, sessionId, expiresAt, refreshToken, issuedAt } = content;
      if (expiresAt <= clock.now()) return { kind: 'expired' };
      const claims = { sub: userId, sid: sessionId, exp: expiresAt / 1000, iat: issuedAt / 1000 };
      const user = { id: userId, email: `${userId}@example.com` };
      return {
        kind: 'live',
        session: {
          adapter: 'b2b',
          credential: 'cookie',
          user,
          sessionId,
          accessToken: `access for ${refreshToken}`,
          claims,
          expiresAt,
        },
      };
    },
    verifyBearer: () => Promise.resolve({ kind: 'invalid', reason: 'unsupported' }),
    verifyForResource: () => Promise.resolve({ kind: 'invalid', reason: 'unsupported' }),
    refresh: (content) => provider.refresh(content),
    factsOf: ({ sid, sub, iat }) => ({
      sessionId: typeof sid === 'string' ? sid : undefined,
      userId: typeof sub === 'string' ? sub : undefined,
      beganAt: 0,
      issuedAt: Number(iat) * 1000,
    }),
    toStored: storedOf,
    serialize: (content) => JSON.stringify(content),
    deserialize: (text) => JSON.parse(text) as MemoryContent,
    async write(content) {
      await pause('write');
      return [{ name: cookieName, value: toCookie(content) }];
    },
    cookieBytes: (content) => toCookie(content).length,
    slim: (content) => content,
    holding: (cookies, sessions) => cookiesHolding(cookies, cookieName, sessions),
    clear: (cookies): CookieWrite[] => chunkNames(cookies, cookieName).map((name) => ({ name, value: undefined })),
  };
}

/** What a source of tokens that name no session does otherwise. */
export function withoutSessionIds(
  source: SessionSource<MemoryContent>,
): Pick<SessionSource<MemoryContent>, 'read' | 'toStored' | 'factsOf'> {
  const none = { sessionId: undefined };
  return {
    async read(cookies) {
      const outcome = await source.read(cookies);
      if (outcome.kind !== 'stored') return outcome;
      return { ...outcome, candidates: outcome.candidates.map((candidate) => ({ ...candidate, ...none })) };
    },
    toStored: (content) => ({ ...source.toStored(content), ...none }),
    factsOf: (claims) => ({ ...source.factsOf(claims), ...none }),
  };
}

export interface MemoryApp {
  readonly clock: Clock;
  readonly provider: MemoryProvider;
  readonly resolver: SessionResolver<MemoryContent>;
  readonly events: Omit<AuthEvent, 'adapter'>[];
  /** The names of the events so far. */
  readonly eventTypes: () => string[];
}

export interface MemoryAppSetup {
  readonly clock?: Clock;
  readonly provider?: MemoryProvider;
  readonly pause?: Pause;
  readonly maxCachedSessions?: number;
  /** Seconds. */
  readonly refreshWindow?: number;
  readonly shared?: SharedCoordinator;
  readonly timeoutMs?: number;
  readonly source?: Partial<SessionSource<MemoryContent>>;
}

/** The shared mechanism as an adapter puts it together, with a source that lives in memory. */
export function createMemoryApp(setup: MemoryAppSetup = {}): MemoryApp {
  const { clock = createClock(), pause, maxCachedSessions = 100, refreshWindow = 0, timeoutMs = 5_000 } = setup;
  const provider = setup.provider ?? createMemoryProvider(clock, pause);
  const events: Omit<AuthEvent, 'adapter'>[] = [];
  const source = { ...createMemorySource(provider, clock, pause), ...setup.source };
  const resolver = createSessions(source, {
    timeoutMs,
    refreshWindow,
    maxCachedSessions,
    coordinator: setup.shared,
    emit: (event) => void events.push(event),
    now: clock.now,
  });
  return { clock, provider, resolver, events, eventTypes: () => events.map(({ type }) => type) };
}

/** A browser's cookie jar for the one cookie that there is. */
export interface MemoryBrowser {
  cookie: string | undefined;
  header(): string | undefined;
  /** What the browser does with a response's cookies, and what the server then knows. */
  receive(resolution: Pick<Resolution, 'cookies' | 'onDelivered' | 'isCurrent'>): void;
}

export function createMemoryBrowser(content?: MemoryContent): MemoryBrowser {
  const browser: MemoryBrowser = {
    cookie: content === undefined ? undefined : toCookie(content),
    header: () => (browser.cookie === undefined ? undefined : `${cookieName}=${browser.cookie}`),
    receive({ cookies, onDelivered, isCurrent }) {
      if (isCurrent?.() ?? true) for (const { value } of cookies) browser.cookie = value;
      onDelivered?.();
    },
  };
  return browser;
}

/** One request to a page, the way the context of a request asks: first the cheap look. */
export async function visit(
  { resolver }: MemoryApp,
  header: string | undefined,
  isHeadSent: () => boolean = () => false,
): Promise<Resolution> {
  const known = resolver.cachedSession(header);
  return known === undefined ? resolver.resolve(header, isHeadSent) : { session: known, cookies: [] };
}
