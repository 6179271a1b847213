/**
 * The refresh race and an outage: our adapters and the official helpers, mounted as their documentation
 * shows. Fifty requests carry one expired access token; the provider accepts each refresh token once.
 *
 * Run `npm ci --prefix bench` once, then `npm run bench:refresh`.
 */
import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { sealData } from 'iron-session';
import { startSupabaseStandIn } from '../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../stand-ins/supabase/stand-in.ts';
import { serve } from '../__tests__/support/servers.ts';
import type { RunningServer } from '../__tests__/support/servers.ts';
import { send } from '../__tests__/support/visitor.ts';
import { demoUsers, startWorkosStandIn } from '../stand-ins/workos/index.ts';
import type { WorkosStandIn } from '../stand-ins/workos/index.ts';

const requests = 50;
const outageRequests = 5;
const spreadMs = 1000;
/** The usual response time of a token endpoint. */
const providerDelayMs = 50;
const email = 'ada@example.com';

interface Provider {
  /** The `Cookie` header of a session whose access token expired a minute ago. */
  expiredCookie(): Promise<string>;
  calls(): number;
  setDown(isDown: boolean): void;
}

interface Contender {
  readonly name: string;
  readonly provider: 'workos' | 'supabase';
  readonly createApp: (given: typeof settings) => RequestListener;
}

interface Sample {
  readonly isSignedIn: boolean;
  readonly status: number;
  readonly latencyMs: number;
  readonly setCookies: readonly string[];
}

