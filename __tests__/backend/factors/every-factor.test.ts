import { requireSession } from '../../../lib/backend/index.ts';
import { ada, postForm, setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { sendText } from '../../support/hosts.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start({ options, standIn }: BackendAppSetup = {}): Promise<void> {
  app = await startBackendApp({
    standIn: { autoconfirm: true, ...standIn },
    options: { signInMethods: ['password', 'code'], ...options },
    after: (host) => {
      host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault'));
      host.get('/enrolled', requireSession({ aal: 'enrolled' }), (_req, res) => sendText(res, 'enrolled'));
    },
  });
  app.supabase.addUser(bob);
}

const bob = { email: 'bob@example.com', password: 'a second account 1' };
const types = ['webauthn', 'recovery_code', 'type_of_tomorrow'];

/** Follows redirects like a browser, at most five. */
async function follow(visitor: Visitor, url: string): Promise<Answer> {
  let answer = await visitor.get(url);
  for (let hops = 0; answer.status >= 300 && answer.status < 400; hops += 1) {
    if (hops === 5) throw new Error(`a loop at ${answer.location}`);
    answer = await visitor.get(answer.location);
  }
  return answer;
}

/** Submits the page's form whose button has this label. */
function submit(visitor: Visitor, { text }: Answer, label: string): Promise<Answer> {
  const forms = [...text.matchAll(/<form method="post" action="([^"]+)">([\s\S]*?)<\/form>/g)];
  const [, action = '', content = ''] = forms.find(([, , inside = '']) => inside.includes(`>${label}<`)) ?? [];
  const inputs = [...content.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
  const fields = Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]));
  return postForm(visitor, action.replaceAll('&amp;', '&'), fields);
}

async function signInAs(visitor: Visitor, person: typeof bob): Promise<void> {
  expect((await postForm(visitor, '/auth/login', person)).status).toBe(303);
  expect((await visitor.getJson('/auth/session')).json.user.email).toBe(person.email);
}

const isSignedOut = async (visitor: Visitor): Promise<boolean> =>
  (await visitor.getJson('/auth/session')).status === 401;

