import { readFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { endSession } from '../../lib/index.ts';
import { ada } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { connect } from '../support/consent.ts';
import { startTwoAdapters } from '../support/two-adapters.ts';
import type { AdapterName, Process, TwoAdapters } from '../support/two-adapters.ts';
import type { Visitor } from '../support/visitor.ts';

// The table of docs/ending-sessions.md: each cell is what these tests measure.

const columns = [
  'Cookie, here',
  'Cookie, in another process',
  'Bearer token',
  'WebSocket',
  'Stream',
  "Gateway's kept cookie",
  'Pending sign-in',
] as const;
type Column = (typeof columns)[number];
type Headers = Readonly<Record<string, string>>;

const closed = closeAfterEach();

beforeEach(() =>
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] }),
);
afterEach(() => jest.useRealTimers());

/** Turns in which everything under way without a timer settles. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

async function pass(world: TwoAdapters, ms: number): Promise<void> {
  world.clock.advance(ms);
  await jest.advanceTimersByTimeAsync(ms);
  await settle();
}

/** Whose credentials end, or would. */
interface Target {
  readonly visitor: Visitor;
  /** An access token of the session, or of an app that the user has connected. */
  readonly tokens: () => Promise<readonly string[]>;
  readonly sessionId: () => Promise<string>;
}

interface Row {
  /** The first cell of its row. */
  readonly label: string;
  readonly variant?: string;
  readonly adapters: readonly AdapterName[];
  /** Whose tokens are bearer tokens: default the session's own. */
  readonly tokensOf?: 'session' | 'app' | 'both';
  /** Whether the acting browser is the one that ends. */
  readonly isOwn?: boolean;
  readonly options?: object;
  /** A browser of the same user before it acts. */
  readonly actor?: (world: TwoAdapters) => Promise<Visitor>;
  readonly act: (world: TwoAdapters, actor: Visitor, target: Target) => Promise<unknown>;
  /** Whether the provider ends sessions that this package only makes renew. */
  readonly isOfFactor?: boolean;
  /** Whether the acting browser's session goes on. */
  readonly isActorKept?: boolean;
}

const supabaseOf = ({ supabase }: TwoAdapters) => {
  if (supabase === undefined) throw new Error('There is no Supabase here');
  return supabase;
};

const code = (world: TwoAdapters): string =>
  supabaseOf(world).codeOf(
    supabaseOf(world)
      .factorsOf(ada.email)
      .find(({ isVerified }) => isVerified)!,
  );

const enrolled = (world: TwoAdapters): boolean =>
  world.supabase?.factorsOf(ada.email).some(({ isVerified }) => isVerified) ?? false;

async function succeed(answer: Promise<{ readonly status: number; readonly text: string }>): Promise<void> {
  const { status, text } = await answer;
  if (status >= 400) throw new Error(`${status}: ${text}`);
}

/** Both factors, where the account has two. */
async function signIn(world: TwoAdapters): Promise<Visitor> {
  const visitor = await world.signedIn();
  if (enrolled(world)) await succeed(visitor.postJson('/auth/verify', { code: code(world) }));
  return visitor;
}

const both = ['b2b', 'backend'] as const;
const backend = ['backend'] as const;
const others = { adapters: backend, tokensOf: 'both' } as const;

const ofFactor = {
  ...others,
  label: "A second factor, given or added: the user's others below `aal2`",
  isOfFactor: true,
  isActorKept: true,
} as const;

