import { requireSession } from '../../../lib/backend/index.ts';
import { ada, postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { sendText } from '../../support/hosts.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { Visitor } from '../../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start(setup: BackendAppSetup = {}): Promise<void> {
  app = await startBackendApp({
    ...setup,
    after: (host) => {
      host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault'));
    },
  });
}

interface Secret {
  readonly secret: string;
}

async function raised(factor: Secret): Promise<Visitor> {
  const visitor = app.visitor();
  await postForm(visitor, '/auth/login', ada);
  await give(visitor, factor);
  return visitor;
}

async function give(visitor: Visitor, factor: Secret): Promise<void> {
  const answer = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor), factorId: idOf(factor) });
  expect(answer.status).toBe(200);
  // The removal comes after it.
  app.clock.advance(1_000);
}

const idOf = (factor: Secret) => app.supabase.factorsOf(ada.email).find(({ secret }) => secret === factor.secret)!.id;
const left = (): number => app.supabase.factorsOf(ada.email).length;

it('a script that removes a second factor that is gone learns so, and nothing of a code', async () => {
  await start();
  const visitor = await app.signedIn();
  const { status, json } = await visitor.postJson('/auth/enroll', { remove: crypto.randomUUID() });
  const message = 'Your account doesn’t have this second factor.';
  expect([status, json.error]).toEqual([422, { status, code: 'code_wrong', message }]);
});

describe('removing a second factor on the pages', () => {
  it('asks first, on a page that says what it means', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email, { name: 'Work' });
    const visitor = await raised(factor);
    const list = await visitor.get('/auth/enroll?returnTo=/account');
    expect(list.text.match(/<button/g)).toHaveLength(1);
    const [, href = ''] = /<a href="([^"]+)" aria-label="Remove: Work">Remove<\/a>/.exec(list.text) ?? [];
    const page = await visitor.get(href.replaceAll('&amp;', '&'));
    expect([page.status, page.text.includes('Remove “Work”?'), page.text.includes('will be off')]).toEqual([
      200,
      true,
      true,
    ]);
    expect([left(), page.text.includes('href="/auth/enroll?returnTo=%2Faccount"')]).toEqual([1, true]);
    const fields = Object.fromEntries(
      [...page.text.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    );
    const answer = await postForm(visitor, '/auth/enroll', fields);
    expect([answer.status, answer.headers.location, left()]).toEqual([303, '/auth/enroll?returnTo=%2Faccount', 0]);
  });

  it('asks for a form without the answer, too, and says where others remain', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    app.supabase.addFactor(ada.email, { name: 'Other' });
    const visitor = await raised(factor);
    for (const fields of [{}, { sure: '' }, { sure: 'true' }]) {
      const page = await postForm(visitor, '/auth/enroll', { remove: factor.id, ...fields });
      expect([page.status, page.text.includes('ask for another one when you sign in'), left()]).toEqual([200, true, 2]);
    }
    expect((await visitor.get('/auth/enroll?remove=gone')).text).toContain('Two-step sign-in');
  });
});

