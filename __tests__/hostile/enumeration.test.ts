import { createRequire } from 'node:module';
import type { IncomingMessage } from 'node:http';
import { jest } from '@jest/globals';
import { createClientAddress } from '../../lib/backend/throttle/client-address.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { itWithoutProxy } from '../support/only.ts';
import { until } from '../support/until.ts';
import type { Answer } from '../support/visitor.ts';

let app: BackendApp;
const start = async ({ options, ...setup }: BackendAppSetup = {}): Promise<BackendApp> =>
  (app = await startBackendApp({ ...setup, options: { signInMethods: ['password', 'code'], sso: true, ...options } }));
afterEach(() => app.close());

const proxyAddr = createRequire(createRequire(import.meta.url).resolve('express'))('proxy-addr') as {
  compile(trusted: string[]): (address: string, hop: number) => boolean;
};

/** Of the same length, so that pages that repeat them have the same length, too. */
const unknown = 'ida@example.com';

/** Everything that an answer tells, with what the visitor typed, the time, and random values of a known length blotted out. */
function told(answer: Answer, email: string): unknown {
  const headers = Object.entries(answer.headers)
    .filter(([name]) => name !== 'date' && name !== 'set-cookie')
    // In minutes: the limiter counts real seconds, and one may pass between two answers.
    .map(([name, value]) => [name, name === 'retry-after' ? Math.ceil(Number(value) / 60) : value]);
  return {
    status: answer.status,
    headers,
    cookies: answer.setCookies.map((line) =>
      line.replace(/[A-Za-z0-9_-]{8,}(?=[-=;])|base64-[\w-]+/g, (text) => `<${text.length}>`),
    ),
    text: answer.text
      .replaceAll(email, '<email>')
      .replaceAll(encodeURIComponent(email), '<email>')
      .replaceAll(/\d+ seconds?/g, '<seconds>'),
  };
}

type Send = (email: string) => Promise<Answer>;
const clients: readonly (readonly [string, (route: string, fields: Record<string, string>) => Promise<Answer>])[] = [
  ['a form', (route, fields) => postForm(app.visitor(), route, fields)],
  ['the typed client', (route, fields) => app.visitor().postJson(route, fields)],
];

/** The visible parts of an answer, and the calls to the backend for it. */
async function observed(send: Send, email: string, isAheadOfCall = false): Promise<unknown> {
  const before = app.supabase.requests.length;
  const answer = await send(email);
  // An answer that does not wait for the backend may come before the call reaches it.
  if (isAheadOfCall) await until(() => app.supabase.requests.length > before);
  const asked = app.supabase.requests.slice(before).map(({ method, endpoint }) => `${method} ${endpoint}`);
  return { answer: told(answer, email), asked };
}

