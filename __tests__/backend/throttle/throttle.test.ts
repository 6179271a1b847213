import { ada, postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { itOnExpress, itWithoutProxy } from '../../support/only.ts';
import type { Answer } from '../../support/visitor.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

const guess = (email: string = ada.email, headers: Record<string, string> = {}): Promise<Answer> =>
  postForm(app.visitor(), '/auth/login', { email, password: 'wrong' }, { accept: 'application/json', ...headers });

async function guessTimes(count: number, ...rest: Parameters<typeof guess>): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index += 1) statuses.push((await guess(...rest)).status);
  return statuses;
}

describe('failed sign-ins', () => {
  it('are refused after ten per account, without asking the backend, with a time to wait', async () => {
    await start();
    expect(await guessTimes(10)).toEqual(Array.from({ length: 10 }, () => 401));
    const refused = await guess();
    expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(app.supabase.calls('password')).toBe(10);
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'throttled', scope: 'account' }));
    expect((await guess('other@example.com')).status).toBe(401);
    const form = await postForm(app.visitor(), '/auth/login', ada);
    expect([form.status, form.text.includes('Too many attempts')]).toEqual([429, true]);
  });

  it('are refused with the wait in words, on the page and in JSON', async () => {
    await start();
    await guessTimes(10);
    const words = 'Too many attempts. Try again in 15 minutes.';
    expect((await guess()).json.error.message).toBe(words);
    expect((await postForm(app.visitor(), '/auth/login', ada)).text).toContain(words);
  });

  it('count when they run in parallel', async () => {
    await start();
    // Equal guesses of one browser at the same time would be one double submit.
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => guess(ada.email, { 'user-agent': `Browser/${index}` })),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
  });

  it('count while in progress: the eleventh parallel sign-in waits a second, not the whole window', async () => {
    await start();
    const gate = app.supabase.gate('password');
    const signIns = Array.from({ length: 15 }, (_, index) =>
      app.visitor().postJson('/auth/login', { ...ada, returnTo: `/${index}` }),
    );
    await gate.waitFor(10);
    const refused = await Promise.race(signIns);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    gate.open();
    await Promise.all(signIns);
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    expect(await guessTimes(10)).not.toContain(429);
  });

  it('are forgotten after a success', async () => {
    await start();
    await guessTimes(9);
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    expect(await guessTimes(9)).not.toContain(429);
  });

  it('do not count while the backend is unreachable', async () => {
    await start();
    app.supabase.fail('password', 503);
    await guessTimes(15);
    app.supabase.heal();
    expect((await guess()).status).toBe(401);
  });

  itOnExpress('count per network, by the address from the trusted proxy', async () => {
    await start({ before: ({ express }) => express.set('trust proxy', 1) });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    await guessTimes(10, ada.email, from('203.0.113.7'));
    expect((await guess(ada.email, from('203.0.113.7'))).status).toBe(429);
    expect((await guess(ada.email, from('203.0.113.8'))).status).toBe(401);
    await guessTimes(10, ada.email, from('2001:db8:1:2::1'));
    expect((await guess(ada.email, from('2001:db8:1:2:ffff::9'))).status).toBe(429);
  });

  itWithoutProxy('warn once if a proxy is not trusted, and then limit no network', async () => {
    await start();
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    for (let index = 0; index < 110; index += 1) {
      expect((await guess(`unknown${index}@example.com`, headers)).status).toBe(401);
    }
    expect(app.eventTypes().filter((type) => type === 'configuration_warning')).toHaveLength(1);
  });

  it('count by the application’s own function if it has one, and not at all if it disables the limit', async () => {
    await start({ options: { clientAddress: (req) => String(req.headers['x-test-address']) } });
    await guessTimes(10, ada.email, { 'x-test-address': '192.0.2.1' });
    expect((await guess(ada.email, { 'x-test-address': '192.0.2.2' })).status).toBe(401);
    await app.close();
    await start({ options: { throttle: false } });
    expect(await guessTimes(12)).not.toContain(429);
  });
});

it('sign-ups and emails count even when they succeed, so that no mailbox is flooded', async () => {
  await start({ standIn: { autoconfirm: false, mailFrequency: 0 } });
  const statuses: number[] = [];
  for (let index = 0; index < 12; index += 1) {
    statuses.push((await app.visitor().postJson('/auth/resend', { email: 'eve@example.com' })).status);
  }
  expect(statuses.slice(10)).toEqual([429, 429]);
  expect(
    (await app.visitor().postJson('/auth/signup', { email: 'EVE@example.com', password: 'long enough' })).status,
  ).toBe(429);
});

