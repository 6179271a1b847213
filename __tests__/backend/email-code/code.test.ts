import { ada, postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

const path = '/auth/code';
const ida = 'ida@example.com';
let app: BackendApp;

const start = async ({ options, standIn, ...setup }: BackendAppSetup = {}): Promise<BackendApp> => {
  app = await startBackendApp({
    ...setup,
    options: { signInMethods: ['password', 'code'], ...options },
    standIn: { autoconfirm: false, ...standIn },
  });
  return app;
};
afterEach(() => app.close());

const send = (visitor: Visitor, email: string = ada.email): Promise<Answer> => visitor.postJson(path, { email });
const enter = (visitor: Visitor, code: string, email: string = ada.email): Promise<Answer> =>
  visitor.postJson(path, { email, code });
/** A code of six digits that is not the one that was sent. */
const wrongCode = (code = lastMail().token): string => String((Number(code) + 1) % 1_000_000).padStart(6, '0');
const lastMail = () => {
  const mail = app.supabase.mails.at(-1);
  if (mail === undefined) throw new Error('no mail');
  return mail;
};
const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
  (await visitor.getJson('/auth/session')).status === 200;

it('signs in with the code from the email, and returns to returnTo', async () => {
  await start();
  const visitor = app.visitor();
  const form = await visitor.get(`${path}?returnTo=%2Faccount`);
  expect(form.text).toContain('name="email"');
  const sent = await postForm(visitor, path, { email: ada.email, returnTo: '/account' });
  expect(sent.status).toBe(200);
  expect(sent.text).toMatch(
    /<input id="code" name="code" type="text"[^>]* autocomplete="one-time-code"[^>]* inputmode="numeric"/,
  );
  expect(sent.text).toContain(`name="email" value="${ada.email}"`);
  const fields = { email: ada.email, code: lastMail().token, returnTo: '/account' };
  const answer = await postForm(visitor, path, fields);
  expect(answer.status).toBe(303);
  expect(new URL(answer.location).pathname).toBe('/account');
  expect(await isSignedIn(visitor)).toBe(true);
});

it('answers JSON clients with what was sent, and then with redirectTo', async () => {
  await start();
  const visitor = app.visitor();
  const { status, json } = await visitor.postJson(path, { email: ada.email, returnTo: '/account' });
  expect(status).toBe(200);
  expect(Object.keys(json)).toEqual(['email', 'message', 'redirectTo']);
  const signedIn = await visitor.postJson(path, { email: ada.email, code: lastMail().token, returnTo: '/account' });
  expect(signedIn.json).toEqual({ redirectTo: '/account' });
});

it('accepts a code with the blanks and dashes that people type', async () => {
  await start();
  const visitor = app.visitor();
  await send(visitor);
  const { token } = lastMail();
  expect((await enter(visitor, ` ${token.slice(0, 3)}-${token.slice(3)} `)).status).toBe(200);
});

it.each(['０１２３４５６７８９', '٠١٢٣٤٥٦٧٨٩'])(
  'accepts emailed codes and second factors in the digits %s',
  async (digits) => {
    await start();
    const typed = (code: string): string => code.replaceAll(/\d/g, (digit) => digits[Number(digit)] ?? '');
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await send(visitor);
    expect((await enter(visitor, typed(lastMail().token))).status).toBe(200);
    const verified = await visitor.postJson('/auth/verify', { code: typed(app.supabase.codeOf(factor)) });
    expect([verified.status, await isSignedIn(visitor)]).toEqual([200, true]);
  },
);

it('asks for the second factor of a user who has one before the session begins', async () => {
  await start();
  const factor = app.supabase.addFactor(ada.email);
  const visitor = app.visitor();
  await send(visitor);
  const { json } = await visitor.postJson(path, { email: ada.email, code: lastMail().token, returnTo: '/account' });
  expect(json.redirectTo).toBe('/auth/verify?returnTo=%2Faccount');
  expect(await isSignedIn(visitor)).toBe(false);
  const verified = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor), returnTo: '/account' });
  expect(verified.json).toEqual({ redirectTo: '/account' });
  expect(await isSignedIn(visitor)).toBe(true);
});

