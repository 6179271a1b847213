import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as trpc from '@trpc/client';
import * as eventsource from 'eventsource';
import { demoUsers, startWorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { codeBlocks } from '../support/markdown.ts';
import { runExamples, withoutTypes } from '../support/recipe-code.ts';
import type { RunningExamples } from '../support/recipe-code.ts';
import { until } from '../support/until.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

/** The recipes of docs/streams.md as they stand, with real clients. `__tests__/mcp` runs the one for MCP. */
const directory = join(process.cwd(), '__tests__', 'frameworks', 'reports', 'streams');
const { personal } = demoUsers;
const path = 'docs/streams.md';
const blocks = codeBlocks({ path, text: readFileSync(path, 'utf8') }).filter(({ language }) => language === 'ts');
const recipes = ['/events', '/news', '/trpc'] as const;
const { EventSource }: any = eventsource;
const { createTRPCClient, httpSubscriptionLink }: any = trpc;

const sources: { close(): void }[] = [];
let workos: WorkosStandIn;
let examples: RunningExamples;
const fileOf = (recipe: string): string => join(directory, `${recipe.slice(1)}.js`);

beforeAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const recipe of recipes) {
    const [block, ...others] = blocks.filter(({ code }) => code.includes(`('${recipe}'`));
    if (block === undefined || others.length > 0) throw new Error(`${path}: not one block has ${recipe}`);
    writeFileSync(fileOf(recipe), withoutTypes(block.code));
  }
  workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: 'sk_test_streams' });
  examples = await runExamples(recipes.map(fileOf), workos);
}, 60_000);

// One that goes on would keep the run from ending.
afterEach(() => sources.splice(0).forEach((source) => source.close()));

afterAll(async () => {
  examples.kill();
  await workos.close();
  rmSync(directory, { recursive: true, force: true });
});

async function signedIn(origin: string): Promise<Visitor> {
  workos.redirectUris.push(`${origin}/callback`);
  const visitor = createVisitor(origin);
  const start = await visitor.get('/login');
  const callback = await workos.authorize(start.location, { user: personal });
  expect((await visitor.get(callback.href)).status).toBe(303);
  return visitor;
}

/** An `EventSource` of this visitor's browser. */
function sourceOf(visitor: Visitor) {
  const seen = { statuses: [] as number[] };
  const fetchAs = async (url: string, init: RequestInit): Promise<Response> => {
    const headers = { ...(init.headers as object), cookie: visitor.cookieHeader() };
    const response = await fetch(url, { ...init, headers });
    seen.statuses.push(response.status);
    return response;
  };
  return {
    seen,
    EventSource: class extends EventSource {
      constructor(url: string, init: object = {}) {
        super(url, { ...init, fetch: fetchAs });
        sources.push(this as never);
      }
    } as any,
  };
}

it('server-sent events: an EventSource ends at sign-out, asks once more and gives up', async () => {
  const origin = examples.originOf(fileOf('/events'));
  const visitor = await signedIn(origin);
  const { seen, EventSource: Source } = sourceOf(visitor);
  const events = new Source(`${origin}/events`);
  const messages: string[] = [];
  events.addEventListener('message', ({ data }: { data: string }) => messages.push(data));
  await until(() => messages.length > 0);
  expect([messages, events.readyState]).toEqual([[`Hello ${personal.id}`], Source.OPEN]);
  await visitor.post('/logout', { headers: { origin } });
  await until(() => events.readyState === Source.CLOSED, 8_000);
  expect([messages.length, seen.statuses]).toEqual([1, [200, 401]]);
}, 20_000);

it('long polls: one gets the news, and one whose session ends meanwhile a 401', async () => {
  const origin = examples.originOf(fileOf('/news'));
  const [ada, other] = [await signedIn(origin), await signedIn(origin)];
  const polls = [ada.getJson('/news'), other.getJson('/news')];
  // Both polls are open once another request of each connection was answered.
  await Promise.all([ada.getJson('/auth/session'), other.getJson('/auth/session')]);
  await ada.post('/logout', { headers: { origin } });
  expect((await polls[0])?.status).toBe(401);
  const told = await other.post('/news', {
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'It rains' }),
  });
  expect([told.status, (await polls[1])?.json]).toEqual([204, { text: 'It rains' }]);
}, 20_000);

it('tRPC: a subscription ends with an error at sign-out', async () => {
  const origin = examples.originOf(fileOf('/trpc'));
  const visitor = await signedIn(origin);
  const { seen, EventSource: Source } = sourceOf(visitor);
  const client = createTRPCClient({ links: [httpSubscriptionLink({ url: `${origin}/trpc`, EventSource: Source })] });
  const told: string[] = [];
  client.news.subscribe(undefined, {
    onData: (text: string) => told.push(text),
    onError: () => told.push('error'),
  });
  await until(() => told.length > 0);
  expect(told).toEqual([`Hello ${personal.id}`]);
  await visitor.post('/logout', { headers: { origin } });
  await until(() => told.length > 1, 8_000);
  expect([told[1], seen.statuses]).toEqual(['error', [200, 401]]);
}, 20_000);