describe.each(clients)('the same answer, for %s', (_title, post) => {
  it('to an unknown address, a wrong password, and an account without a password', async () => {
    await start();
    app.supabase.addUser({ email: 'oda@example.com' });
    const send: Send = (email) => post('/auth/login', { email, password: 'wrong' });
    const wrong = await observed(send, ada.email);
    expect(wrong).toMatchObject({ answer: { status: 401 }, asked: ['POST password'] });
    expect(await observed(send, unknown)).toEqual(wrong);
    expect(await observed(send, 'oda@example.com')).toEqual(wrong);
  });

  it('to an unconfirmed address and an unknown one, with a wrong password', async () => {
    await start();
    app.supabase.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
    const send: Send = (email) => post('/auth/login', { email, password: 'wrong' });
    expect(await observed(send, 'new@example.com')).toEqual(await observed(send, unknown));
  });

  it('to a sign-up with an existing address, confirmed or not, and a new one', async () => {
    await start({ standIn: { autoconfirm: false } });
    app.supabase.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
    const send: Send = (email) => post('/auth/signup', { email, password: 'long enough' });
    const fresh = await observed(send, unknown);
    expect(fresh).toMatchObject({ answer: { status: 200 }, asked: ['POST signup'] });
    expect(await observed(send, ada.email)).toEqual(fresh);
    expect(await observed(send, 'new@example.com')).toEqual(fresh);
  });

  it('to a sign-up that is sent twice: the second email is refused for some addresses only', async () => {
    await start({ standIn: { autoconfirm: false } });
    const send: Send = (email) => post('/auth/signup', { email, password: 'long enough' });
    const fresh = await observed(send, unknown);
    expect(fresh).toMatchObject({ answer: { status: 200 } });
    for (const email of [unknown, ada.email, ada.email]) expect(await observed(send, email)).toEqual(fresh);
    expect(app.events).toEqual([
      { adapter: 'backend', type: 'mail_failed', code: 'rate_limited', reason: 'over_email_send_rate_limit' },
    ]);
  });

  it.each([
    ['smtp', 'provider_unavailable', 'unexpected_failure'],
    ['quota', 'rate_limited', 'over_email_send_rate_limit'],
    ['not_authorized', 'action_failed', 'email_address_not_authorized'],
  ] as const)('while emails fail (%s): only the operators are informed', async (mailFailure, code, reason) => {
    await start({ standIn: { autoconfirm: false, mailFrequency: 0 } });
    app.supabase.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
    for (const route of ['/auth/signup', '/auth/resend', '/auth/forgot']) {
      app.supabase.switches.mailFailure = undefined;
      const send: Send = (email) => post(route, { email, password: 'long enough' });
      const known = await observed(send, ada.email);
      app.supabase.switches.mailFailure = mailFailure;
      app.events.length = 0;
      for (const email of [ada.email, unknown, 'new@example.com']) expect(await observed(send, email)).toEqual(known);
      expect(new Set(app.events.map((event) => JSON.stringify(event)))).toEqual(
        new Set([JSON.stringify({ type: 'mail_failed', code, reason, adapter: 'backend' })]),
      );
    }
  });

  it('to a sign-up and a resend whose email takes longer than the answer', async () => {
    await start({ options: { mailAnswerMs: 150 }, standIn: { autoconfirm: false } });
    // The first sign-up shows that this project sends mails.
    await post('/auth/signup', { email: 'first@example.com', password: 'long enough' });
    app.supabase.switches.extraMs = (email) => (email === ada.email ? 0 : 600);
    for (const route of ['/auth/signup', '/auth/resend', '/auth/forgot']) {
      const send: Send = (email) => post(route, { email, password: 'long enough' });
      expect(await observed(send, unknown, true)).toEqual(await observed(send, ada.email, true));
    }
  });

  it.each(['/auth/signup', '/auth/resend', '/auth/forgot'])(
    'to a second %s in the same browser: its cookies list the same flows',
    async (route) => {
      await start({ standIn: { autoconfirm: false } });
      app.supabase.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
      const answers: unknown[] = [];
      for (const email of [ada.email, 'new@example.com']) {
        const visitor = app.visitor();
        await postForm(visitor, route, { email, password: 'long enough' });
        // Another request, not a double submit.
        const again = { email, password: 'long enough', returnTo: '/again' };
        answers.push(told(await postForm(visitor, route, again), email));
      }
      expect(answers[0]).toMatchObject({ status: 200 });
      expect(answers[1]).toEqual(answers[0]);
      expect(new Set(app.eventTypes())).toEqual(new Set(['mail_failed']));
    },
  );

  it('to one request too many, while the emails to some addresses are still being sent', async () => {
    await start({ options: { mailAnswerMs: 150 }, standIn: { autoconfirm: false } });
    app.supabase.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
    app.supabase.switches.extraMs = (email) => (email === ada.email ? 0 : 1_000);
    const send: Send = (email) => post('/auth/resend', { email });
    const closed: unknown[] = [];
    for (const email of [ada.email, 'new@example.com']) {
      const requests = Array.from({ length: 10 }, (_, index) => ({ email, returnTo: `/${index}` }));
      await Promise.all(requests.map((fields) => post('/auth/resend', fields)));
      closed.push(await observed(send, email));
    }
    expect(closed[0]).toMatchObject({ answer: { status: 429 }, asked: [] });
    expect(closed[1]).toEqual(closed[0]);
  });

  it.each(['/auth/resend', '/auth/forgot'])('to a request for another email, for any address: %s', async (route) => {
    await start({ standIn: { autoconfirm: false } });
    app.supabase.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
    const send: Send = (email) => post(route, { email });
    const forUnknown = await observed(send, unknown);
    for (const email of [ada.email, 'new@example.com', 'new@example.com']) {
      expect(await observed(send, email)).toEqual(forUnknown);
    }
  });

  it('once the throttle has locked an account, existing or not', async () => {
    await start();
    const send: Send = (email) => post('/auth/login', { email, password: 'wrong' });
    for (const email of [ada.email, unknown]) {
      for (let attempt = 0; attempt < 10; attempt += 1) await send(email);
    }
    const closed = await observed(send, ada.email);
    expect(closed).toMatchObject({ answer: { status: 429 }, asked: [] });
    expect(await observed(send, unknown)).toEqual(closed);
    // It does not even reveal whether the password was right.
    expect(await observed((email) => post('/auth/login', { ...ada, email }), ada.email)).toEqual(closed);
  });
});

