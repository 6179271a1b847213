// What the project refuses at a form, in words that say what to do: neither a link nor a wrong password is to blame.
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

const unknown = 'ida@example.com';
/** Passes our own check, and GoTrue finds no domain in it. */
const malformed = 'ada@example';
const password = 'correct horse battery';
const claimsMail = /check your email|we sent|sent (you )?(a|an) (link|email|code)/i;

let app: BackendApp;
const start = async ({ options, standIn }: BackendAppSetup = {}): Promise<BackendApp> => {
  app = await startBackendApp({
    options: { signInMethods: ['password', 'code'], ...options },
    standIn: { autoconfirm: false, mailFrequency: 0, ...standIn },
  });
  return app;
};
afterEach(() => app.close());

const codeOf = ({ status, json }: Answer): unknown[] => [status, json.error?.code, json.error?.message];
/** The status, and whether the message is at the field of the address. */
const atField = ({ status, text }: Answer, message: string): unknown[] => [
  status,
  /<input id="email"[^>]*aria-invalid="true"[^>]*aria-describedby="email-error"/.test(text),
  text.includes(message),
];

describe('an address that GoTrue calls invalid', () => {
  const words = 'Enter a valid email address.';

  it.each(['/auth/signup', '/auth/forgot', '/auth/code'])('is reported at its field by %s, and kept', async (path) => {
    await start();
    const page = await postForm(app.visitor(), path, { email: malformed, password, returnTo: '/account' });
    expect(atField(page, words)).toEqual([400, true, true]);
    expect([page.text.includes(`value="${malformed}"`), page.text.includes('value="/account"')]).toEqual([true, true]);
    expect([claimsMail.test(page.text), page.text.includes('incomplete')]).toEqual([false, false]);
    expect(app.events).toContainEqual(
      expect.objectContaining({ type: 'sign_in_failed', code: 'invalid_request', reason: 'validation_failed' }),
    );
  });

  it.each(['/auth/signup', '/auth/forgot', '/auth/code', '/auth/resend'])('is reported to JSON by %s', async (path) => {
    await start();
    const answer = await app.visitor().postJson(path, { email: malformed, password });
    expect(codeOf(answer)).toEqual([400, 'invalid_request', words]);
  });

  it('is reported by the form for a password, too', async () => {
    await start({ options: { fetch: answering('/token', 400, 'validation_failed') } });
    expect(codeOf(await app.visitor().postJson('/auth/login', ada))).toEqual([400, 'invalid_request', words]);
    expect(atField(await postForm(app.visitor(), '/auth/login', ada), words)).toEqual([400, true, true]);
  });

  it('is reported at its field beside a code, too', async () => {
    await start();
    const fields = { email: malformed, code: '123456', returnTo: '/account' };
    const page = await postForm(app.visitor(), '/auth/code', fields);
    expect(atField(page, words)).toEqual([400, true, true]);
    expect([page.text.includes('name="code"'), page.text.includes(`value="${malformed}"`)]).toEqual([false, true]);
    expect(codeOf(await app.visitor().postJson('/auth/code', fields))).toEqual([400, 'invalid_request', words]);
  });

  it('is reported by a sign-up, whose address Supabase sends no email to', async () => {
    await start({ standIn: { invalidEmailDomains: new Set(['invalid.example']) } });
    const email = 'ida@invalid.example';
    const answer = await app.visitor().postJson('/auth/signup', { email, password });
    expect(codeOf(answer)).toEqual([400, 'invalid_request', words]);
    expect(atField(await postForm(app.visitor(), '/auth/signup', { email, password }), words)).toEqual([
      400,
      true,
      true,
    ]);
  });
});

/** GoTrue's answer at one endpoint; the others work. */
function answering(endpoint: string, status: number, code: string): typeof fetch {
  return (input, init) =>
    new URL(new Request(input).url).pathname.endsWith(endpoint)
      ? Promise.resolve(Response.json({ code, message: 'Words of GoTrue' }, { status }))
      : fetch(input, init);
}

describe('a project that does not sign in by email', () => {
  const words = 'This way to sign in by email is switched off. Choose another one.';
  const paths = ['/auth/login', '/auth/signup', '/auth/forgot', '/auth/code', '/auth/resend'];

  it.each(paths)('says so at %s for every address, and nothing of new accounts or mails', async (path) => {
    await start({ standIn: { emailProviderDisabled: true } });
    for (const email of [ada.email, unknown]) {
      expect(codeOf(await app.visitor().postJson(path, { email, password }))).toEqual([403, 'email_disabled', words]);
      const { status, text } = await postForm(app.visitor(), path, { email, password });
      expect([status, text.includes(words), claimsMail.test(text)]).toEqual([403, true, false]);
      expect(text).not.toContain('New accounts');
    }
  });

  it('says so where it switches codes off, which concerns every address', async () => {
    await start({ options: { fetch: answering('/otp', 422, 'otp_disabled') } });
    for (const email of [ada.email, unknown]) {
      const answer = await app.visitor().postJson('/auth/code', { email });
      expect(codeOf(answer)).toEqual([403, 'email_disabled', words]);
    }
  });

  it('tells nothing where sign-up is closed: GoTrue then refuses unknown addresses with the same code', async () => {
    await start({ options: { signUp: false } });
    const told = async (email: string): Promise<unknown[]> => {
      const { status, setCookies, text } = await postForm(app.visitor(), '/auth/code', { email });
      return [status, setCookies.length, text.replaceAll(email, '<email>')];
    };
    const known = await told(ada.email);
    expect(known[0]).toBe(200);
    expect(await told(unknown)).toEqual(known);
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'mail_failed', reason: 'otp_disabled' }));
  });
});

