import { setTimeout as wait } from 'node:timers/promises';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { postForm } from '../../support/backend-app.ts';
import { sentTo } from '../../support/consent.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { startRealApp, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { createOAuthClient } from '../support/oauth-client.ts';
import type { ClientTokens } from '../support/oauth-client.ts';

describeGoTrue('the consent page of GoTrue’s OAuth server', () => {
  const real = useRealApp({ options: { oauthConsent: true, pages: { title: 'Northwind' } } });

  const idOf = (url: string): string => new URL(url, 'http://app').searchParams.get('authorization_id') ?? '';
  const decide = (visitor: Visitor, url: string, action: string): Promise<Answer> =>
    postForm(visitor, '/oauth/consent', { authorization_id: idOf(url), action });
  const callsTo = (path: string) => real.project.proxy.to(path).length;

  async function signedIn() {
    const user = await real.project.addUser();
    return { user, visitor: await real.app.signedIn(user) };
  }

  /** A person has allowed a client, which asks for the same again. */
  async function askedAgain() {
    const { visitor } = await signedIn();
    const client = await createOAuthClient(real.project);
    const first = await client.start();
    await visitor.get(first);
    await decide(visitor, first, 'allow');
    return { visitor, client, url: await client.start() };
  }

  it('shows what the app asks for, and leads to it with a code that works once', async () => {
    const { visitor, user } = await signedIn();
    const client = await createOAuthClient(real.project, { name: 'Cursor' });
    const url = await client.start();
    expect(url).toMatch(/^\/oauth\/consent\?authorization_id=\w{32}$/);
    const page = await visitor.get(url);
    expect(page.status).toBe(200);
    for (const words of [
      'Cursor',
      'app.example',
      'Not verified',
      user.email,
      'See your profile',
      'See your email address',
    ])
      expect(page.text).toContain(words);
    const { json } = await visitor.getJson(url);
    expect(json).toMatchObject({
      client: { id: client.id, name: 'Cursor', redirectUri: client.redirectUri },
      scopes: ['email', 'profile'],
      user: { id: user.id },
    });
    expect(callsTo(`/oauth/authorizations/${idOf(url)}`)).toBe(1);
    const [first, second] = await Promise.all([decide(visitor, url, 'allow'), decide(visitor, url, 'allow')]);
    expect([first.status, second.status]).toEqual([303, 303]);
    expect(first.headers.location).toBe(second.headers.location);
    const { code = '', state } = sentTo(first);
    expect([first.headers.location?.startsWith(`${client.redirectUri}?`), state]).toEqual([true, 'state-1']);
    expect((await client.exchange(code)).status).toBe(200);
    expect((await client.exchange(code)).status).toBe(400);
    expect((await decide(visitor, url, 'deny')).text).toContain('Start again in the app');
  });

  it('leads to the app with an error after a denial', async () => {
    const { visitor } = await signedIn();
    const client = await createOAuthClient(real.project);
    const url = await client.start();
    await visitor.get(url);
    expect(sentTo(await decide(visitor, url, 'deny'))).toMatchObject({ error: 'access_denied', state: 'state-1' });
    expect((await visitor.getJson('/oauth/apps')).json).toEqual({ apps: [] });
  });

  it('leads by a page to an app beside the browser', async () => {
    const { visitor } = await signedIn();
    const redirectUri = 'cursor://anysphere.cursor-mcp/oauth/callback';
    const client = await createOAuthClient(real.project, { name: 'Cursor', redirectUri });
    const url = await client.start();
    await visitor.get(url);
    const { status, text, headers } = await decide(visitor, url, 'allow');
    expect([status, text]).toEqual([200, expect.stringContaining('Go back to “<bdi>Cursor</bdi>”')]);
    const [, to = ''] = /^0; url=(.*)$/.exec(String(headers['refresh'])) ?? [];
    expect(to.startsWith(`${redirectUri}?code=`)).toBe(true);
    expect((await client.exchange(new URL(to).searchParams.get('code') ?? '')).status).toBe(200);
  });

  it.each(['allow', 'deny'])(
    'says that the app is allowed where the answer to Allow was lost, and then %s',
    async (next) => {
      const { visitor } = await signedIn();
      const client = await createOAuthClient(real.project, { name: 'Cursor' });
      const url = await client.start();
      await visitor.get(url);
      real.project.proxy.break(/\/consent/, 'lost', 1);
      expect((await decide(visitor, url, 'allow')).status).toBe(503);
      const again = await decide(visitor, url, next);
      expect([again.status, again.text]).toEqual([
        400,
        expect.stringContaining('You have allowed “<bdi>Cursor</bdi>”.'),
      ]);
      expect((await visitor.getJson('/oauth/apps')).json.apps).toHaveLength(1);
    },
  );

  it.each(['http://127.0.0.1:33418/callback', 'http://localhost:8080/cb'])('leads to %s', async (redirectUri) => {
    const { visitor } = await signedIn();
    const client = await createOAuthClient(real.project, { redirectUri });
    const url = await client.start();
    expect((await visitor.get(url)).status).toBe(200);
    expect((await decide(visitor, url, 'allow')).headers.location?.startsWith(`${redirectUri}?code=`)).toBe(true);
  });

  it('goes on at once where a grant exists, and a reload goes the same way', async () => {
    const { visitor, client, url } = await askedAgain();
    const [one, two] = [await visitor.get(url), await visitor.get(url)];
    expect([one.status, two.status, one.headers.location === two.headers.location]).toEqual([302, 302, true]);
    expect((await client.exchange(sentTo(one)['code'] ?? '')).status).toBe(200);
    // More scopes are a new question.
    expect((await visitor.get(await client.start({ scope: 'email profile phone' }))).status).toBe(200);
  });

  it('a second read of the provider is an error after an approval, so the first answer is kept', async () => {
    const { visitor, url } = await askedAgain();
    expect((await visitor.get(url)).status).toBe(302);
    // A process without the answer.
    const other = await startRealApp(real.project, { oauthConsent: true });
    const there = other.visitor();
    for (const [name, value] of visitor.cookies) there.cookies.set(name, value);
    expect((await there.get(url)).text).toContain('Start again in the app');
    await other.close();
  });

  it('is the first user’s alone, and asks nothing of a HEAD or a prefetch', async () => {
    const [one, two] = [await signedIn(), await signedIn()];
    const client = await createOAuthClient(real.project);
    const url = await client.start();
    await two.visitor.ask(url, { method: 'HEAD' });
    await two.visitor.get(url, { headers: { 'sec-purpose': 'prefetch' } });
    expect((await one.visitor.get(url)).status).toBe(200);
    expect((await two.visitor.get(url)).text).toContain('Start again in the app');
    expect((await decide(two.visitor, url, 'allow')).text).toContain('Start again in the app');
    expect((await decide(one.visitor, url, 'allow')).status).toBe(303);
  });

  it('leads through sign-in and the second factor, and back', async () => {
    const { user, visitor } = await signedIn();
    const { json: enrollment } = await visitor.postJson('/auth/enroll', {});
    const code = totp(enrollment.secret);
    expect((await visitor.postJson('/auth/enroll', { factorId: enrollment.factorId, code })).status).toBe(200);
    const client = await createOAuthClient(real.project);
    const url = await client.start();
    const browser = real.app.visitor();
    const { location } = await browser.get(url);
    const returnTo = new URL(location).searchParams.get('returnTo') ?? '';
    expect(returnTo).toBe(url);
    const second = await postForm(browser, '/auth/login', { email: user.email, password: user.password, returnTo });
    expect(new URL(second.location).pathname).toBe('/auth/verify');
    expect((await browser.get(url)).status).toBe(302);
    expect(callsTo(`/oauth/authorizations/${idOf(url)}`)).toBe(0);
    // A code works once.
    await wait(30_500 - (Date.now() % 30_000));
    const third = await postForm(browser, '/auth/verify', { code: totp(enrollment.secret), returnTo });
    expect(third.headers.location).toBe(url);
    expect((await browser.get(url)).status).toBe(200);
  }, 60_000);

  it.each(['a'.repeat(32), 'unknown-0000'])('an unknown request (%s) says to start again', async (id) => {
    const { visitor } = await signedIn();
    const page = await visitor.get(`/oauth/consent?authorization_id=${id}`);
    expect([page.status, page.text.includes('Start again in the app')]).toEqual([400, true]);
    expect((await visitor.getJson('/oauth/apps')).status).toBe(200);
  });
});

