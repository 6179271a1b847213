/**
 * A soak test: processes that share Redis, whose requests go to them in turn, with a provider that accepts each refresh token once.
 * Every page is three concurrent requests to consecutive processes, with the browser's current cookies.
 *
 *     npm run bench:scale -- --minutes 10 --redis both --sessions 600 --pages 100 --token 30
 *
 * With `--repeating` the provider answers each refresh with the refresh token that it was asked with.
 *
 * From 100,000 sessions on it loads their lines and records into one Redis instead, and measures memory and reads.
 *
 * It fails if a session is lost, if a token costs more than one call, or if the heap ends more than a tenth above the end of its first minute.
 */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as ask } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sealData } from 'iron-session';
import { startRedisCluster } from '../__tests__/support/redis-cluster.ts';
import { startRedisServer } from '../__tests__/support/redis-server.ts';
import { demoUsers, startWorkosStandIn } from '../stand-ins/workos/index.ts';
import type { WorkosStandIn } from '../stand-ins/workos/index.ts';
import { loadManySessions } from './many-sessions.ts';
import type { ScaleAppOptions, ScaleAppReport } from './scale-app.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    redis: { type: 'string', default: 'both' },
    sessions: { type: 'string', default: '600' },
    pages: { type: 'string', default: '100' },
    token: { type: 'string', default: '30' },
    repeating: { type: 'boolean', default: false },
  },
});
const processes = 4;
const requestsPerPage = 3;
const minutes = Number(values.minutes);
const pagesPerSecond = Number(values.pages);
const tokenSeconds = Number(values.token);
const tickMs = 20;
/** How often a line is printed. */
const lookMs = Math.min(60_000, (minutes * 60_000) / 3);
const password = randomBytes(32).toString('base64');

type Usage = Extract<ScaleAppReport, { kind: 'usage' }>;

interface Browser {
  cookie: string;
  isBusy: boolean;
}

/** Counts since the last line, and since the start. */
interface Counts {
  readonly latenciesMs: number[];
  lost: number;
  unavailable: number;
}

interface App {
  readonly child: ChildProcess;
  readonly port: number;
}