describe.each(clients)('the same answer about codes by email, for %s', (_title, post) => {
  const send: Send = (email) => post('/auth/code', { email });
  const enter: Send = (email) => post('/auth/code', { email, code: '000000' });
  /** An existing account, an unknown one, and an unconfirmed one. */
  const addresses = [ada.email, unknown, 'new@example.com'];
  const startWith = async (setup?: BackendAppSetup): Promise<void> => {
    await start(setup);
    app.supabase.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
  };
  const all = async (sending: Send, isAheadOfCall = false): Promise<unknown[]> => {
    const answers: unknown[] = [];
    for (const email of addresses) answers.push(await observed(sending, email, isAheadOfCall));
    return answers;
  };

  it.each([undefined, 'smtp', 'quota', 'not_authorized'] as const)(
    'to a request for one (emails: %s)',
    async (mailFailure) => {
      await startWith({ standIn: { autoconfirm: false } });
      const another = await observed(send, 'mia@example.com');
      expect(another).toMatchObject({ answer: { status: 200 }, asked: ['POST otp'] });
      app.supabase.switches.mailFailure = mailFailure;
      expect(await all(send)).toEqual([another, another, another]);
      expect(app.eventTypes()).toEqual(mailFailure === undefined ? [] : ['mail_failed', 'mail_failed', 'mail_failed']);
    },
  );

  it('to a second request within the minute, and to requests while sign-up is disabled', async () => {
    await startWith({ standIn: { autoconfirm: false, signupDisabled: true } });
    const [first, ...others] = await all(send);
    expect(first).toMatchObject({ answer: { status: 200 } });
    expect(others).toEqual([first, first]);
    const [second, ...further] = await all(send);
    expect(second).toMatchObject({ answer: { status: 429 }, asked: [] });
    expect(further).toEqual([second, second]);
  });

  it('to a request whose email takes longer than the answer', async () => {
    await startWith({ options: { mailAnswerMs: 150 }, standIn: { autoconfirm: false } });
    app.supabase.switches.extraMs = (email) => (email === ada.email ? 0 : 600);
    const [first, ...others] = await all(send, true);
    expect(others).toEqual([first, first]);
  });

  it('to wrong codes, whether or not one was sent, up to the limit and beyond', async () => {
    await startWith({ standIn: { autoconfirm: false } });
    await send(ada.email);
    for (let count = 0; count < 5; count += 1) {
      const [first, ...others] = await all(enter);
      expect(first).toMatchObject({ answer: { status: 422 }, asked: ['POST verify'] });
      expect(others).toEqual([first, first]);
    }
    const [closed, ...others] = await all(enter);
    expect(closed).toMatchObject({ answer: { status: 429 }, asked: [] });
    expect(others).toEqual([closed, closed]);
  });
});

it.each(clients)('single sign-on checks the domain alone, for %s', async (_title, post) => {
  await start();
  const send: Send = (email) => post('/auth/sso', { email });
  const known = await observed(send, ada.email);
  expect(known).toMatchObject({ answer: { status: 422 }, asked: ['POST sso'] });
  expect(await observed(send, unknown)).toEqual(known);
  for (const { body } of app.supabase.requests.filter(({ endpoint }) => endpoint === 'sso')) {
    expect(JSON.stringify(body)).not.toMatch(/ada|ida/);
  }
});