describe('a refused captcha', () => {
  const captchaToken = 'solved';
  const refused = [400, 'captcha_failed'];
  const startWithCaptcha = (): Promise<BackendApp> => start({ standIn: { captchaToken } });

  it('never counts as a wrong password', async () => {
    await startWithCaptcha();
    for (let count = 0; count < 12; count += 1) {
      const fields = { ...ada, captchaToken: count % 2 === 0 ? 'wrong' : undefined };
      expect(codeOf(await app.visitor().postJson('/auth/login', fields)).slice(0, 2)).toEqual(refused);
    }
    expect((await app.visitor().postJson('/auth/login', { ...ada, captchaToken })).status).toBe(200);
    expect(app.eventTypes()).not.toContain('throttled');
  });

  it('never counts as a wrong current password', async () => {
    await startWithCaptcha();
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', { ...ada, captchaToken });
    const fields = { currentPassword: ada.password, password: 'a brand new password' };
    for (let count = 0; count < 12; count += 1) {
      expect(codeOf(await visitor.postJson('/auth/password', fields)).slice(0, 2)).toEqual(refused);
    }
    expect((await visitor.postJson('/auth/password', { ...fields, captchaToken })).status).toBe(200);
  });

  it('leaves wrong passwords counted', async () => {
    await startWithCaptcha();
    for (let count = 0; count < 10; count += 1) {
      await app.visitor().postJson('/auth/login', { ...ada, password: 'wrong' });
      const wrong = await app.visitor().postJson('/auth/login', { ...ada, password: 'wrong', captchaToken });
      expect(wrong.status).toBe(401);
    }
    expect((await app.visitor().postJson('/auth/login', { ...ada, captchaToken })).status).toBe(429);
  });

  it.each(['/auth/code', '/auth/forgot', '/auth/resend', '/auth/signup'])(
    'is what %s says at every try, for every address: no mail went out',
    async (path) => {
      await startWithCaptcha();
      for (const email of [ada.email, unknown]) {
        const visitor = app.visitor();
        for (let count = 0; count < 12; count += 1) {
          const answer = await visitor.postJson(path, { email, password });
          expect(codeOf(answer).slice(0, 2)).toEqual(refused);
        }
        const form = await postForm(visitor, path, { email, password });
        expect([form.status, claimsMail.test(form.text), form.text.includes('name="code"')]).toEqual([
          400,
          false,
          false,
        ]);
        expect((await visitor.postJson(path, { email, password, captchaToken })).status).toBe(200);
      }
    },
  );
});

describe('GoTrue’s limit for all visitors together', () => {
  const send = (visitor: Visitor, email: string): Promise<Answer> => postForm(visitor, '/auth/code', { email });

  it('shows the form for an address with the wait, and no form for a code that never comes', async () => {
    await start();
    app.supabase.fail('otp', 429);
    for (const email of [ada.email, unknown]) {
      for (let count = 0; count < 2; count += 1) {
        const { status, headers, text } = await send(app.visitor(), email);
        expect([status, headers['retry-after'], claimsMail.test(text)]).toEqual([429, '60', false]);
        expect([text.includes('name="email"'), text.includes('name="code"')]).toEqual([true, false]);
        expect(text).toContain(`value="${email}"`);
      }
    }
    const answer = await app.visitor().postJson('/auth/code', { email: ada.email });
    expect(codeOf(answer).slice(0, 2)).toEqual([429, 'rate_limited']);
    expect(app.supabase.mails).toEqual([]);
  });

  it('counts no email: the next try sends one', async () => {
    await start();
    app.supabase.fail('otp', 429, 1);
    expect((await send(app.visitor(), ada.email)).status).toBe(429);
    const sent = await send(app.visitor(), ada.email);
    expect([sent.status, sent.text.includes('name="code"'), app.supabase.mails.length]).toEqual([200, true, 1]);
  });

  it.each([
    ['/auth/forgot', 'recover'],
    ['/auth/resend', 'resend'],
    ['/auth/signup', 'signup'],
  ] as const)('is told by %s for every address, with the wait', async (path, endpoint) => {
    await start();
    app.supabase.fail(endpoint, 429);
    for (const email of [ada.email, unknown]) {
      const { status, headers, text } = await postForm(app.visitor(), path, { email, password });
      expect([status, headers['retry-after'], claimsMail.test(text)]).toEqual([429, '60', false]);
    }
  });

  it('is no limit of wrong codes: the page of the code says only to wait', async () => {
    await start();
    app.supabase.fail('verify', 429);
    const fields = { email: ada.email, code: '123456' };
    const { status, headers, text } = await postForm(app.visitor(), '/auth/code', fields);
    expect([status, headers['retry-after'], text.includes('name="code"')]).toEqual([429, '60', true]);
    expect([text.includes('wrong codes'), text.includes('Too many attempts.')]).toEqual([false, true]);
  });
});