const rows: readonly Row[] = [
  {
    label: "Sign-out with `signOutScope: 'local'`: the browser's session",
    adapters: both,
    isOwn: true,
    act: (world, actor) => succeed(actor.postJson(world.logoutPath)),
  },
  {
    ...others,
    label: "Sign-out with `signOutScope: 'global'`: the user's sessions",
    options: { signOutScope: 'global' },
    act: (_world, actor) => succeed(actor.postJson('/auth/logout')),
  },
  ...(['global', 'others'] as const).flatMap((scope) => {
    const row = {
      ...others,
      label: "`auth.signOut`, or the page of the account, with `global` or `others`: the user's others",
      isActorKept: scope === 'others',
    };
    return [
      {
        ...row,
        variant: scope,
        act: (_world: TwoAdapters, actor: Visitor) => succeed(actor.getJson(`/sign-out/${scope}`)),
      },
      {
        ...row,
        variant: `${scope}, by /auth/account`,
        act: (_world: TwoAdapters, actor: Visitor) => succeed(actor.postJson('/auth/account', { signOut: scope })),
      },
    ];
  }),
  {
    ...others,
    label: "A password change: the user's others",
    isActorKept: true,
    async act({ people }, actor) {
      const password = 'a whole new password';
      await succeed(actor.postJson('/auth/password', { currentPassword: ada.password, password }));
      people!.ada.password = password;
    },
  },
  {
    label: '`endSession` with `sessionId`: that session',
    adapters: both,
    isActorKept: true,
    act: async ({ here }, _actor, target) => endSession(here.auth, { sessionId: await target.sessionId() }),
  },
  {
    label: "`endSession` with `userId`: the user's sessions",
    adapters: both,
    tokensOf: 'both',
    act: async (world, actor) => endSession(world.here.auth, { userId: await userIdOf(actor) }),
  },
  {
    ...ofFactor,
    variant: 'by a sign-in',
    actor(world) {
      if (!enrolled(world)) supabaseOf(world).addFactor(ada.email);
      return world.signedIn();
    },
    act: (world, actor) => succeed(actor.postJson('/auth/verify', { code: code(world) })),
  },
  {
    ...ofFactor,
    variant: 'by a session that has none',
    async act(world, actor) {
      if (!enrolled(world)) supabaseOf(world).addFactor(ada.email);
      await succeed(actor.postJson('/auth/verify', { code: code(world) }));
    },
  },
  {
    ...ofFactor,
    variant: 'added',
    async act(world, actor) {
      const { json } = await actor.postJson('/auth/enroll');
      const { factorId, secret } = json;
      await succeed(actor.postJson('/auth/enroll', { factorId, code: supabaseOf(world).codeOf({ secret }) }));
    },
  },
  {
    label: "Disconnecting an app: the app's tokens",
    adapters: backend,
    tokensOf: 'app',
    isActorKept: true,
    act: (world, actor) => succeed(actor.postJson('/oauth/apps', { revoke: world.clients?.[0] })),
  },
];

async function meOf(visitor: Visitor) {
  const { status, json } = await visitor.getJson('/api');
  if (status !== 200) throw new Error(`No session: ${status}`);
  return json as { readonly accessToken: string; readonly claims: Readonly<Record<string, string>> };
}

const userIdOf = async (visitor: Visitor): Promise<string> => (await meOf(visitor)).claims['sub']!;

const payloadOf = (token: string): Readonly<Record<string, string>> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

const pendingOf = (visitor: Visitor): Headers => ({
  cookie: [...visitor.cookies]
    .filter(([name]) => name.includes('-pending'))
    .map(([name, value]) => `${name}=${value}`)
    .join('; '),
});

/** The session in a browser, or what is pending there. */
function targetIn(world: TwoAdapters, visitor: Visitor, { tokensOf = 'session' }: Row): Target {
  return {
    visitor,
    async tokens() {
      const own = tokensOf === 'app' ? [] : [(await meOf(visitor)).accessToken];
      if (tokensOf === 'session' || world.supabase === undefined) return own;
      const app = await connect(world, visitor, world.client);
      return [...own, app.tokens.access_token];
    },
    async sessionId() {
      const pending = /=(.+)$/.exec(pendingOf(visitor)['cookie'] ?? '')?.[1];
      const token =
        pending === undefined
          ? (await meOf(visitor)).accessToken
          : JSON.parse(Buffer.from(pending, 'base64url').toString()).access_token;
      const { sid, session_id } = payloadOf(token);
      return sid ?? session_id ?? '';
    },
  };
}