it('creates an account for a new address, unless sign-up is closed', async () => {
  await start();
  const visitor = app.visitor();
  await send(visitor, ida);
  expect((await enter(visitor, lastMail().token, ida)).status).toBe(200);
  await app.close();

  await start({ options: { signUp: false } });
  expect((await send(app.visitor(), ida)).status).toBe(200);
  expect(app.supabase.mails).toEqual([]);
  expect(app.eventTypes()).toContain('mail_failed');
});

it('signs in with the link of the same email, even in another browser', async () => {
  await start();
  await send(app.visitor());
  const { tokenHash } = lastMail();
  const elsewhere = app.visitor();
  const link = `/auth/confirm?token_hash=${tokenHash}&type=magiclink&returnTo=%2Faccount`;
  expect((await elsewhere.get(link)).status).toBe(200);
  expect(await isSignedIn(elsewhere)).toBe(false);
  const fields = { token_hash: tokenHash, type: 'magiclink', returnTo: '/account' };
  expect((await postForm(elsewhere, '/auth/confirm', fields)).status).toBe(303);
  expect(await isSignedIn(elsewhere)).toBe(true);
});

describe('a wrong code', () => {
  it('shows the form again with the address kept, and the message at the field', async () => {
    await start();
    const visitor = app.visitor();
    await send(visitor);
    const { status, text } = await postForm(visitor, path, { email: ada.email, code: wrongCode() });
    expect(status).toBe(422);
    expect(text).toMatch(/aria-invalid="true" aria-describedby="code-error"/);
    expect(text).toContain(`name="email" value="${ada.email}"`);
    expect((await enter(visitor, wrongCode())).json.error.code).toBe('code_wrong');
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it.each([
    ['nothing', ''],
    ['letters', 'abcdef'],
    ['too short', '12345'],
    ['too long', '12345678901'],
    ['a dash', '-'],
    ['5,000 digits', '0'.repeat(5_000)],
  ])('that is malformed is refused without asking the backend: %s', async (_title, code) => {
    await start();
    const visitor = app.visitor();
    const before = app.supabase.requests.length;
    expect((await enter(visitor, code)).status).toBe(400);
    expect((await postForm(visitor, path, { email: ada.email, code })).status).toBe(400);
    expect(app.supabase.requests.length).toBe(before);
  });

  it('gets the same answer for known, unknown and banned addresses', async () => {
    await start();
    app.supabase.addUser({ email: 'eve@example.com', password: 'long enough', banned: true });
    const answers = [];
    for (const email of [ada.email, ida, 'eve@example.com']) {
      const { status, json } = await enter(app.visitor(), '123456', email);
      answers.push({ status, json });
    }
    expect(answers[0]?.status).toBe(422);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });

  it.each([
    ['the fifth from one network, for that network alone', 5, 1],
    ['the thirtieth from any networks, for all of them', 30, 6],
  ])('locks the address after %s, while the link keeps working', async (_name, wrong, networks) => {
    await start({ options: { clientAddress: (req) => req.headers['x-test-address']?.toString() } });
    await send(app.visitor());
    const { token, tokenHash } = lastMail();
    const enterFrom = (address: string, code: string): Promise<Answer> => {
      const email = Number(code) % 2 === 0 ? ada.email : ' ADA@Example.com';
      return postForm(app.visitor(), path, { email, code }, { 'x-test-address': address });
    };
    for (let count = 0; count < wrong; count += 1) {
      const answer = await enterFrom(`203.0.113.${count % networks}`, wrongCode(String(Number(token) + count)));
      expect(answer.status).toBe(422);
    }
    const refused = await enterFrom(networks === 1 ? '203.0.113.0' : '198.51.100.7', token);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(14 * 60);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(15 * 60);
    expect(refused.text).toContain('If you have our newest email, you can open its link.');
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'throttled', scope: 'code' }));
    expect((await enter(app.visitor(), '123456', ida)).status).toBe(422);
    if (networks === 1) expect((await enterFrom('198.51.100.7', token)).status).toBe(303);
    else {
      const fields = { token_hash: tokenHash, type: 'magiclink' };
      expect((await postForm(app.visitor(), '/auth/confirm', fields)).status).toBe(303);
    }
  });

  it('passes five of a hundred simultaneous ones on to the backend', async () => {
    await start();
    const asked = () => app.supabase.requests.filter(({ endpoint }) => endpoint === 'verify').length;
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => enter(app.visitor(), String(123_456 + index))),
    );
    expect(asked()).toBe(5);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(95);
  });

  it('is not counted if the backend was unreachable', async () => {
    await start();
    await send(app.visitor());
    app.supabase.fail('verify', 503);
    for (let count = 0; count < 7; count += 1) expect((await enter(app.visitor(), '123456')).status).toBe(503);
    app.supabase.heal();
    expect((await enter(app.visitor(), lastMail().token)).status).toBe(200);
  });
});