describe('emails, passwords and links of one network', () => {
  const to = (email: string) => app.visitor().postJson('/auth/resend', { email });
  const link = (tokenHash: string, type = 'signup'): Promise<Answer> =>
    postForm(app.visitor(), '/auth/confirm', { token_hash: tokenHash, type });
  const waiting = { email: 'grace@example.com', password: 'battery staple' };
  /** @returns the token of a valid link */
  async function startWithLink(): Promise<string> {
    await start({ standIn: { autoconfirm: false, mailFrequency: 0 } });
    await app.visitor().postJson('/auth/signup', waiting);
    return app.supabase.mails.at(-1)?.tokenHash ?? '';
  }

  it('have limits of their own: after a hundred sign-ups, right passwords and valid links pass', async () => {
    const valid = await startWithLink();
    const statuses: number[] = [];
    for (let index = 0; index < 100; index += 1) {
      const account = { email: `new${index}@example.com`, password: 'battery staple' };
      statuses.push((await app.visitor().postJson('/auth/signup', account)).status);
    }
    expect(statuses).toEqual([...Array<number>(99).fill(200), 429]);
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    expect((await link(valid)).status).toBe(303);
    expect((await to('one-more@example.com')).status).toBe(429);
  });

  it('have limits of their own: after a hundred wrong passwords, links pass and emails are sent', async () => {
    const valid = await startWithLink();
    for (let index = 0; index < 100; index += 1) await guess(`unknown${index}@example.com`);
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(429);
    expect((await link(valid)).status).toBe(303);
    expect((await to(ada.email)).status).toBe(200);
  });

  // Supabase makes a link's token of the address and the code in the same email, so who knows an address can guess it.
  it('have limits of their own: a hundred invented links close links, and not passwords', async () => {
    const valid = await startWithLink();
    const invented = Array.from({ length: 100 }, (_, index) => `invented-${index}`);
    for (const token of invented) expect((await link(token)).status).toBe(400);
    expect((await link(valid)).status).toBe(429);
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
  });

  it('count no valid link', async () => {
    await startWithLink();
    for (let index = 0; index < 101; index += 1) {
      await app.supabase.invite(`new${index}@example.com`);
      expect((await link(app.supabase.mails.at(-1)?.tokenHash ?? '', 'invite')).status).toBe(303);
    }
  });

  it('have limits of their own for an account: ten emails leave its password open, ten wrong passwords its emails', async () => {
    await start({ standIn: { autoconfirm: false, mailFrequency: 0 } });
    for (let index = 0; index < 10; index += 1) expect((await to(ada.email)).status).toBe(200);
    expect((await to(ada.email)).status).toBe(429);
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    await guessTimes(10, 'mary@example.com');
    expect((await guess('mary@example.com')).status).toBe(429);
    expect((await app.visitor().postJson('/auth/forgot', { email: 'mary@example.com' })).status).toBe(200);
  });
});

describe('invented codes and links', () => {
  const from = (address: string) => ({ accept: 'application/json', 'x-test-address': address });
  const options: BackendAppSetup['options'] = { clientAddress: (req) => String(req.headers['x-test-address']) };
  async function tryCodes(count: number, address: string): Promise<number[]> {
    const statuses: number[] = [];
    for (let index = 0; index < count; index += 1) {
      const id = String(index).padStart(32, '0');
      const visitor = app.visitor();
      visitor.cookies.set(`${app.cookieName}-flow-${id}-code-verifier`, 'base64-ImFiYyI');
      statuses.push((await visitor.get(`/auth/callback?code=made-up-${index}`, { headers: from(address) })).status);
    }
    return statuses;
  }

  // Over https the cookie of the verifier has another name.
  itWithoutProxy('stop causing calls after a hundred per network, and other networks can sign in', async () => {
    await start({ options });
    expect(new Set(await tryCodes(100, '192.0.2.1'))).toEqual(new Set([400]));
    expect(app.supabase.calls('pkce')).toBe(100);
    expect(await tryCodes(1, '192.0.2.1')).toEqual([429]);
    const confirm = await postForm(
      app.visitor(),
      '/auth/confirm',
      { token_hash: 'made-up', type: 'email' },
      from('192.0.2.1'),
    );
    expect(confirm.status).toBe(429);
    expect([app.supabase.calls('pkce'), app.supabase.calls('verify')]).toEqual([100, 0]);
    expect(await tryCodes(1, '192.0.2.2')).toEqual([400]);
  });

  itWithoutProxy('do not count while the backend is unreachable', async () => {
    await start({ options });
    app.supabase.fail('pkce', 503);
    expect(new Set(await tryCodes(101, '192.0.2.1'))).toEqual(new Set([503]));
  });
});