/** One thing that the session is held by. */
interface Probe {
  readonly isThere: boolean;
  readonly hasEnded: () => Promise<boolean>;
  /** What follows where it has ended. */
  readonly closed?: () => Promise<void>;
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

async function asking(process: Process, isThere: boolean, path: string, headers: Headers): Promise<Probe> {
  const status = () => process.status(path, headers);
  const first = await status();
  if (first !== 200) throw new Error(`${path} answers ${first} before the end`);
  return { isThere, hasEnded: async () => (await status()) === 401 };
}

/** Opens or asks everything of a column, so that each process knows the session. */
async function hold(world: TwoAdapters, column: Column, target: Target): Promise<readonly Probe[]> {
  const { here, there } = world;
  const processes = [here, there].map((process, index) => ({ process, isThere: index === 1 }));
  const cookie = { cookie: target.visitor.cookieHeader() };
  const asked = (path: string, ...all: readonly Headers[]): Promise<Probe[]> =>
    Promise.all(
      processes.flatMap(({ process, isThere }) => all.map((headers) => asking(process, isThere, path, headers))),
    );
  switch (column) {
    case 'Cookie, here':
    case 'Cookie, in another process':
      return (await asked('/auth/session', cookie)).filter(({ isThere }) => isThere === (column !== 'Cookie, here'));
    case 'Bearer token':
      return asked('/api', ...(await target.tokens()).map(bearer));
    case 'WebSocket':
    case 'Stream': {
      const open = column === 'Stream' ? 'openStream' : 'openSocket';
      const tokens = await target.tokens();
      // An app has no cookie.
      const isOfApp = tokens.every((token) => payloadOf(token)['client_id']?.startsWith('client_') === false);
      const all = [...(isOfApp ? [] : [cookie]), ...tokens.map(bearer)];
      const probes: Probe[] = [];
      for (const { process, isThere } of processes)
        for (const headers of all) {
          const connection = await process[open](headers);
          probes.push({ isThere, hasEnded: () => Promise.resolve(connection.hasEnded()), closed: connection.closed });
        }
      return probes;
    }
    case "Gateway's kept cookie": {
      await pass(world, world.lifetimeMs + 6_000);
      const before = world.asked();
      const probes = await asked('/forward', cookie);
      if (world.asked() === before) throw new Error('No gateway was answered with renewed tokens');
      return probes;
    }
    case 'Pending sign-in':
      return asked('/auth/verify', pendingOf(target.visitor));
  }
}

/** When each has ended: here, then in the other process. */
async function measure(world: TwoAdapters, probes: readonly Probe[]): Promise<readonly string[]> {
  const words = new Map<Probe, string>();
  const ask = async (plain: string, refused: string): Promise<void> => {
    for (const probe of probes.filter((each) => !words.has(each))) {
      const before = world.asked();
      if (!(await probe.hasEnded())) continue;
      words.set(probe, world.asked() === before ? plain : refused);
      await probe.closed?.();
    }
  };
  await settle();
  await ask('at once', 'at its next request');
  await pass(world, 5_000);
  await ask('within 5 seconds', 'at its next request after 5 seconds');
  return probes.map((probe) => words.get(probe) ?? 'stays');
}

async function prepare(world: TwoAdapters, row: Row, column: Column) {
  const { isOwn = false, actor: createActor = signIn } = row;
  if (column === "Gateway's kept cookie") world.growTokens();
  if (column !== 'Pending sign-in') {
    const visitor = await world.signedIn();
    const target = targetIn(world, visitor, row);
    const probes = await hold(world, column, target);
    return { target, probes, actor: isOwn ? visitor : await createActor(world) };
  }
  const first = isOwn ? await world.signedIn() : undefined;
  supabaseOf(world).addFactor(ada.email);
  const actor = first ?? (await createActor(world));
  // Another press of the same button would get the first answer again.
  await pass(world, 60_000);
  const target = targetIn(world, await (isOwn ? world.signIn(actor, 'ada') : world.signedIn()), row);
  return { target, probes: await hold(world, column, target), actor };
}

const isIn = async (visitor: Visitor): Promise<boolean> => (await visitor.getJson('/auth/session')).status === 200;

/** What the other process may do where this one does that. */
const elsewhere: Readonly<Record<string, RegExp>> = {
  'at once': /^(?:at once|within 5 seconds|at its next request)$/,
  'at its next request': /^(?:at once|at its next request|at its next request after 5 seconds)$/,
  stays: /^stays$/,
};

/** What happens in a cell. */
async function run(name: AdapterName, row: Row, column: Column): Promise<string> {
  const world = await startTwoAdapters(name, row.options);
  try {
    const bystander = await world.signedIn('grace');
    const { target, probes, actor } = await prepare(world, row, column);
    await pass(world, 1_000);
    await row.act(world, actor, target);
    const words = await measure(world, probes);
    const [own] = words;
    if (own === undefined) throw new Error('Nothing was held');
    const at = (isThere: boolean): string[] => words.filter((_word, index) => probes[index]?.isThere === isThere);
    if (column !== 'Cookie, in another process') {
      expect(new Set(at(false))).toEqual(new Set([own]));
      for (const word of at(true)) expect(word).toMatch(elsewhere[own] ?? /^$/);
    }
    // No other user, and not who acted.
    expect([await isIn(bystander), await isIn(actor)]).toEqual([true, row.isActorKept === true]);
    expect(await isIn(await signIn(world))).toBe(true);
    if (row.isOfFactor === true && own === 'stays') return `stays: ${await untilExpiry(world, target, probes)}`;
    return own;
  } finally {
    await world.close();
  }
}

/** Nothing renews the session, because the provider has ended it. */
async function untilExpiry(world: TwoAdapters, { visitor }: Target, probes: readonly Probe[]): Promise<string> {
  expect(await isIn(visitor)).toBe(false);
  await pass(world, world.lifetimeMs);
  for (const { hasEnded, closed: isClosed } of probes) {
    if (!(await hasEnded())) return 'its token has expired';
    await isClosed?.();
  }
  return 'until its token expires';
}

/** The cells of each row, by the first one. */
const documented = new Map(
  readFileSync('docs/ending-sessions.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.slice(1, -1).split('|'))
    .map(([label = '', ...cells]) => [label.trim(), cells.map((cell) => cell.trim())] as const),
);

describe('the table of what ends where', () => {
  it('has these columns, and a row for each way to end sessions', () => {
    expect(documented.get('What ends')).toEqual(columns);
    for (const { label } of rows) expect([...documented.keys()]).toContain(label);
  });

  const cases = rows.flatMap((row) => row.adapters.map((name) => ({ name, row, what: row.variant ?? '' })));
  it.each(cases)('holds for $name: $row.label $what', async ({ name, row }) => {
    const cells = documented.get(row.label) ?? [];
    const found: string[] = [];
    for (const column of columns) {
      const cell = cells[columns.indexOf(column)] ?? '';
      // b2bAuth has no sign-in that waits for a second step.
      const isMissing = name === 'b2b' && column === 'Pending sign-in';
      const word = isMissing ? cell : await run(name, row, column);
      // A reason of a cell that stays is for people, unless it was measured.
      found.push(word === 'stays' ? cell.replace(/^stays: .+$/, 'stays: …') : word);
    }
    expect(found).toEqual(
      cells.map((cell) => (row.isOfFactor === true ? cell : cell.replace(/^stays: .+$/, 'stays: …'))),
    );
  });
});

it('a second factor ends no other session that has one: its cookie is renewed, its WebSocket stays, its bearer token is refused once', async () => {
  const world = await closed(startTwoAdapters('backend'));
  const supabase = supabaseOf(world);
  supabase.addFactor(ada.email);
  const safe = await signIn(world);
  const cookie = { cookie: safe.cookieHeader() };
  const socket = await world.here.openSocket(cookie);
  const { accessToken } = await meOf(safe);
  await pass(world, 1_000);
  await signIn(world);
  // Times of tokens are whole seconds.
  await pass(world, 1_000);
  const statuses = [await world.here.status('/api', bearer(accessToken)), (await safe.getJson('/api')).status];
  statuses.push(await world.here.status('/api', bearer((await meOf(safe)).accessToken)));
  await pass(world, 5_000);
  expect([...statuses, socket.hasEnded(), supabase.calls('refresh')]).toEqual([401, 200, 200, false, 1]);
});