describe('another email', () => {
  it('is sent after a minute; before that, every address gets the same time to wait', async () => {
    await start({ standIn: { mailFrequency: 0 } });
    for (const email of [ada.email, ida]) {
      const first = await postForm(app.visitor(), path, { email });
      expect(first.text).toContain('You can ask for another one in 60 seconds.');
      const { status, headers, text } = await postForm(app.visitor(), path, { email });
      expect(status).toBe(429);
      expect(Number(headers['retry-after'])).toBeGreaterThan(50);
      expect(text).toContain('name="code"');
    }
    expect(app.supabase.mails).toHaveLength(2);
  });

  it('for which codes are closed has its link alone, and says until when, as its code would be refused', async () => {
    await start();
    const visitor = app.visitor();
    for (let count = 0; count < 5; count += 1) await enter(visitor, String(123_456 + count));
    const closed = await postForm(visitor, path, { email: ada.email, code: '234567' });
    const codesAt = /name="codesAt" value="(\d+)"/.exec(closed.text)?.[1] ?? '';
    app.clock.advance(61_000);
    const next = await postForm(visitor, path, { email: ada.email, codesAt });
    const words = 'Too many wrong codes. If you have our newest email, you can open its link. Try again in 14 minutes.';
    expect([next.status, next.text.includes(words), next.text.includes(' disabled')]).toEqual([200, true, true]);
    for (const { text } of [closed, next]) {
      expect(text).not.toMatch(/enter the code|spam folder/);
      expect(text).toContain('<p class="lead" role="status"><strong dir="auto">ada@example.com</strong></p>');
    }
    const link = { token_hash: lastMail().tokenHash, type: 'magiclink' };
    expect((await postForm(app.visitor(), '/auth/confirm', link)).status).toBe(303);
    app.clock.advance(14 * 60_000);
    const open = await postForm(visitor, path, { email: ida, codesAt });
    expect([open.status, open.text.includes('Too many'), open.text.includes(' disabled')]).toEqual([200, false, false]);
  });

  it('is not needed where too many wrong codes closed the field: its own button opens it after the wait', async () => {
    await start();
    const visitor = app.visitor();
    await send(visitor);
    for (let count = 0; count < 5; count += 1) await enter(visitor, wrongCode());
    let page = await postForm(visitor, path, { email: ada.email, code: wrongCode() });
    const mails = app.supabase.mails.length;
    const reload = async (): Promise<void> => {
      const [form = ''] = /<form(?:(?!<form)[^])*Reload this page/.exec(page.text) ?? [];
      const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
        name,
        value,
      ]);
      page = await postForm(visitor, path, Object.fromEntries(fields) as Record<string, string>);
    };
    expect(page.text).toContain(' disabled');
    app.clock.advance(10 * 60_000);
    await reload();
    expect([page.status, page.text.includes(' disabled')]).toEqual([200, true]);
    expect(page.text).toContain('Try again in 5 minutes.');
    app.clock.advance(5 * 60_000 + 1_000);
    await reload();
    expect([page.status, page.text.includes(' disabled'), page.text.includes('Too many')]).toEqual([200, false, false]);
    expect(page.text).not.toContain('Reload this page');
    expect(app.supabase.mails).toHaveLength(mails);
    const asClient = await visitor.postJson(path, { email: ada.email, reload: 'yes' });
    expect([asClient.status, asClient.json.error.code]).toEqual([400, 'invalid_request']);
  });

  it('or the newest code, or its link, is what a wrong code asks for', async () => {
    await start();
    const visitor = app.visitor();
    await send(visitor);
    const words = 'That code isn’t right or has expired. Enter the newest one, or open the link in the email.';
    const page = await postForm(visitor, path, { email: ada.email, code: wrongCode() });
    expect([page.status, page.text.includes(words)]).toEqual([422, true]);
    expect((await enter(visitor, wrongCode())).json.error).toMatchObject({ code: 'code_wrong', message: words });
  });

  it('and a code that are refused for a while say so in JSON as on the page, with the wait', async () => {
    await start();
    // Browsers of their own: a form that one sends twice has one answer.
    const messageTo = async (fields: object) =>
      (await app.visitor().postJson(path, { email: ada.email, ...fields })).json;
    await messageTo({});
    expect((await messageTo({})).error.message).toMatch(/^We can’t send another email yet. Try again in \d+ seconds.$/);
    for (let count = 0; count < 5; count += 1) await messageTo({ code: String(123_456 + count) });
    const closed = await app.visitor().postJson(path, { email: ada.email, code: '234567' });
    expect([closed.status, closed.json.error.code]).toEqual([429, 'rate_limited']);
    const words = 'Too many wrong codes. If you have our newest email, you can open its link. Try again in 15 minutes.';
    expect(closed.json.error.message).toBe(words);
  });

  it('that the backend refuses is an event, and gets the same answer', async () => {
    await start({ options: { throttle: false } });
    const first = await postForm(app.visitor(), path, { email: ada.email });
    const second = await postForm(app.visitor(), path, { email: ada.email });
    expect([second.status, second.text]).toEqual([first.status, first.text]);
    expect(app.supabase.mails).toHaveLength(1);
    expect(app.eventTypes()).toContain('mail_failed');
  });
});