interface Row {
  readonly calls: number;
  readonly samples: readonly Sample[];
  /** Whether the browser is still signed in afterwards, with its remaining cookies. */
  readonly after: boolean;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function ask(origin: string, cookie: string): Promise<Sample> {
  const startedAt = performance.now();
  const { status, setCookies } = await send(new URL('/', origin), { headers: { cookie } });
  return { status, setCookies, isSignedIn: status === 200, latencyMs: performance.now() - startedAt };
}

/** The browser's cookies after these responses, in their order of arrival. */
function jarAfter(cookie: string, samples: readonly Sample[]): string {
  const jar = new Map(cookie.split('; ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair]));
  for (const line of samples.flatMap(({ setCookies }) => setCookies)) {
    const [pair = '', ...attributes] = line.split(/; */);
    const name = pair.slice(0, pair.indexOf('='));
    const isDeleted = attributes.some((each) => /^max-age=0$|^expires=thu, 01 jan 1970/i.test(each));
    if (isDeleted) jar.delete(name);
    else jar.set(name, pair);
  }
  return [...jar.values()].join('; ');
}

type Scenario = (origin: string, cookie: string) => Promise<readonly Sample[]>;

const inOrderOfArrival = async (asked: readonly (() => Promise<Sample>)[]): Promise<readonly Sample[]> => {
  const arrived: Sample[] = [];
  await Promise.all(asked.map(async (each) => arrived.push(await each())));
  return arrived;
};
const times = <Result>(count: number, make: (index: number) => Result): Result[] =>
  Array.from({ length: count }, (_, index) => make(index));

const races: Readonly<Record<string, Scenario>> = {
  burst: (origin, cookie) => inOrderOfArrival(times(requests, () => () => ask(origin, cookie))),
  'spread over 1 s': (origin, cookie) =>
    inOrderOfArrival(
      times(requests, (index) => async () => {
        await wait((index * spreadMs) / requests);
        return ask(origin, cookie);
      }),
    ),
  stragglers: async (origin, cookie) => {
    const first = await ask(origin, cookie);
    return [first, ...(await inOrderOfArrival(times(requests - 1, () => () => ask(origin, cookie))))];
  },
};

const inOutage: Scenario = (origin, cookie) => inOrderOfArrival(times(outageRequests, () => () => ask(origin, cookie)));

async function measure(server: RunningServer, provider: Provider, scenario: Scenario, isDown: boolean): Promise<Row> {
  // Another session first, so that code is warm and keys are loaded.
  for (let time = 0; time < 5; time += 1) await ask(server.origin, await provider.expiredCookie());
  const cookie = await provider.expiredCookie();
  const before = provider.calls();
  provider.setDown(isDown);
  const samples = await scenario(server.origin, cookie);
  provider.setDown(false);
  const calls = provider.calls() - before;
  const { isSignedIn: after } = await ask(server.origin, jarAfter(cookie, samples));
  return { calls, samples, after };
}

const password = randomBytes(32).toString('base64');
const workos = await startWorkosStandIn({
  clientId: 'client_01BENCH0000000000000000000',
  apiKey: `sk_bench_${randomBytes(16).toString('hex')}`,
});
workos.switches.delayMs = providerDelayMs;
const supabase = await startSupabaseStandIn();
supabase.addUser({ email, password: randomBytes(16).toString('base64'), confirmed: true });

function workosProvider(standIn: WorkosStandIn): Provider {
  return {
    async expiredCookie() {
      const session = await standIn.issueSession({ user: demoUsers.personal, accessTokenTtlSeconds: -60 });
      const { accessToken, refreshToken, user } = session;
      const sealed = await sealData({ accessToken, refreshToken, user }, { password: { 1: password }, ttl: 0 });
      return `b2b-session=${sealed}`;
    },
    calls: () => standIn.tokenCalls,
    setDown(isDown) {
      standIn.switches.outage = isDown ? { token: 'refuse' } : {};
    },
  };
}

function supabaseProvider(standIn: SupabaseStandIn): Provider {
  return {
    async expiredCookie() {
      const session = JSON.stringify(await standIn.issueSession(email, { ttl: -60 }));
      return `sb-${new URL(standIn.url).hostname.split('.')[0]}-auth-token=base64-${Buffer.from(session).toString('base64url')}`;
    },
    calls: () => standIn.calls('refresh'),
    setDown(isDown) {
      if (isDown) standIn.fail('refresh', 'refuse');
      else standIn.heal();
    },
  };
}

const settings = {
  host: '127.0.0.1',
  port: workos.port,
  apiKey: workos.apiKey,
  clientId: workos.clientId,
  password,
  supabaseUrl: supabase.url,
  anonKey: supabase.publishableKey,
};
const providers = { workos: workosProvider(workos), supabase: supabaseProvider(supabase) };

const milliseconds = (value: number): string => `${Math.round(value).toLocaleString('en')} ms`;

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;
}

function toColumns({ calls, samples, after }: Row): Record<string, string | number> {
  const latencies = samples.map(({ latencyMs }) => latencyMs);
  return {
    'token calls': calls,
    'signed in': `${samples.filter(({ isSignedIn }) => isSignedIn).length} of ${samples.length}`,
    'browser afterwards': after ? 'signed in' : 'SIGNED OUT',
    'median latency': milliseconds(median(latencies)),
    'longest latency': milliseconds(Math.max(...latencies)),
  };
}

function statusesOf(samples: readonly Sample[]): string {
  return [...new Set(samples.map(({ status }) => status))].join(', ');
}

// supabase-js logs every failed attempt with its stack.
const silent = (): void => undefined;
Object.assign(console, { error: silent, warn: silent });

// By URL: the plain JavaScript peers have no types here.
const { contenders } = (await import(new URL('./variants/refresh.js', import.meta.url).href)) as {
  readonly contenders: readonly Contender[];
};
const only = process.argv[2];
for (const [name, scenario] of [...Object.entries(races), ['outage', inOutage] as const]) {
  const isOutage = name === 'outage';
  const table: Record<string, Record<string, string | number>> = {};
  for (const contender of contenders) {
    if (only !== undefined && !contender.name.includes(only)) continue;
    const server = await serve(contender.createApp(settings));
    const row = await measure(server, providers[contender.provider], scenario, isOutage);
    table[contender.name] = { ...toColumns(row), ...(isOutage ? { status: statusesOf(row.samples) } : {}) };
    await server.close();
  }
  console.log(
    `\n${isOutage ? `Outage: ${outageRequests} requests, every connection to the provider breaks` : `Race: ${requests} requests, ${name}`}`,
  );
  console.table(table);
}
await workos.close();
await supabase.close();