describe('the throttle', () => {
  const guess = (from: string, email: string = ada.email): Promise<Answer> =>
    postForm(app.visitor(), '/auth/login', { email, password: 'wrong' }, { 'x-test-address': from });
  const byHeader: BackendAppSetup = {
    options: { clientAddress: (req: IncomingMessage) => String(req.headers['x-test-address']) },
  };
  const signIn = (from: string): Promise<Answer> =>
    postForm(app.visitor(), '/auth/login', ada, { 'x-test-address': from });

  it('cannot lock another user out: the owner can sign in from elsewhere at any time', async () => {
    await start(byHeader);
    for (let attempt = 0; attempt < 40; attempt += 1) await guess('2001:db8:bad::1');
    expect((await signIn('2001:db8:bad::1')).status).toBe(429);
    expect((await signIn('198.51.100.4')).status).toBe(303);
  });

  it('counts a /64 as one, and so all spellings of an address, however an attacker varies it', async () => {
    await start(byHeader);
    const statuses: number[] = [];
    for (let host = 1; host <= 11; host += 1) statuses.push((await guess(`2001:db8:1:2::${host.toString(16)}`)).status);
    expect(statuses.at(-1)).toBe(429);
    const spellings = ['203.0.113.9', '::ffff:203.0.113.9', '::ffff:cb00:7109', '0:0:0:0:0:FFFF:203.0.113.9'];
    for (let attempt = 0; attempt < 10; attempt += 1) await guess(spellings[attempt % spellings.length] ?? '');
    for (const address of spellings) expect((await guess(address)).status).toBe(429);
  });

  it('locks a network that tries one password on many accounts', async () => {
    await start(byHeader);
    for (let account = 0; account < 100; account += 1) await guess('203.0.113.9', `user${account}@example.com`);
    expect((await guess('203.0.113.9', 'fresh@example.com')).status).toBe(429);
    expect((await guess('203.0.113.10', 'fresh@example.com')).status).toBe(401);
  });

  itWithoutProxy('is not bypassed by headers from an untrusted peer', async () => {
    await start();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 11; attempt += 1) {
      const headers = {
        'x-forwarded-for': `203.0.113.${attempt}`,
        'x-real-ip': `203.0.113.${attempt}`,
        forwarded: 'for=1',
      };
      statuses.push((await postForm(app.visitor(), '/auth/login', { ...ada, password: 'wrong' }, headers)).status);
    }
    expect(statuses.at(-1)).toBe(429);
  });
});

describe('the address that attempts count under', () => {
  beforeEach(() => start());
  const names = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip'];
  const requestFrom = (peer: string, headers: Record<string, string>, trusted?: string[]): IncomingMessage => {
    const trust = trusted === undefined ? undefined : proxyAddr.compile(trusted);
    const settings = Object.assign(() => undefined, { get: () => trust });
    return { socket: { remoteAddress: peer }, headers, app: settings } as unknown as IncomingMessage;
  };

  it.each(['203.0.113.9', '::ffff:203.0.113.9', '2001:db8::9', '172.32.0.1', '100.128.0.1', '2002::1'])(
    'is the peer’s own if %s sends headers that only a proxy should send: they do not avoid the limit',
    (peer) => {
      const emitted: unknown[] = [];
      jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      const addressOf = createClientAddress(undefined, (event) => emitted.push(event));
      for (const name of names) expect(addressOf(requestFrom(peer, { [name]: '192.0.2.1' }))).toBe(peer);
      expect(addressOf(requestFrom(peer, { 'x-forwarded-for': '192.0.2.1' }, ['10.0.0.1']))).toBe(peer);
      // A stranger can send the same.
      expect(emitted).toEqual([]);
      jest.restoreAllMocks();
    },
  );

  it.each([
    '127.0.0.1',
    '::1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.7.7',
    '100.64.0.1',
    '::ffff:10.0.0.1',
    'fd00::1',
    'fe80::1%eth0',
  ])('is none if %s is a proxy that is not trusted: one attacker must not lock all others out', (peer) => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const addressOf = createClientAddress(undefined, () => undefined);
    expect(addressOf(requestFrom(peer, { 'x-forwarded-for': '192.0.2.1' }))).toBeUndefined();
    expect(addressOf(requestFrom(peer, {}))).toBe(peer);
    jest.restoreAllMocks();
  });
});
