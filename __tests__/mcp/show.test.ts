import { jest } from '@jest/globals';
import { startTour } from '../../show/start.ts';
import type { RunningTour } from '../../show/start.ts';
import { allowInPages, disconnectInPages } from '../support/person.ts';
import { createVisitor } from '../support/visitor.ts';
import { createAgent, versions } from './support/agents.ts';

// Clients of version 2 say that they drop a refused refresh token.
beforeEach(() => void jest.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(() => jest.restoreAllMocks());

let example: RunningTour;
let url: string;
beforeAll(async () => {
  const settings = { port: 0, isRealWorkos: false, isRealSupabase: false, confirmsEmail: false };
  // The typed client, which only a browser loads, need not be built.
  example = await startTour({ settings, clientModules: import.meta.dirname });
  url = `${example.origin}/mcp`;
});
afterAll(() => example.close());

const consentPageOf = async (signIn: URL): Promise<string> =>
  String((await fetch(signIn, { redirect: 'manual' })).headers.get('location'));

it.each(versions)(
  'client %s knows only the URL: it registers, a person allows it, it calls both tools, refreshes, and is disconnected',
  async (version) => {
    const { demo } = example.providers.supabase!;
    const browser = createVisitor(example.origin);
    const agent = createAgent(version, url);
    await agent.finish(await allowInPages(browser, demo, await consentPageOf(await agent.findSignIn())));
    expect(await agent.tools()).toEqual(['whoami', 'notes']);
    expect(await agent.call('whoami')).toEqual({ email: demo.email, clientId: agent.kept.client.client_id });
    expect(await agent.call('notes')).toEqual([expect.any(String), expect.any(String)]);

    const first = agent.kept.tokens.access_token;
    example.providers.clock.advance(3_601_000);
    expect((await agent.call('whoami')).email).toBe(demo.email);
    const second = agent.kept.tokens.access_token;
    expect(second).not.toBe(first);

    const list = await disconnectInPages(browser, example.origin, `Agent ${version}`);
    expect([list.page.status, list.page.text.includes(`Agent ${version}`)]).toEqual([200, false]);
    const refused = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${second}` } });
    expect(refused.status).toBe(401);
    delete agent.kept.asked;
    const again = await agent.findSignIn();

    // Allowed again within a minute, it works at once.
    example.providers.clock.advance(2_000);
    await agent.finish(await allowInPages(browser, demo, await consentPageOf(again)));
    expect((await agent.call('whoami')).email).toBe(demo.email);
  },
);

describe('its answers', () => {
  let authorization: string;
  beforeAll(async () => {
    const agent = createAgent('2.x', url);
    const { demo } = example.providers.supabase!;
    const browser = createVisitor(example.origin);
    await agent.finish(await allowInPages(browser, demo, await consentPageOf(await agent.findSignIn())));
    authorization = `Bearer ${agent.kept.tokens.access_token}`;
  });

  const send = async (body: string, method = 'POST') => {
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(url, { method, headers, ...(method === 'POST' ? { body } : {}) });
    return [answer.status, (await answer.text()) || undefined] as const;
  };

  it.each([
    ['half a message', '{', 400, -32_700],
    ['a text', '"x"', 400, -32_700],
    ['a batch', '[]', 400, -32_600],
    ['a message without a method', '{"jsonrpc":"2.0","id":1}', 400, -32_600],
    ['another method', '{"jsonrpc":"2.0","id":1,"method":"resources/list"}', 200, -32_601],
    ['another tool', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"constructor"}}', 200, -32_602],
    ['a long body', `"${'x'.repeat(200_000)}"`, 413, -32_700],
  ])('to %s are errors of JSON-RPC', async (_, body, status, code) => {
    const [answered, text = ''] = await send(body);
    expect([answered, JSON.parse(text).error.code]).toEqual([status, code]);
  });

  it('a notification has none, and there are no streams', async () => {
    expect(await send('{"jsonrpc":"2.0","method":"notifications/initialized"}')).toEqual([202, undefined]);
    for (const method of ['GET', 'DELETE']) expect((await send('', method))[0]).toBe(405);
  });
});
