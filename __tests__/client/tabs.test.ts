import { randomUUID } from 'node:crypto';
import { createB2bClient, createBackendClient } from 'express-auth-adapters/client';
import type { BackendClient } from 'express-auth-adapters/client';
import { until } from '../support/until.ts';

/** One browser: what its cookies say, and what was asked. Names of channels are of the test alone. */
interface Browser {
  readonly baseUrl: string;
  userId: string | undefined;
  isDown: boolean;
  readonly asked: string[];
  fetch: typeof globalThis.fetch;
}

interface Tab {
  readonly auth: BackendClient;
  /** Who was told to be signed in. */
  readonly told: (string | undefined)[];
  readonly leave: () => void;
}

let browser: Browser;
let leaving: (() => void)[];
let closing: (() => void)[];

beforeEach(() => {
  leaving = [];
  closing = [];
  browser = {
    baseUrl: `/${randomUUID()}`,
    userId: undefined,
    isDown: false,
    asked: [],
    fetch: (url, init) => {
      const path = (url as string).slice(browser.baseUrl.length);
      browser.asked.push(path);
      if (browser.isDown) return Promise.resolve(Response.json({ error: {} }, { status: 503 }));
      if (path === '/auth/session')
        return Promise.resolve(
          browser.userId === undefined
            ? Response.json({}, { status: 401 })
            : Response.json({ authenticated: true, user: { id: browser.userId } }),
        );
      if (init?.method === 'POST') browser.userId = path === '/auth/login' ? 'ada' : undefined;
      return Promise.resolve(Response.json({ redirectTo: '/' }));
    },
  };
});
afterEach(() => {
  for (const end of [...leaving, ...closing]) end();
});

const newClient = (): BackendClient => createBackendClient({ baseUrl: browser.baseUrl, fetch: browser.fetch });
const credentials = { body: { email: 'ada@example.com', password: 'p' } };

/** A tab that has learned who is signed in. It is new, so it tells the tabs before it, and each of them has asked afterwards. */
async function openTab(): Promise<Tab> {
  const expected = browser.asked.length + 1 + leaving.length;
  const auth = newClient();
  const told: (string | undefined)[] = [];
  await auth.session();
  const leave = auth.subscribe(({ data }) => void told.push(data?.user.id));
  await until(() => browser.asked.length >= expected);
  leaving.push(leave);
  return { auth, told, leave };
}

/** What another script of the same origin could send, and hear. */
function openChannel(): { readonly heard: unknown[]; readonly send: (message: unknown) => void } {
  const heard: unknown[] = [];
  const channel = new BroadcastChannel(`${browser.baseUrl}/auth/session`);
  channel.addEventListener('message', (event) => void heard.push((event as MessageEvent).data));
  closing.push(() => channel.close());
  return { heard, send: (message) => channel.postMessage(message) };
}

