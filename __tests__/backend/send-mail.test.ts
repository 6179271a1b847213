import { createHook } from 'node:async_hooks';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { until } from '../support/until.ts';

const eve = { email: 'eve@example.com', password: 'battery staple' };
let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('a call that may send an email', () => {
  it('continues after the answer, and a later failure is an event', async () => {
    await start({
      options: { mailAnswerMs: 50 },
      standIn: { autoconfirm: false, extraMs: () => 300, mailFailure: 'smtp' },
    });
    app.supabase.addUser({ ...eve, confirmed: false });
    const answer = await app.visitor().postJson('/auth/resend', eve);
    expect([answer.status, app.events]).toEqual([200, []]);
    await until(() => app.events.length > 0);
    expect(app.events).toEqual([
      { adapter: 'backend', type: 'mail_failed', code: 'provider_unavailable', reason: 'unexpected_failure' },
    ]);
  });

  it('sends the email after the answer, and its link works in this browser', async () => {
    await start({
      options: { mailAnswerMs: 50, timeoutMs: 200 },
      standIn: { autoconfirm: false, extraMs: () => 300 },
    });
    app.supabase.addUser({ ...eve, confirmed: false });
    const visitor = app.visitor();
    await visitor.postJson('/auth/resend', { ...eve, returnTo: '/account' });
    await until(() => app.supabase.mails.length > 0);
    expect(app.events).toEqual([]);
    const link = await fetch(app.supabase.mails[0]!.confirmationUrl, { redirect: 'manual' });
    const done = await visitor.get(link.headers.get('location') ?? '');
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
  });

  it('delays the answer if it yields a session, however slow it is', async () => {
    await start({ options: { mailAnswerMs: 20 }, standIn: { extraMs: () => 200 } });
    for (const email of [eve.email, 'eva@example.com']) {
      const answer = await app.visitor().postJson('/auth/signup', { ...eve, email });
      expect(answer.json).toEqual({ redirectTo: '/' });
    }
  });

  it.each(['/auth/signup', '/auth/resend'])('is a 503 of %s for every address in an outage', async (route) => {
    await start({ options: { mailAnswerMs: 300 }, standIn: { autoconfirm: false } });
    app.supabase.fail('all', 'refuse');
    for (const email of [ada.email, eve.email]) {
      const answer = await app.visitor().postJson(route, { ...eve, email });
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
    }
  });

  it('reports an invalid password or captcha, as that reveals nothing about the address', async () => {
    await start({
      options: { mailAnswerMs: 300 },
      standIn: { autoconfirm: false, minimumPasswordLength: 20, captchaToken: 'solved' },
    });
    for (const email of [ada.email, eve.email]) {
      const fields = { ...eve, email };
      expect((await app.visitor().postJson('/auth/signup', fields)).json.error.code).toBe('captcha_failed');
      const solved = { ...fields, captchaToken: 'solved' };
      expect((await app.visitor().postJson('/auth/signup', solved)).json.error.code).toBe('weak_password');
    }
  });

  it('waits at most timeoutMs if it is not known to send an email', async () => {
    await start({ options: { mailAnswerMs: 20, timeoutMs: 200 }, standIn: { autoconfirm: false } });
    app.supabase.fail('signup', 'hang');
    expect((await app.visitor().postJson('/auth/signup', eve)).status).toBe(503);
  });

  it('ends the session of a sign-up that finishes after the answer', async () => {
    await start({ options: { mailAnswerMs: 20, timeoutMs: 1_000 } });
    const gate = app.supabase.gate('signup');
    expect((await app.visitor().postJson('/auth/signup', eve)).status).toBe(503);
    gate.open();
    await until(() => app.supabase.calls('logout') > 0);
    await until(() => app.supabase.sessionsOf(eve.email).length === 0);
  });

  it('for a new password never delays the answer, and a later outage is an event', async () => {
    await start({ options: { mailAnswerMs: 20, timeoutMs: 200 } });
    app.supabase.fail('recover', 'hang');
    const answer = await app.visitor().postJson('/auth/forgot', { email: ada.email });
    expect([answer.status, answer.json.email]).toEqual([200, ada.email]);
    await until(() => app.supabase.calls('recover') > 0);
    app.supabase.heal();
    await until(() => app.events.length > 0);
    expect(app.events).toStrictEqual([{ adapter: 'backend', type: 'mail_failed', code: 'provider_unavailable' }]);
  });
});

/** Runs `work`, and tells of each timer of this length that starts meanwhile whether it keeps the process alive. */
async function timersOf(ms: number, work: () => Promise<unknown>): Promise<readonly boolean[]> {
  const timers: boolean[] = [];
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'Timeout' && Reflect.get(resource, '_idleTimeout') === ms)
        timers.push((resource as NodeJS.Timeout).hasRef());
    },
  });
  hook.enable();
  await work().finally(() => hook.disable());
  return timers;
}

it.each(['/auth/forgot', '/auth/resend'])(
  'starts one timer of %s, which keeps no process alive, and none for an attempt that the throttle refuses',
  async (route) => {
    const [mailAnswerMs, timeoutMs] = [37, 4_321];
    await start({ options: { mailAnswerMs, timeoutMs }, standIn: { autoconfirm: false, mailFrequency: 0 } });
    const send = (): Promise<unknown> => app.visitor().postJson(route, { email: ada.email });
    expect(await timersOf(mailAnswerMs, send)).toEqual([false]);
    const refused = async (): Promise<void> => {
      const { status } = await app.visitor().postJson(route, { email: ada.email });
      expect(status).toBe(429);
    };
    for (let count = 1; count < 10; count += 1) await send();
    expect(await timersOf(mailAnswerMs, refused)).toEqual([]);
    expect(await timersOf(timeoutMs, refused)).toEqual([]);
  },
);

describe('an email that Supabase did not send', () => {
  const user = { ...ada, email: 'una@example.com' };
  const asked = [
    ['/auth/signup', { email: 'new@example.com', password: eve.password }],
    ['/auth/resend', { email: user.email }],
    ['/auth/forgot', { email: ada.email }],
    ['/auth/code', { email: ada.email }],
  ] as const;

  it.each(asked)('is claimed by no page or answer of %s', async (path, fields) => {
    await start({
      options: { signInMethods: ['password', 'code'], throttle: false, mailAnswerMs: 300 },
      standIn: { autoconfirm: false, mailFailure: 'smtp' },
    });
    app.supabase.addUser({ ...user, confirmed: false });
    const page = await postForm(app.visitor(), path, { ...fields });
    const { status, json } = await app.visitor().postJson(path, fields);
    expect([page.status, status]).toEqual([200, 200]);
    expect(app.supabase.mails).toEqual([]);
    for (const words of [page.text, json.message]) expect(words).not.toMatch(/\bwe sent\b|on its way|can send another/);
    expect(page.text).toContain('Check your spam folder.');
  });
});