describe('a verified factor that this package cannot ask for', () => {
  it.each(types)('is asked for after a password, never skipped: %s', async (type) => {
    await start({ options: { pages: { links: { help: 'https://help.example/' } } } });
    app.supabase.addFactor(ada.email, { type });
    const visitor = app.visitor();
    const signedIn = await postForm(visitor, '/auth/login', { ...ada, returnTo: '/account' });
    const page = await follow(visitor, signedIn.location);
    expect([page.status, page.text.includes('this app can’t check'), page.text.includes('no longer')]).toEqual([
      422,
      true,
      false,
    ]);
    expect(page.text).toContain('href="https://help.example/">Contact support</a>');
    for (const body of [{ code: '123456' }, { factorId: app.supabase.factorsOf(ada.email)[0]!.id, code: '123456' }]) {
      const answer = await visitor.postJson('/auth/verify', body);
      expect([answer.status, answer.json.error.code]).toEqual([422, 'factor_unavailable']);
    }
    expect((await visitor.getJson('/auth/verify')).json.error.code).toBe('factor_unavailable');
    expect((await postForm(visitor, '/auth/verify', { code: '123456' })).status).toBe(422);
    expect([await isSignedOut(visitor), app.eventTypes().includes('signed_in')]).toEqual([true, false]);
    // The way on: another account.
    const left = await submit(visitor, page, 'Use another account');
    expect([left.status, left.headers.location]).toEqual([303, '/auth/login?returnTo=%2Faccount&prompt=login']);
    // No session, and nothing that could become one: only the way in that was used last.
    expect([...visitor.cookies.keys()].filter((name) => !name.endsWith('-last'))).toEqual([]);
    await signInAs(visitor, bob);
  });

  it.each(['JSON', 'a form'])('is one failed sign-in for each POST of %s', async (client) => {
    await start();
    app.supabase.addFactor(ada.email, { type: 'webauthn' });
    const visitor = app.visitor();
    await postForm(visitor, '/auth/login', ada);
    app.events.length = 0;
    const fields = { code: '123456' };
    await (client === 'JSON' ? visitor.postJson('/auth/verify', fields) : postForm(visitor, '/auth/verify', fields));
    expect(app.events).toMatchObject([{ type: 'sign_in_failed', code: 'factor_unavailable', reason: 'factor_type' }]);
  });

  it('is asked for after a code, a link, OAuth and a recovery link', async () => {
    await start({ options: { providers: ['github'] } });
    app.supabase.addFactor(ada.email, { type: 'webauthn' });
    const byCode = app.visitor();
    await postForm(byCode, '/auth/code', { email: ada.email });
    await postForm(byCode, '/auth/code', { email: ada.email, code: app.supabase.mails.at(-1)!.token });
    const byOauth = app.visitor();
    const started = await byOauth.get('/auth/login?provider=github');
    const callback = String(await app.supabase.authorize(started.location, { approve: true, user: ada.email }));
    await byOauth.get(callback);
    const byLink = app.visitor();
    app.clock.advance(61_000);
    await postForm(byLink, '/auth/forgot', { email: ada.email });
    const { tokenHash } = app.supabase.mails.at(-1)!;
    await postForm(byLink, '/auth/confirm', { token_hash: tokenHash, type: 'recovery' });
    for (const visitor of [byCode, byOauth, byLink]) {
      const page = await follow(visitor, '/auth/verify');
      expect([page.status, await isSignedOut(visitor)]).toEqual([422, true]);
    }
    const setting = await postForm(byLink, '/auth/password', { password: 'a whole new password' });
    expect((await follow(byLink, setting.location)).status).toBe(422);
    expect(app.supabase.calls('update-user')).toBe(0);
  });

  it('is asked for after an invitation, before a password is set', async () => {
    await start();
    await app.supabase.invite('ivy@example.com');
    app.supabase.addFactor('ivy@example.com', { type: 'webauthn' });
    const visitor = app.visitor();
    const { tokenHash } = app.supabase.mails.at(-1)!;
    const opened = await postForm(visitor, '/auth/confirm', { token_hash: tokenHash, type: 'invite' });
    expect([(await follow(visitor, opened.location)).status, await isSignedOut(visitor)]).toEqual([422, true]);
    const setting = await postForm(visitor, '/auth/password', { password: 'a whole new password' });
    expect([(await follow(visitor, setting.location)).status, await isSignedOut(visitor)]).toEqual([422, true]);
    expect(app.supabase.calls('update-user')).toBe(0);
  });

  it('is asked for after single sign-on', async () => {
    await start({ options: { sso: true }, standIn: { ssoDomains: new Set(['example.com']) } });
    const visitor = app.visitor();
    const signIn = async (): Promise<Answer> => {
      const started = await postForm(visitor, '/auth/sso', { email: 'sam@example.com', returnTo: '/account' });
      const back = await app.supabase.authorize(started.location, { approve: true, user: 'sam@example.com' });
      return visitor.get(back.href);
    };
    await signIn();
    await postForm(visitor, '/auth/logout', {});
    app.supabase.addFactor('sam@example.com', { type: 'webauthn' });
    const sent = await signIn();
    expect(new URL(sent.location).pathname).toBe('/auth/verify');
    expect([(await follow(visitor, sent.location)).status, await isSignedOut(visitor)]).toEqual([422, true]);
  });

  it('is asked for after the sign-up of a guest', async () => {
    await start({ standIn: { anonymousUsers: true } });
    const issued = await fetch(`${app.supabase.url}/auth/v1/signup`, {
      method: 'POST',
      headers: { apikey: app.supabase.publishableKey, 'content-type': 'application/json' },
      body: '{}',
    });
    const visitor = app.visitor();
    setSession(visitor, await issued.json());
    const guest = app.supabase.users().find(({ isAnonymous }) => isAnonymous)!;
    app.supabase.addFactor(guest, { type: 'webauthn' });
    const answer = await postForm(visitor, '/auth/signup', { email: 'gus@example.com', password: 'long enough' });
    expect([answer.status, answer.text.includes('Check your email')]).toEqual([403, false]);
    expect(app.eventTypes()).not.toContain('signed_in');
    expect((await visitor.getJson('/vault')).status).toBe(403);
    expect((await follow(visitor, '/vault')).status).toBe(422);
  });

  it('leaves the authenticator app to ask for, where the user has one', async () => {
    await start();
    app.supabase.addFactor(ada.email, { type: 'webauthn' });
    const totp = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await postForm(visitor, '/auth/login', ada);
    expect((await visitor.getJson('/auth/verify')).json).toEqual({ factors: [{ id: totp.id, type: 'totp' }] });
    expect((await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(totp) })).status).toBe(303);
    expect((await visitor.get('/vault')).text).toBe('vault');
    const list = await visitor.getJson('/auth/enroll');
    expect(list.json.factors.map(({ type }: { type: string }) => type)).toEqual(['totp', 'webauthn']);
  });

  it.each(['/vault', '/enrolled'])('is asked for by the guard of %s, without a loop', async (path) => {
    await start();
    const visitor = await app.signedIn();
    app.supabase.addFactor(ada.email, { type: 'webauthn' });
    const page = await follow(visitor, path);
    expect([page.status, page.text.includes('Security key')]).toEqual([422, true]);
    expect((await visitor.getJson(path)).json.error.code).toBe('second_factor_required');
    expect((await follow(visitor, '/auth/enroll')).status).toBe(422);
    expect((await visitor.postJson('/auth/enroll', {})).status).toBe(403);
    const left = await submit(visitor, page, 'Use another account');
    const otherAccount = `/auth/login?returnTo=${encodeURIComponent(path)}&prompt=login`;
    expect([left.headers.location, await isSignedOut(visitor)]).toEqual([otherAccount, true]);
    await signInAs(visitor, bob);
  });

  it('does not count before it is verified', async () => {
    await start();
    app.supabase.addFactor(ada.email, { type: 'webauthn', verified: false });
    expect((await (await app.signedIn()).get('/enrolled')).text).toBe('enrolled');
  });

  it('keeps the last factor that can be asked for from being removed', async () => {
    await start();
    const key = app.supabase.addFactor(ada.email, { type: 'webauthn' });
    const totp = app.supabase.addFactor(ada.email);
    const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
    const refused = await visitor.postJson('/auth/enroll', { remove: totp.id });
    expect([refused.status, refused.json.error.code]).toEqual([422, 'factor_unavailable']);
    const page = await postForm(visitor, '/auth/enroll', { remove: totp.id, sure: 'yes' });
    expect([page.status, page.text.includes('only one that can be used here')]).toEqual([422, true]);
    expect((await visitor.postJson('/auth/enroll', { remove: key.id })).status).toBe(200);
    expect((await visitor.postJson('/auth/enroll', { remove: totp.id })).status).toBe(200);
    expect(app.supabase.factorsOf(ada.email)).toEqual([]);
  });
});

