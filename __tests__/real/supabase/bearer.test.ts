import { decodeJwt } from 'jose';
import type { Answer } from '../../support/visitor.ts';
import { expiry, sessionOf, startRealApp, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { thirdPartyTokens } from '../support/third-party.ts';

describeOwnGoTrue('an access token of GoTrue as a bearer', () => {
  const gotrue = { keys: [createSigningKey('only')], settings: { GOTRUE_JWT_EXP: '6' } };
  const guarded = { '/api/both': { adapter: 'backend', credentials: ['cookie', 'bearer'] } } as const;
  const real = useRealApp({ gotrue, guarded });

  const call = (token: string, path = '/api/both', app = real.app): Promise<Answer> =>
    app.visitor().get(path, { headers: { authorization: `Bearer ${token}` } });

  it('passes a guard that accepts it, and sets no cookie', async () => {
    const user = await real.project.addUser();
    const { access_token: token } = sessionOf(await real.app.signedIn(user));
    const answer = await call(token);
    expect([answer.status, answer.json.user.id, answer.json.credential]).toEqual([200, user.id, 'bearer']);
    expect([answer.setCookies, String(answer.headers.vary).includes('Authorization')]).toEqual([[], true]);
    // This guard takes cookies only.
    expect((await call(token, '/api/me')).status).toBe(307);
  });

  it('is refused when it has expired, despite a cookie, and is not refreshed', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { access_token: token } = sessionOf(visitor);
    await expiry(visitor);
    const late = await visitor.get('/api/both', { headers: { authorization: `Bearer ${token}` } });
    expect([late.status, late.headers['www-authenticate'], late.setCookies]).toEqual([
      401,
      'Bearer error="invalid_token"',
      [],
    ]);
    expect(real.project.proxy.to('/token?grant_type=refresh_token')).toEqual([]);
    const byCookie = await visitor.getJson('/api/both');
    expect([byCookie.status, byCookie.json.credential]).toEqual([200, 'cookie']);
  });

  it('of another application passes only if the guard names that application', async () => {
    const user = await real.project.addUser();
    const { access_token: token } = await thirdPartyTokens(real.project, user);
    const refused = await call(token);
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"']);
    const clients = [String(decodeJwt(token)['client_id'])];
    const partner = { adapter: 'backend', credentials: ['bearer'], clients } as const;
    const app = await startRealApp(real.project, undefined, { '/api/partner': partner });
    expect((await call(token, '/api/partner', app)).json.user.id).toBe(user.id);
    await app.close();
  });
});

describeOwnGoTrue('a project that signs with a shared secret, with a bearer token', () => {
  const guarded = { '/api/both': { adapter: 'backend', credentials: ['cookie', 'bearer'] } } as const;
  const real = useRealApp({ gotrue: {}, guarded });

  it('decides itself whether a token is valid', async () => {
    const { access_token: token } = sessionOf(await real.app.signedIn(await real.project.addUser()));
    const call = async (value: string): Promise<number> =>
      (await real.app.visitor().get('/api/both', { headers: { authorization: `Bearer ${value}` } })).status;
    expect([await call(token), await call(`${String(token).slice(0, -4)}AAAA`)]).toEqual([200, 401]);
  });
});