describe.each([
  ['sign-up is closed in the project', { signupDisabled: true }],
  ['a hook refuses new users', { newUsersRefused: true }],
  ['the mail server is down', { mailFailure: 'smtp' }],
] as const)('where %s', (_title, standIn) => {
  it('known, unknown and unconfirmed addresses get the same answer', async () => {
    await start({ standIn });
    app.supabase.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
    const told = async (email: string) => {
      const { status, setCookies, text } = await postForm(app.visitor(), path, { email });
      return { status, cookies: setCookies.length, text: text.replaceAll(email, '<email>') };
    };
    const known = await told(ada.email);
    expect(known.status).toBe(200);
    expect(await told(ida)).toEqual(known);
    expect(await told('new@example.com')).toEqual(known);
  });
});

it('answers an outage with 503 for every address', async () => {
  await start();
  app.supabase.fail('otp', 503);
  for (const email of [ada.email, ida]) {
    const { status, text } = await postForm(app.visitor(), path, { email });
    expect(status).toBe(503);
    expect(text).toContain(`value="${email}"`);
  }
  app.supabase.heal();
  // It was not counted as an email.
  expect((await postForm(app.visitor(), path, { email: ada.email })).status).toBe(200);
});

describe('the form', () => {
  it('asks for the address, and keeps a malformed one', async () => {
    await start();
    const page = await app.visitor().get(`${path}?returnTo=%2Faccount`);
    expect(page.text).toContain('name="returnTo" value="/account"');
    expect(page.text).not.toContain('name="code"');
    for (const fields of [{ email: 'ada@' }, { email: 'ada@', code: '123456' }]) {
      const { status, text } = await postForm(app.visitor(), path, fields);
      expect([status, text.includes('value="ada@"'), text.includes('name="code"')]).toEqual([400, true, false]);
    }
    app.supabase.fail('otp', 503);
    expect((await postForm(app.visitor(), path, { email: ada.email })).text).not.toContain('name="code"');
  });

  it('says when another email can be sent, if there is a limit', async () => {
    await start();
    const { text } = await postForm(app.visitor(), path, { email: ada.email });
    expect(text).toContain('You can ask for another one in 60 seconds.');
    const again = await postForm(app.visitor(), path, { email: ada.email });
    expect([again.status, again.text.includes('We can’t send another email yet.')]).toEqual([429, true]);
    expect(again.text).toContain('name="code"');
    await app.close();
    await start({ options: { throttle: false } });
    expect((await postForm(app.visitor(), path, { email: ada.email })).text).not.toContain('another one in');
  });

  it('locks one address after five wrong codes, and no other', async () => {
    await start();
    const visitor = app.visitor();
    await send(visitor, ida);
    await send(visitor);
    const right = lastMail().token;
    for (let count = 0; count < 5; count += 1) await enter(visitor, '000000', ida);
    const closed = await postForm(visitor, path, { email: ida, code: '000000' });
    expect([closed.status, closed.text.includes('If you have our newest email, you can open its link.')]).toEqual([
      429,
      true,
    ]);
    expect((await enter(visitor, right)).status).toBe(200);
  });
});