describe('a session whose second factor was removed', () => {
  it('asks for a remaining one at once, and then goes on', async () => {
    await start();
    const [used, other] = [app.supabase.addFactor(ada.email), app.supabase.addFactor(ada.email)];
    const visitor = await raised(used);
    expect((await visitor.get('/vault')).text).toBe('vault');
    expect((await visitor.postJson('/auth/enroll', { remove: used.id })).status).toBe(200);
    const asked = await visitor.get('/auth/enroll');
    expect([asked.status, asked.headers.location]).toEqual([302, '/auth/verify?returnTo=%2Fauth%2Fenroll']);
    expect((await visitor.get('/vault')).headers.location).toBe('/auth/verify?returnTo=%2Fvault');
    await give(visitor, other);
    expect((await visitor.get('/vault')).text).toBe('vault');
    expect((await visitor.get('/auth/enroll')).status).toBe(200);
  });

  it('no longer passes for two factors after its only one was removed, with an older cookie neither', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await raised(factor);
    const older = app.visitor();
    for (const [name, value] of visitor.cookies) older.cookies.set(name, value);
    const answer = await postForm(visitor, '/auth/enroll', { remove: factor.id, sure: 'yes' });
    expect([answer.status, answer.setCookies.some((line) => line.includes('auth-token'))]).toEqual([303, true]);
    for (const each of [visitor, older]) {
      expect((await each.get('/vault')).headers.location).toBe('/auth/enroll?returnTo=%2Fvault');
    }
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
  });

  it('gives an older cookie its tokens for 25 seconds from the response on, also where no request shows them', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await raised(factor);
    const older = app.visitor();
    for (const [name, value] of visitor.cookies) older.cookies.set(name, value);
    await postForm(visitor, '/auth/enroll', { remove: factor.id, sure: 'yes' });
    app.clock.advance(25_000);
    expect((await older.getJson('/api/me')).status).toBe(200);
    for (const [name, value] of visitor.cookies) older.cookies.set(name, value);
    const again = await raised(app.supabase.addFactor(ada.email));
    const copy = app.visitor();
    for (const [name, value] of again.cookies) copy.cookies.set(name, value);
    await postForm(again, '/auth/enroll', { remove: app.supabase.factorsOf(ada.email)[0]!.id, sure: 'yes' });
    app.clock.advance(25_001);
    // The provider refuses the token of before.
    expect((await copy.getJson('/api/me')).status).toBe(401);
  });

  it('keeps what it has where another factor was removed', async () => {
    await start();
    const [used, other] = [app.supabase.addFactor(ada.email), app.supabase.addFactor(ada.email)];
    const visitor = await raised(used);
    expect((await visitor.postJson('/auth/enroll', { remove: other.id })).status).toBe(200);
    expect((await visitor.get('/vault')).text).toBe('vault');
  });

  it.each(['add', 'remove'])('elsewhere is asked again, not refused, when it wants to %s one', async (what) => {
    await start();
    const [used, other] = [app.supabase.addFactor(ada.email), app.supabase.addFactor(ada.email)];
    const visitor = await raised(used);
    app.supabase.removeFactor(ada.email, used);
    const fields = what === 'add' ? {} : { remove: other.id, sure: 'yes' };
    const spare = app.supabase.addFactor(ada.email, { name: 'Spare' });
    const answer = await postForm(visitor, '/auth/enroll', { ...fields, returnTo: '/account' });
    expect([answer.status, answer.headers.location]).toEqual([
      303,
      '/auth/verify?returnTo=%2Fauth%2Fenroll%3FreturnTo%3D%252Faccount',
    ]);
    expect((await visitor.get(answer.location)).text).toContain('six-digit');
    await give(visitor, spare);
    expect((await visitor.postJson('/auth/enroll', what === 'add' ? {} : { remove: other.id })).status).toBe(200);
  });

  it('elsewhere is asked for a remaining one before it sets a new password', async () => {
    await start();
    const [used, other] = [app.supabase.addFactor(ada.email), app.supabase.addFactor(ada.email)];
    const visitor = await raised(used);
    app.supabase.removeFactor(ada.email, used);
    const change = { currentPassword: ada.password, password: 'a whole new password' };
    const answer = await postForm(visitor, '/auth/password', { ...change, returnTo: '/account' });
    expect([answer.status, answer.headers.location]).toEqual([
      303,
      '/auth/verify?returnTo=%2Fauth%2Fpassword%3FreturnTo%3D%252Faccount',
    ]);
    expect((await visitor.get(answer.location)).text).toContain('six-digit');
    await give(visitor, other);
    expect((await postForm(visitor, '/auth/password', change)).status).toBe(303);
    const again = await app.visitor().postJson('/auth/login', { email: ada.email, password: change.password });
    expect(again.status).toBe(200);
  });

  it('elsewhere ends here if it has ended there, instead of setting a password', async () => {
    const gone = { code: 'refresh_token_not_found', message: 'Invalid Refresh Token: Refresh Token Not Found' };
    const ended: typeof fetch = (input, init) =>
      new Request(input).url.includes('grant_type=refresh_token')
        ? Promise.resolve(Response.json(gone, { status: 400 }))
        : fetch(input, init);
    await start({ options: { fetch: ended } });
    const used = app.supabase.addFactor(ada.email);
    app.supabase.addFactor(ada.email);
    const visitor = await raised(used);
    app.supabase.removeFactor(ada.email, used);
    const change = { currentPassword: ada.password, password: 'a whole new password' };
    const answer = await postForm(visitor, '/auth/password', { ...change, returnTo: '/account' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/login?returnTo=%2Faccount']);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it('keeps the form where the session cannot be renewed', async () => {
    await start();
    const used = app.supabase.addFactor(ada.email);
    app.supabase.addFactor(ada.email);
    const visitor = await raised(used);
    app.supabase.removeFactor(ada.email, used);
    app.supabase.fail('refresh', 503);
    const change = { currentPassword: ada.password, password: 'a whole new password' };
    const answer = await postForm(visitor, '/auth/password', change);
    expect([answer.status, answer.text.includes('name="currentPassword"')]).toEqual([503, true]);
    app.supabase.heal();
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('elsewhere must come back where its new tokens claim the same', async () => {
    let isDenied = false;
    const denied: typeof fetch = (input, init) =>
      isDenied && init?.method === 'PUT'
        ? Promise.resolve(
            Response.json({ code: 'insufficient_aal', message: 'AAL2 session is required' }, { status: 401 }),
          )
        : fetch(input, init);
    await start({ options: { fetch: denied } });
    const visitor = await raised(app.supabase.addFactor(ada.email));
    isDenied = true;
    const change = { currentPassword: ada.password, password: 'a whole new password' };
    const answer = await visitor.postJson('/auth/password', change);
    expect([answer.status, answer.headers['retry-after'], answer.json.error.code]).toEqual([
      503,
      '5',
      'provider_unavailable',
    ]);
    expect(app.events).toContainEqual(expect.objectContaining({ reason: 'insufficient_aal' }));
    expect((await visitor.get('/vault')).text).toBe('vault');
  });

  it('loses it at once, also where the other processes cannot be told', async () => {
    const coordinator = createShared();
    await start({ options: { coordinator } });
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await raised(factor);
    coordinator.isDown = true;
    const answer = await visitor.postJson('/auth/enroll', { remove: factor.id });
    expect([answer.status, answer.setCookies.some((line) => line.includes('auth-token'))]).toEqual([200, true]);
    expect((await visitor.get('/vault')).headers.location).toBe('/auth/enroll?returnTo=%2Fvault');
  });

  it('loses it with the next request where the backend is out of reach', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await raised(factor);
    app.supabase.fail('refresh', 503);
    expect((await visitor.postJson('/auth/enroll', { remove: factor.id })).status).toBe(200);
    app.supabase.heal();
    expect((await visitor.get('/vault')).headers.location).toBe('/auth/enroll?returnTo=%2Fvault');
  });
});