async function startApp(options: ScaleAppOptions): Promise<App> {
  const child = fork(new URL('scale-app.ts', import.meta.url), [JSON.stringify(options)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [listening] = (await once(child, 'message')) as [Extract<ScaleAppReport, { kind: 'listening' }>];
  return { child, port: listening.port };
}

async function look({ child }: App): Promise<Usage> {
  child.send('look');
  const [usage] = (await once(child, 'message')) as [Usage];
  return usage;
}

/** Sessions whose tokens expire one after another, so that refreshes are spread evenly. */
async function startBrowsers(workos: WorkosStandIn, count: number): Promise<Browser[]> {
  const browsers: Browser[] = [];
  for (let index = 0; index < count; index += 1) {
    const accessTokenTtlSeconds = Math.ceil((tokenSeconds * (index + 1)) / count);
    const { accessToken, refreshToken, user } = await workos.issueSession({
      user: demoUsers.personal,
      accessTokenTtlSeconds,
    });
    const sealed = await sealData({ accessToken, refreshToken, user }, { password: { 1: password }, ttl: 0 });
    browsers.push({ cookie: `b2b-session=${sealed}`, isBusy: false });
  }
  return browsers;
}

function visitor(apps: readonly App[], counts: readonly Counts[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });
  let turn = 0;

  async function visit(browser: Browser): Promise<void> {
    const { port } = apps[(turn += 1) % apps.length]!;
    const startedAt = performance.now();
    const headers = { cookie: browser.cookie, accept: 'application/json' };
    const answered = once(ask({ host: '127.0.0.1', port, path: '/me', agent, headers }).end(), 'response');
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    const latency = performance.now() - startedAt;
    const [renewed] = response.headers['set-cookie'] ?? [];
    if (renewed !== undefined && response.statusCode === 200) browser.cookie = renewed.split(';', 1)[0]!;
    for (const each of counts) {
      each.latenciesMs.push(latency);
      if (response.statusCode === 503) each.unavailable += 1;
      else if (response.statusCode !== 200) each.lost += 1;
    }
  }

  return {
    close: () => agent.destroy(),
    page: async (browser: Browser): Promise<void> => {
      browser.isBusy = true;
      await Promise.all(Array.from({ length: requestsPerPage }, () => visit(browser)));
      browser.isBusy = false;
    },
  };
}

const newCounts = (): Counts => ({ latenciesMs: [], lost: 0, unavailable: 0 });

function percentile(latenciesMs: readonly number[], share: number): string {
  const sorted = [...latenciesMs].sort((one, other) => one - other);
  return (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
}

const sum = (of: readonly number[]): number => of.reduce((total, each) => total + each, 0);

interface Look {
  readonly heapMb: number;
  readonly redisCommands: number;
  readonly refreshed: number;
  readonly uncoordinated: number;
}

async function lookAtAll(apps: readonly App[]): Promise<Look> {
  const usages: Usage[] = [];
  for (const app of apps) usages.push(await look(app));
  const eventsOf = (type: string): number => sum(usages.map(({ events }) => events[type] ?? 0));
  return {
    heapMb: sum(usages.map(({ heapBytes }) => heapBytes)) / usages.length / 1e6,
    redisCommands: sum(usages.map(({ redisCommands }) => redisCommands)),
    refreshed: eventsOf('session_refreshed'),
    uncoordinated: eventsOf('coordinator_unavailable'),
  };
}

/** Pages at a constant rate, independent of response times; a browser loads one page at a time. */
async function load(browsers: readonly Browser[], page: (browser: Browser) => Promise<void>, untilMs: number) {
  const startedAt = performance.now();
  const underWay = new Set<Promise<void>>();
  let [started, turn] = [0, 0];
  while (performance.now() < untilMs) {
    const due = ((performance.now() - startedAt) / 1000) * pagesPerSecond;
    for (; started < due; started += 1) {
      const browser = browsers[(turn += 1) % browsers.length]!;
      if (browser.isBusy) continue;
      const visited = page(browser);
      underWay.add(visited);
      void visited.finally(() => underWay.delete(visited));
    }
    await wait(tickMs);
  }
  await Promise.all(underWay);
}

async function soak(shape: ScaleAppOptions['shape'], redisPorts: readonly number[]): Promise<readonly string[]> {
  const workos = await startWorkosStandIn({ clientId: 'client_bench', apiKey: randomBytes(16).toString('hex') });
  workos.switches.accessTokenTtlSeconds = tokenSeconds;
  workos.switches.repeatsRefreshTokens = values.repeating;
  const { clientId, apiKey, hostname, port } = workos;
  const adapter = { clientId, apiKey, apiUrl: `http://${hostname}:${port}`, cookiePassword: password };
  const apps = await Promise.all(
    Array.from({ length: processes }, () => startApp({ shape, redisPorts, password, adapter })),
  );
  const browsers = await startBrowsers(workos, Number(values.sessions));
  const total = newCounts();
  const heaps: number[] = [];
  const startedAt = performance.now();
  console.log(`\nRedis ${shape}: ${processes} processes, ${browsers.length} sessions, tokens of ${tokenSeconds} s`);
  console.log('      s  requests/s  refreshes/s  p50 ms  p99 ms  heap MB  lost');
  let before: Look = { heapMb: 0, redisCommands: 0, refreshed: 0, uncoordinated: 0 };
  for (let end = lookMs; end <= minutes * 60_000 + 1; end += lookMs) {
    const since = performance.now();
    const counts = newCounts();
    const { page, close } = visitor(apps, [counts, total]);
    await load(browsers, page, startedAt + end);
    close();
    const seconds = (performance.now() - since) / 1000;
    const now = await lookAtAll(apps);
    heaps.push(now.heapMb);
    const columns = [
      ((performance.now() - startedAt) / 1000).toFixed(0).padStart(7),
      (counts.latenciesMs.length / seconds).toFixed(0).padStart(12),
      ((now.refreshed - before.refreshed) / seconds).toFixed(1).padStart(13),
      percentile(counts.latenciesMs, 0.5).padStart(8),
      percentile(counts.latenciesMs, 0.99).padStart(8),
      now.heapMb.toFixed(1).padStart(9),
      String(counts.lost).padStart(6),
    ];
    console.log(columns.join(''));
    before = now;
  }
  const { refreshed, redisCommands, uncoordinated } = before;
  const { tokenCalls } = workos;
  const requests = total.latenciesMs.length;
  console.log(`  all: p50 ${percentile(total.latenciesMs, 0.5)} ms, p99 ${percentile(total.latenciesMs, 0.99)} ms`);
  console.log(`  token calls: ${tokenCalls}, ${(tokenCalls / browsers.length).toFixed(2)} per session`);
  console.log(`  token calls per refresh: ${(tokenCalls / refreshed).toFixed(3)} (${refreshed} refreshes)`);
  console.log(`  Redis commands: ${redisCommands}, ${(redisCommands / requests).toFixed(3)} per request`);
  console.log(`  lost ${total.lost}, unavailable ${total.unavailable} of ${requests}; uncoordinated ${uncoordinated}`);
  for (const { child } of apps) child.disconnect();
  await workos.close();

  const problems: string[] = [];
  if (total.lost > 0) problems.push(`${shape}: ${total.lost} requests lost their session`);
  if (tokenCalls > refreshed) problems.push(`${shape}: ${tokenCalls} token calls for ${refreshed} refreshes`);
  const [first = 0] = heaps;
  const growth = (heaps.at(-1) ?? 0) / first - 1;
  if (minutes >= 2 && growth > 0.1) problems.push(`${shape}: the heap grew by ${(growth * 100).toFixed(0)} %`);
  return problems;
}

const problems: string[] = [];
const isLoaded = Number(values.sessions) >= 100_000;
if (isLoaded) await loadManySessions(Number(values.sessions));
if (!isLoaded && values.redis !== 'cluster') {
  const redis = await startRedisServer();
  problems.push(...(await soak('single', [redis.port])));
  await redis.stop();
}
if (!isLoaded && values.redis !== 'single') {
  const cluster = await startRedisCluster();
  problems.push(...(await soak('cluster', cluster.ports)));
  await cluster.stop();
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