it('an app that was not finished can be removed beside a factor that cannot be asked for here', async () => {
  await start();
  app.supabase.addFactor(ada.email, { type: 'webauthn' });
  const unfinished = app.supabase.addFactor(ada.email, { verified: false });
  const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
  expect((await visitor.postJson('/auth/enroll', { remove: unfinished.id })).status).toBe(200);
  expect(app.supabase.factorsOf(ada.email).map(({ type }) => type)).toEqual(['webauthn']);
});

describe('a list of factors that cannot be read', () => {
  const factor = { id: 'a', factor_type: 'totp', status: 'verified' };
  it.each([
    ['no list', 'none'],
    ['an entry that is no object', [null]],
    ['no id', [{ ...factor, id: undefined }]],
    ['no type', [{ ...factor, factor_type: undefined }]],
    ['no status, and no known type', [{ id: 'a', factor_type: 'new' }]],
  ])('means a factor that cannot be asked for: %s', async (_what, factors) => {
    const changed: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const { pathname } = new URL(new Request(input).url);
      if (!response.ok || !/\/(user|token)$/.test(pathname)) return response;
      const body = (await response.json()) as Record<string, unknown>;
      const user = body['user'];
      return Response.json(typeof user === 'object' ? { ...body, user: { ...user, factors } } : { ...body, factors });
    };
    await start({ options: { fetch: changed } });
    const visitor = app.visitor();
    const answer = await postForm(visitor, '/auth/login', ada);
    expect((await follow(visitor, answer.location)).status).toBe(422);
    setSession(visitor, await app.supabase.issueSession(ada.email));
    expect((await visitor.getJson('/enrolled')).json.error.code).toBe('second_factor_required');
  });
});