describeGoTrue('the connected apps of GoTrue’s OAuth server', () => {
  const real = useRealApp({ options: { oauthConsent: true } });

  it('are listed, and a disconnected one is refused at once, here and at the provider', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const client = await createOAuthClient(real.project, { name: 'Cursor' });
    const partner = { adapter: 'backend', credentials: ['bearer'], clients: [client.id] } as const;
    const app = await startRealApp(real.project, { oauthConsent: true }, { '/api/tool': partner });
    const browser = app.visitor();
    for (const [name, value] of visitor.cookies) browser.cookies.set(name, value);
    const connect = async (): Promise<ClientTokens> => {
      const url = await client.start();
      const page = await browser.get(url);
      const fields = {
        authorization_id: new URL(url, 'http://app').searchParams.get('authorization_id') ?? '',
        action: 'allow',
      };
      const answer = page.status === 302 ? page : await postForm(browser, '/oauth/consent', fields);
      return (await (await client.exchange(sentTo(answer)['code'] ?? '')).json()) as ClientTokens;
    };
    const call = async (token: string): Promise<number> =>
      (await app.visitor().get('/api/tool', { headers: { authorization: `Bearer ${token}` } })).status;

    const tokens = await connect();
    expect(await call(tokens.access_token)).toBe(200);
    const { json } = await browser.getJson('/oauth/apps');
    expect(json.apps).toEqual([
      {
        client: { id: client.id, name: 'Cursor' },
        scopes: ['email', 'profile'],
        grantedAt: expect.stringMatching(/^20\d\d-.*Z$/),
      },
    ]);
    expect((await browser.postJson('/oauth/apps', { revoke: client.id })).status).toBe(200);
    expect(await call(tokens.access_token)).toBe(401);
    expect((await client.refresh(tokens.refresh_token)).ok).toBe(false);
    expect((await browser.getJson('/oauth/apps')).json.apps).toEqual([]);
    // A second time is no error, and the user's own session goes on.
    expect((await browser.postJson('/oauth/apps', { revoke: client.id })).status).toBe(200);
    expect((await browser.getJson('/auth/session')).status).toBe(200);
    // Tokens have whole seconds.
    await wait(1_100);
    expect(await call((await connect()).access_token)).toBe(200);
    await app.close();
  });
});