it('names the address to JSON clients, and the reason for a wrong code to the operators', async () => {
  await start();
  const visitor = app.visitor();
  expect((await send(visitor)).json.message).toContain(ada.email);
  await enter(visitor, wrongCode());
  expect(app.events).toContainEqual({
    adapter: 'backend',
    type: 'sign_in_failed',
    code: 'code_wrong',
    reason: 'otp_expired',
  });
});

it('refuses an answer of the backend without a session', async () => {
  await start({
    options: {
      fetch: (input, init) =>
        new Request(input).url.includes('/verify') ? Promise.resolve(Response.json({})) : fetch(input, init),
    },
  });
  const { status, json } = await enter(app.visitor(), '123456');
  expect([status, json.error.code]).toEqual([502, 'token_rejected']);
});

it('refuses posts of other sites', async () => {
  await start();
  const headers = { 'sec-fetch-site': 'cross-site' };
  expect((await postForm(app.visitor(), path, { email: ada.email }, headers)).status).toBe(403);
  expect((await postForm(app.visitor(), path, { email: ada.email, code: '123456' }, headers)).status).toBe(403);
  expect(app.supabase.mails).toEqual([]);
});

it('refuses unsupported methods, and sends nothing for a GET', async () => {
  await start();
  const put = await app.visitor().ask(path, { method: 'PUT' });
  expect([put.status, put.headers.allow]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
  expect((await app.visitor().get(`${path}?email=${ada.email}&code=123456`)).status).toBe(200);
  expect(app.supabase.mails).toEqual([]);
});

describe('the options', () => {
  const status = async (visitor: Visitor, url: string): Promise<number> => (await visitor.get(url)).status;

  it('disable codes and single sign-on by default', async () => {
    app = await startBackendApp();
    expect(await status(app.visitor(), path)).toBe(404);
    expect((await app.visitor().postJson(path, { email: ada.email })).status).toBe(404);
    expect(await status(app.visitor(), '/auth/sso')).toBe(404);
    expect(app.supabase.mails).toEqual([]);
  });

  it('disable everything about passwords with codes alone', async () => {
    await start({ options: { signInMethods: ['code'] } });
    const visitor = app.visitor();
    for (const url of ['/auth/forgot', '/auth/password', '/auth/signup']) expect(await status(visitor, url)).toBe(404);
    expect((await visitor.postJson('/auth/login', ada)).status).toBe(405);
    const { text } = await visitor.get('/auth/login?returnTo=%2Faccount');
    expect(text).toContain(`action="${path}"`);
    expect(text).not.toMatch(/type="password"|auth\/signup|auth\/forgot/);
  });

  it('accept a link for a new password for a sign-in with codes alone', async () => {
    const passwords = await start();
    const visitor = passwords.visitor();
    await visitor.postJson('/auth/forgot', { email: ada.email, returnTo: '/account' });
    const link = await fetch(lastMail().confirmationUrl, { redirect: 'manual' });
    const { search } = new URL(link.headers.get('location') ?? '');
    const codes = await startBackendApp({
      options: { signInMethods: ['code'], url: passwords.supabase.url, anonKey: passwords.supabase.publishableKey },
    });
    try {
      const other = codes.visitor();
      for (const [name, value] of visitor.cookies) other.cookies.set(name, value);
      const answer = await other.get(`/auth/callback${search}`);
      expect([answer.status, new URL(answer.location).pathname]).toEqual([303, '/account']);
      expect(await isSignedIn(other)).toBe(true);
    } finally {
      await codes.close();
    }
  });

  it('close sign-up, and remove the links to it', async () => {
    await start({ options: { signUp: false } });
    const visitor = app.visitor();
    expect(await status(visitor, '/auth/signup')).toBe(404);
    expect((await visitor.postJson('/auth/signup', { email: ida, password: 'long enough' })).status).toBe(404);
    expect((await visitor.get('/auth/login')).text).not.toContain('/auth/signup');
  });

  it('offer a code on the form for passwords, with the typed address', async () => {
    await start();
    const { text } = await app.visitor().get('/auth/login');
    expect(text).toMatch(/<button[^>]* formaction="\/auth\/code" formnovalidate/);
    const answer = await postForm(app.visitor(), path, { email: ada.email, password: '' });
    expect(answer.text).toContain('name="code"');
  });
});