describe('subscribe', () => {
  it('tells the other tabs of a sign-in and a sign-out, with what the session route answers to them', async () => {
    const [here, other, third] = [await openTab(), await openTab(), await openTab()];
    await here.auth.login(credentials);
    await until(() => other.told.length === 1 && third.told.length === 1);
    await here.auth.logout();
    await until(() => other.told.length === 2 && third.told.length === 2);
    expect([other.told, third.told]).toEqual([
      ['ada', undefined],
      ['ada', undefined],
    ]);
    expect(here.told).toEqual([]);
  });

  it('tells of a sign-in that ended on a page without a client, once a page asks who is signed in', async () => {
    const other = await openTab();
    browser.userId = 'grace';
    await newClient().session();
    await until(() => other.told.length === 1);
    browser.userId = undefined;
    leaving.push(newClient().subscribe(() => undefined));
    await until(() => other.told.length === 2);
    expect(other.told).toEqual(['grace', undefined]);
  });

  it('tells a tab that signed in by the client, and asked nothing, of the sign-out elsewhere', async () => {
    const [here, other] = [await openTab(), await openTab()];
    const asked = browser.asked.length;
    await here.auth.login(credentials);
    await until(() => other.told.length === 1 && browser.asked.length === asked + 3);
    await other.auth.logout();
    await until(() => here.told.length === 1);
    expect([here.told, other.told]).toEqual([[undefined], ['ada']]);
  });

  it('tells of a switch to another organization', async () => {
    let organizationId = 'org_1';
    const fetch = () => Promise.resolve(Response.json({ user: { id: 'ada' }, organizationId, redirectTo: '/' }));
    const options = { baseUrl: browser.baseUrl, fetch };
    const [here, other] = [createB2bClient(options), createB2bClient(options)];
    const told: (string | undefined)[] = [];
    await other.session();
    leaving.push(other.subscribe(({ data }) => void told.push(data?.organizationId)));
    organizationId = 'org_2';
    await here.organization({ body: { organizationId } });
    await until(() => told.length === 1);
    expect(told).toEqual(['org_2']);
  });

  it('believes no message: one that lies leads to one question and to no call', async () => {
    const other = await openTab();
    const asked = browser.asked.length;
    const { send } = openChannel();
    send({ data: { user: { id: 'mallory' } }, error: null });
    await until(() => browser.asked.length === asked + 1);
    browser.userId = 'ada';
    send('ada');
    await until(() => other.told.length === 1);
    expect([other.told, browser.asked.slice(asked)]).toEqual([['ada'], ['/auth/session', '/auth/session']]);
  });

  it('answers no message with a message, so that tabs never go round in a circle', async () => {
    const tabs = [await openTab(), await openTab(), await openTab()];
    const { heard } = openChannel();
    await tabs[0]!.auth.login(credentials);
    await until(() => tabs[1]!.told.length === 1 && tabs[2]!.told.length === 1);
    // A listener that asks hears nothing new, so it tells nothing.
    await tabs[1]!.auth.session();
    await tabs[0]!.auth.logout();
    await until(() => tabs[1]!.told.length === 2 && heard.length >= 2);
    // They hold nothing: not who, and no secret.
    expect(heard).toEqual([null, null]);
  });

  it('asks once more after messages that came during a question, however many came', async () => {
    const pending: (() => void)[] = [];
    const told: (string | undefined)[] = [];
    const { baseUrl, fetch } = browser;
    const answering: typeof fetch = async (url, init) => {
      await new Promise<void>((resolve) => pending.push(resolve));
      return fetch(url, init);
    };
    leaving.push(
      createBackendClient({ baseUrl, fetch: answering }).subscribe(({ data }) => void told.push(data?.user.id)),
    );
    pending.shift()!();
    await until(() => browser.asked.length === 1);
    const { send } = openChannel();
    const { heard } = openChannel();
    send(null);
    await until(() => pending.length === 1);
    for (let count = 0; count < 20; count += 1) send(null);
    await until(() => heard.length === 21);
    pending.shift()!();
    browser.userId = 'ada';
    await until(() => pending.length === 1);
    pending.shift()!();
    await until(() => told.length === 1);
    // One before the messages, one for the first, one for all that came meanwhile.
    expect(browser.asked).toHaveLength(3);
    expect([told, pending]).toEqual([['ada'], []]);
  });

  it('tells nothing of an outage, and after it what changed meanwhile', async () => {
    const other = await openTab();
    const asked = browser.asked.length;
    const { send } = openChannel();
    browser.userId = 'ada';
    browser.isDown = true;
    send(null);
    await until(() => browser.asked.length === asked + 1);
    browser.isDown = false;
    send(null);
    await until(() => other.told.length === 1);
    expect(other.told).toEqual(['ada']);
  });

  it('ends for one listener without the others, and closes the channel after the last', async () => {
    const [here, { auth, told, leave }] = [await openTab(), await openTab()];
    const second: unknown[] = [];
    const leaveSecond = auth.subscribe((session) => void second.push(session));
    leave();
    leave();
    await here.auth.login(credentials);
    await until(() => second.length === 1);
    leaveSecond();
    leaving.splice(1);
    const third = await openTab();
    const asked = browser.asked.length;
    await here.auth.logout();
    await until(() => third.told.length === 1);
    expect([told, second.length]).toEqual([[], 1]);
    // `here` and `third`, and not the one that left.
    expect(browser.asked.slice(asked)).toEqual(['/auth/logout', '/auth/session', '/auth/session']);
  });

  it('keeps a listener that throws from no other one', async () => {
    const { auth } = await openTab();
    const thrown: unknown[] = [];
    const told: unknown[] = [];
    const original = globalThis.queueMicrotask;
    // As a browser does: an error of one task is reported, and the next one runs.
    globalThis.queueMicrotask = (task) => {
      try {
        task();
      } catch (error) {
        thrown.push(error);
      }
    };
    closing.push(
      () => (globalThis.queueMicrotask = original),
      auth.subscribe(() => {
        throw new Error('of the application');
      }),
      auth.subscribe((session) => void told.push(session)),
    );
    browser.userId = 'ada';
    openChannel().send(null);
    await until(() => told.length === 1);
    expect(thrown).toEqual([new Error('of the application')]);
  });

  it('does nothing where the browser has no BroadcastChannel, and every call works', async () => {
    const original = globalThis.BroadcastChannel;
    try {
      Object.assign(globalThis, { BroadcastChannel: undefined });
      const { auth, told, leave } = await openTab();
      expect((await auth.login(credentials)).error).toBeNull();
      expect((await auth.session()).data?.user.id).toBe('ada');
      leave();
      expect(told).toEqual([]);
    } finally {
      Object.assign(globalThis, { BroadcastChannel: original });
    }
  });

  it('remembers in the tab what its last page knew, and works where the browser allows no storage', async () => {
    const original = Object.getOwnPropertyDescriptor(globalThis, 'sessionStorage');
    const kept = new Map<string, string>();
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (k: string, v: string) => kept.set(k, v),
    };
    const define = (get: () => unknown) =>
      Object.defineProperty(globalThis, 'sessionStorage', { configurable: true, get });
    const { heard } = openChannel();
    try {
      define(() => storage);
      for (const userId of [undefined, 'ada', 'ada', 'ada', undefined]) {
        browser.userId = userId;
        await newClient().session();
      }
      await until(() => heard.length >= 3);
      define(() => {
        throw new DOMException('The operation is insecure.', 'SecurityError');
      });
      const client = newClient();
      expect((await client.session()).error?.code).toBe('unauthenticated');
      await client.session();
      await until(() => heard.length >= 4);
      expect(heard).toHaveLength(4);
    } finally {
      if (original === undefined) delete (globalThis as { sessionStorage?: unknown }).sessionStorage;
      else Object.defineProperty(globalThis, 'sessionStorage', original);
    }
  });
});
