import { createHash } from 'node:crypto';
import { AuthError } from '../../../lib/errors.ts';
import { createCredential } from '../../support/authenticator.ts';
import type { SoftwareCredential } from '../../support/authenticator.ts';
import { ada, postForm } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { changedAnswers, nested } from '../../support/changed-answers.ts';
import { addPasskey, party, signInWith, startPasskeyApp } from '../../support/passkeys.ts';
import { variant } from '../../support/variant.ts';
import type { Visitor } from '../../support/visitor.ts';

let app: BackendApp;
let passkey: SoftwareCredential;
afterEach(() => app.close());

/** Ada has a passkey, and the visitor of each test is signed out. */
async function start(setup: BackendAppSetup = {}): Promise<Visitor> {
  app = await startPasskeyApp(setup);
  passkey = await addPasskey(await app.signedIn());
  return app.visitor();
}

const startSignIn = async (visitor: Visitor): Promise<{ challengeId: string; challenge: string }> => {
  const { status, json } = await visitor.postJson('/auth/passkey', {});
  expect(status).toBe(200);
  return { challengeId: json.challengeId, challenge: json.options.challenge };
};
const errorOf = ({ status, json }: { status: number; json: any }) => [status, json.error?.code];
const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
  (await visitor.getJson('/auth/session')).status === 200;

describe('a sign-in with a passkey', () => {
  it('starts with a challenge that names the relying party and no account', async () => {
    const visitor = await start();
    const { status, json, headers } = await visitor.postJson('/auth/passkey', {});
    expect(status).toBe(200);
    expect(Object.keys(json).sort()).toEqual(['challengeId', 'options']);
    expect(json.options).toMatchObject({ rpId: party.id, challenge: expect.stringMatching(/^[\w-]{43}$/) });
    expect(json.options).not.toHaveProperty('allowCredentials');
    expect(headers['cache-control']).toBe('private, no-store');
  });

  it('signs in its account, at aal1, and leads to returnTo', async () => {
    const visitor = await start();
    const answer = await signInWith(visitor, passkey, { returnTo: '/account?tab=1' });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/account?tab=1' }]);
    const session = await visitor.getJson('/auth/session');
    expect(session.json.user.email).toBe(ada.email);
    expect((await visitor.get('/account')).status).toBe(200);
    expect(app.eventTypes().at(-1)).toBe('signed_in');
  });

  it('goes through accept, and through onSignIn before a cookie is stored', async () => {
    const asked: unknown[] = [];
    const visitor = await start({
      options: {
        accept: (session) => {
          asked.push((session.claims['amr'] as readonly { method: string }[])[0]?.method, session.claims['aal']);
          return true;
        },
        onSignIn: ({ returnTo }) => ({ redirectTo: `${returnTo}?welcome` }),
      },
    });
    const answer = await signInWith(visitor, passkey, { returnTo: '/account' });
    expect(answer.json).toEqual({ redirectTo: '/account?welcome' });
    expect(asked.slice(-2)).toEqual(['passkey', 'aal1']);
  });

  it.each<[string, NonNullable<BackendAppSetup['options']>, string]>([
    ['accept', { accept: ({ claims }) => !JSON.stringify(claims['amr']).includes('passkey') }, 'not_accepted'],
    [
      'onSignIn',
      {
        onSignIn: ({ session }) => {
          if (JSON.stringify(session.claims['amr']).includes('passkey')) throw new AuthError('forbidden');
        },
      },
      'forbidden',
    ],
  ])('signs in no one where %s refuses', async (_, options, code) => {
    const visitor = await start({ options });
    expect(errorOf(await signInWith(visitor, passkey))).toEqual([403, code]);
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it('asks for the second factor, as after a password', async () => {
    const visitor = await start();
    const factor = app.supabase.addFactor(ada.email);
    const answer = await signInWith(visitor, passkey, { returnTo: '/account' });
    expect(answer.json).toEqual({ redirectTo: '/auth/verify?returnTo=%2Faccount' });
    expect(await isSignedIn(visitor)).toBe(false);
    const done = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor), returnTo: '/account' });
    expect(done.json).toEqual({ redirectTo: '/account' });
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('counts as a fresh sign-in, which may add a first factor', async () => {
    const visitor = await start();
    await signInWith(visitor, passkey);
    expect((await visitor.postJson('/auth/enroll', {})).status).toBe(200);
  });

  it('posts as a form, and leads on by a redirect', async () => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    const credential = JSON.stringify(passkey.assert({ challenge }));
    const answer = await postForm(visitor, '/auth/passkey', { challengeId, credential, returnTo: '/account' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/account']);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('never leads to another site', async () => {
    const visitor = await start();
    const answer = await signInWith(visitor, passkey, { returnTo: 'https://evil.example/' });
    expect(answer.json).toEqual({ redirectTo: '/' });
  });

  it('passes the answer of a captcha on', async () => {
    const visitor = await start();
    app.supabase.switches.captchaToken = 'solved';
    expect(errorOf(await visitor.postJson('/auth/passkey', {}))).toEqual([400, 'captcha_failed']);
    expect((await visitor.postJson('/auth/passkey', { captchaToken: 'solved' })).status).toBe(200);
  });
});

describe('the challenge of a sign-in', () => {
  it('works once', async () => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    const answer = { challengeId, credential: passkey.assert({ challenge }) };
    expect((await visitor.postJson('/auth/passkey', answer)).status).toBe(200);
    await visitor.postJson('/auth/logout', {});
    const again = { challengeId, credential: passkey.assert({ challenge }) };
    expect(errorOf(await visitor.postJson('/auth/passkey', again))).toEqual([422, 'challenge_expired']);
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it('works once among parallel answers from other browsers of the person', async () => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    const others = Array.from({ length: 5 }, () => {
      const other = app.visitor();
      for (const [name, value] of visitor.cookies) other.cookies.set(name, value);
      return other;
    });
    const answers = await Promise.all(
      others.map((other) =>
        other.postJson('/auth/passkey', { challengeId, credential: passkey.assert({ challenge }) }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422]);
  });

  it('has its result shared by a double submit', async () => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    const answer = { challengeId, credential: passkey.assert({ challenge }), returnTo: '/account' };
    const answers = await Promise.all([1, 2].map(() => visitor.postJson('/auth/passkey', answer)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(app.supabase.calls('passkey-verify')).toBe(1);
  });

  it('is never shared, not even by two tabs that ask at once', async () => {
    const visitor = await start();
    await startSignIn(visitor);
    const started = await Promise.all([1, 2, 3].map(() => startSignIn(visitor)));
    expect(new Set(started.map(({ challenge }) => challenge)).size).toBe(3);
    for (const { challengeId, challenge } of started) {
      const answer = { challengeId, credential: passkey.assert({ challenge }) };
      expect((await visitor.postJson('/auth/passkey', answer)).status).toBe(200);
    }
  });

  it('expires after five minutes', async () => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    app.clock.advance(301_000);
    const late = { challengeId, credential: passkey.assert({ challenge }) };
    expect(errorOf(await visitor.postJson('/auth/passkey', late))).toEqual([422, 'challenge_expired']);
  });

  it('answered late in a form, is asked for once more by the script, and not a third time', async () => {
    const visitor = await start();
    const answerLate = async (further: Record<string, string>) => {
      const { challengeId, challenge } = await startSignIn(visitor);
      app.clock.advance(301_000);
      const credential = JSON.stringify(passkey.assert({ challenge }));
      return postForm(visitor, '/auth/passkey', { challengeId, credential, returnTo: '/account', ...further });
    };
    const first = await answerLate({});
    expect([first.status, first.text.includes('data-again')]).toEqual([422, true]);
    expect(first.text).toContain('name="again" value="yes"');
    expect(first.text).toContain('name="returnTo" value="/account"');
    const second = await answerLate({ again: 'yes' });
    expect([second.status, second.text.includes('data-again')]).toEqual([422, false]);
    expect(second.text).toContain('That took too long');
  });

  it('is refused in another browser, before the backend is asked', async () => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    const other = app.visitor();
    await startSignIn(other);
    const before = app.supabase.calls('passkey-verify');
    const answer = { challengeId, credential: passkey.assert({ challenge }) };
    expect(errorOf(await other.postJson('/auth/passkey', answer))).toEqual([422, 'challenge_expired']);
    expect(errorOf(await app.visitor().postJson('/auth/passkey', answer))).toEqual([422, 'challenge_expired']);
    expect(app.supabase.calls('passkey-verify')).toBe(before);
    expect(app.events.at(-1)).toMatchObject({ type: 'sign_in_failed', reason: 'other_browser' });
    // Nothing of it was spent for the browser that asked.
    expect((await visitor.postJson('/auth/passkey', answer)).status).toBe(200);
  });

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['the id of the backend alone', (id: string) => id.split('.')[0]],
    ['with a hash of another secret', (id: string) => `${id.split('.')[0]}.${'A'.repeat(43)}`],
    ['of another kind', () => '../../admin/users.AAAA'],
    ['with a later part', (id: string) => `${id}.x`],
  ])('is refused where its id is %s', async (_, spoil) => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    const given = typeof spoil === 'function' ? spoil(challengeId) : spoil;
    const answer = { challengeId: given, credential: passkey.assert({ challenge }) };
    expect(errorOf(await visitor.postJson('/auth/passkey', answer))).toEqual([422, 'challenge_expired']);
    expect(app.supabase.calls('passkey-verify')).toBe(0);
  });

  it('leaves one HttpOnly cookie in the browser, and no secret in a page or an answer', async () => {
    const visitor = await start();
    const first = await visitor.postJson('/auth/passkey', {});
    const [line = ''] = first.setCookies;
    expect(first.setCookies).toHaveLength(1);
    expect(line).toMatch(/^(?:__Host-)?sb-127-auth-token-ceremony=[\w-]{22};.*HttpOnly/i);
    const secret = /=([\w-]{22})/.exec(line)?.[1] ?? '';
    expect(first.text).not.toContain(secret);
    const hash = createHash('sha256')
      .update(`${secret}.${first.json.challengeId.split('.')[0]}`)
      .digest('base64url');
    expect(first.json.challengeId.split('.')[1]).toBe(hash);
    const second = await visitor.postJson('/auth/passkey', {});
    expect(second.setCookies[0]).toContain(`=${secret};`);
  });
});

it('the secret of another form, which another site may have planted, is none', async () => {
  const visitor = await start();
  await startSignIn(visitor);
  const [name = ''] = [...visitor.cookies.keys()].filter((each) => each.endsWith('-ceremony'));
  const planted = app.visitor();
  planted.cookies.set(name, 'known');
  const [line = ''] = (await planted.postJson('/auth/passkey', {})).setCookies;
  expect(line).toMatch(/-ceremony=[\w-]{22};/);
});

describe('a challenge of the backend that cannot be read', () => {
  it.each<[string, (answer: any) => unknown]>([
    ['without an id', ({ options }) => ({ options })],
    ['with an id that is a number', (answer) => ({ ...answer, challenge_id: 7 })],
    ['with an id in a list', (answer) => ({ ...answer, challenge_id: [answer.challenge_id] })],
    ['with an id of another form', (answer) => ({ ...answer, challenge_id: '../../admin/users' })],
    ['without options', (answer) => ({ challenge_id: answer.challenge_id })],
    ['with options in a list', (answer) => ({ ...answer, options: [answer.options] })],
    ['with options that are text', (answer) => ({ ...answer, options: 'text' })],
    ['without a challenge', (answer) => ({ ...answer, options: { ...answer.options, challenge: undefined } })],
    ['with an empty challenge', (answer) => ({ ...answer, options: { ...answer.options, challenge: '' } })],
    ['with a challenge that is a number', (answer) => ({ ...answer, options: { ...answer.options, challenge: 7 } })],
    ['with too many levels', (answer) => ({ ...answer, options: { ...answer.options, hints: nested(40) } })],
  ])('is refused, at a sign-in and for a new passkey: %s', async (_, change) => {
    const fetch = changedAnswers(/\/passkeys\/\w+\/options$/, change);
    app = await startPasskeyApp({ options: { fetch } });
    const visitor = app.visitor();
    const signingIn = await visitor.postJson('/auth/passkey', {});
    expect([errorOf(signingIn), signingIn.setCookies]).toEqual([[502, 'provider_refused'], []]);
    expect(errorOf(await (await app.signedIn()).postJson('/auth/passkeys', {}))).toEqual([502, 'provider_refused']);
  });
});

describe('an answer that is refused', () => {
  it.each<[string, (challenge: string) => unknown]>([
    ['of another origin', (challenge) => passkey.assert({ challenge, origin: 'https://evil.example' })],
    ['of another relying party', (challenge) => passkey.assert({ challenge, id: 'evil.example' })],
    ['to another challenge', () => passkey.assert({ challenge: 'AAAA' })],
    ['of an unknown passkey', (challenge) => createCredential({ ...party, challenge }).assert({ challenge })],
    ['of a registration', (challenge) => createCredential({ ...party, challenge }).response],
    ['without a user', (challenge) => ({ ...passkey.assert({ challenge }), response: {} })],
    ['that is empty', () => ({})],
    ['that is text', () => 'a credential'],
    ['that is a list', () => []],
    ['that is null', () => null],
  ])('%s is code_wrong', async (_, answer) => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    const refused = await visitor.postJson('/auth/passkey', { challengeId, credential: answer(challenge) });
    expect(errorOf(refused)).toEqual([422, 'code_wrong']);
    expect(await isSignedIn(visitor)).toBe(false);
    const failed = { type: 'sign_in_failed', code: 'code_wrong', reason: expect.any(String) };
    expect(app.events.at(-1)).toMatchObject(failed);
    expect(app.eventTypes()).not.toContain('configuration_warning');
  });

  it.each([{}, { session: null }, { access_token: 'a' }, { access_token: 7, refresh_token: 'r' }])(
    'by the backend without a session, but by no error, is no sign-in: %j',
    async (body) => {
      app = await startPasskeyApp();
      passkey = await addPasskey(await app.signedIn());
      const fetch = changedAnswers(/\/passkeys\/authentication\/verify$/, () => body);
      const options = { fetch, url: app.supabase.url, anonKey: app.supabase.publishableKey, now: app.clock.now };
      const other = await startPasskeyApp({ options });
      try {
        const visitor = other.visitor();
        expect(errorOf(await signInWith(visitor, passkey))).toEqual([502, 'provider_refused']);
        expect(await isSignedIn(visitor)).toBe(false);
      } finally {
        await other.close();
      }
    },
  );

  it.each([7, true, ['a credential'], null, 'a credential', JSON.stringify({ id: nested(40) })])(
    'that is no object, or a deep one, costs no call: %j',
    async (credential) => {
      const visitor = await start();
      const { challengeId } = await startSignIn(visitor);
      const refused = await visitor.postJson('/auth/passkey', { challengeId, credential });
      expect(errorOf(refused)).toEqual([422, 'code_wrong']);
      expect(refused.json.error.message).toContain('Try again, or choose another way.');
      expect(app.supabase.calls('passkey-verify')).toBe(0);
      expect(app.events.at(-1)).toMatchObject({ type: 'sign_in_failed', code: 'code_wrong', reason: 'malformed' });
    },
  );

  it('of a passkey that was removed meanwhile is code_wrong', async () => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    const { passkeyId } = app.supabase.passkeysOf(ada.email)[0]!;
    app.supabase.removePasskey(ada.email, passkeyId);
    const answer = { challengeId, credential: passkey.assert({ challenge }) };
    expect(errorOf(await visitor.postJson('/auth/passkey', answer))).toEqual([422, 'code_wrong']);
  });

  it('keeps the session that the browser has', async () => {
    await start();
    const visitor = await app.signedIn();
    const { challengeId } = await startSignIn(visitor);
    const refused = await visitor.postJson('/auth/passkey', {
      challengeId,
      credential: passkey.assert({ challenge: 'AA' }),
    });
    expect(errorOf(refused)).toEqual([422, 'code_wrong']);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('shows the sign-in page again, with the message and the way back', async () => {
    const visitor = await start();
    const { challengeId } = await startSignIn(visitor);
    const credential = JSON.stringify(passkey.assert({ challenge: 'AA' }));
    const page = await postForm(visitor, '/auth/passkey', { challengeId, credential, returnTo: '/account' });
    expect(page.status).toBe(422);
    expect(page.text).toContain('That didn’t work. Try again, or choose another way.');
    expect(page.text).toContain('name="returnTo" value="/account"');
    expect(page.text).not.toContain('data-again');
    expect(page.text).not.toContain(challengeId);
  });

  it('leads to the application’s own sign-in page, where it has one', async () => {
    const visitor = await start({ options: { pages: { signIn: `${variant.prefix}/welcome` } } });
    const { challengeId } = await startSignIn(visitor);
    const credential = JSON.stringify(passkey.assert({ challenge: 'AA' }));
    const page = await postForm(visitor, '/auth/passkey', { challengeId, credential, returnTo: '/account' });
    expect([page.status, page.headers.location]).toEqual([303, '/welcome?error=code_wrong&returnTo=%2Faccount']);
  });

  it.each([
    ['user_banned', 403],
    ['email_not_confirmed', 403],
  ] as const)('keeps the reason that concerns the account: %s', async (code, status) => {
    const visitor = await start();
    const user = app.supabase.users().find(({ email }) => email === ada.email)!;
    if (code === 'user_banned') user.banned = true;
    else user.confirmedAt = undefined;
    expect(errorOf(await signInWith(visitor, passkey))).toEqual([status, code]);
  });
});

describe('the throttle', () => {
  it('counts wrong answers of a network together with its wrong passwords', async () => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    for (let wrong = 0; wrong < 60; wrong += 1) {
      const guess = { email: `user-${wrong}@example.com`, password: 'wrong' };
      expect((await visitor.postJson('/auth/login', guess)).status).toBe(401);
    }
    for (let wrong = 0; wrong < 40; wrong += 1) {
      const asked = await startSignIn(visitor);
      const answer = { challengeId: asked.challengeId, credential: passkey.assert({ challenge: 'AA' }) };
      expect((await visitor.postJson('/auth/passkey', answer)).status).toBe(422);
    }
    const calls = app.supabase.calls('passkey-verify');
    const right = { challengeId, credential: passkey.assert({ challenge }) };
    const limited = await visitor.postJson('/auth/passkey', right);
    expect(errorOf(limited)).toEqual([429, 'rate_limited']);
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
    expect(app.supabase.calls('passkey-verify')).toBe(calls);
  });

  it('gives a network 100 challenges in 15 minutes, and counts no password for them', async () => {
    const visitor = await start();
    // That of the setup counts for its account.
    for (let asked = 0; asked < 100; asked += 1) await startSignIn(visitor);
    const limited = await visitor.postJson('/auth/passkey', {});
    expect(errorOf(limited)).toEqual([429, 'rate_limited']);
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(800);
    expect((await visitor.postJson('/auth/login', ada)).status).toBe(200);
  });

  it('does not count challenges that the backend did not give', async () => {
    const visitor = await start();
    app.supabase.fail('passkey-options', 503, 150);
    for (let asked = 0; asked < 150; asked += 1) {
      expect((await visitor.postJson('/auth/passkey', {})).status).toBe(503);
    }
    await startSignIn(visitor);
  });
});

describe('the backend', () => {
  it.each(['refuse', 500, 503, 'html502'] as const)(
    'out of reach (%s) is a 503 that can be tried again',
    async (fault) => {
      const visitor = await start();
      app.supabase.fail('passkey-options', fault, 1);
      const down = await visitor.postJson('/auth/passkey', {});
      expect(errorOf(down)).toEqual([503, 'provider_unavailable']);
      expect(down.headers['retry-after']).toBeDefined();
      const { challengeId, challenge } = await startSignIn(visitor);
      app.supabase.fail('passkey-verify', fault, 1);
      const answer = { challengeId, credential: passkey.assert({ challenge }) };
      expect(errorOf(await visitor.postJson('/auth/passkey', answer))).toEqual([503, 'provider_unavailable']);
      expect((await visitor.postJson('/auth/passkey', answer)).status).toBe(200);
    },
  );

  it('without passkeys is named to operators, and the visitor is sent another way', async () => {
    const visitor = await start();
    app.supabase.switches.passkeys = false;
    expect(errorOf(await visitor.postJson('/auth/passkey', {}))).toEqual([400, 'unknown_provider']);
    expect(app.events.filter(({ type }) => type === 'configuration_warning')).toMatchObject([
      { message: expect.stringContaining('passkeys are switched off') },
    ]);
  });
});

describe('the route', () => {
  it('does not exist without the method', async () => {
    await start();
    await app.close();
    app = await startPasskeyApp({ options: { signInMethods: ['password', 'code'] } });
    for (const path of ['/auth/passkey', '/auth/passkeys']) {
      expect((await app.visitor().postJson(path, {})).status).toBe(404);
      expect((await app.visitor().get(path)).status).toBe(404);
    }
  });

  it('leads a GET to the sign-in page', async () => {
    const visitor = await start();
    const answer = await visitor.get('/auth/passkey?returnTo=/account');
    expect([answer.status, answer.headers.location]).toEqual([302, '/auth/login?returnTo=%2Faccount']);
  });

  it('refuses a post of another site, which could sign the visitor in to the account of another user', async () => {
    const visitor = await start();
    const { challengeId, challenge } = await startSignIn(visitor);
    const credential = JSON.stringify(passkey.assert({ challenge }));
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    const refused = await postForm(visitor, '/auth/passkey', { challengeId, credential }, headers);
    expect([refused.status, await isSignedIn(visitor)]).toEqual([403, false]);
  });

  it('takes a path of its own', async () => {
    app = await startPasskeyApp({
      options: { paths: { passkey: '/key', passkeys: '/keys' } },
    });
    const visitor = app.visitor();
    expect((await visitor.postJson('/key', {})).status).toBe(200);
    expect((await visitor.get('/auth/login')).text).toContain('action="/key"');
  });

  it.each([
    ['a body that is too large', { credential: { id: 'x'.repeat(20_000) } }, 413],
    [
      'a deep credential',
      { challengeId: 'x', credential: JSON.parse('{"a":'.repeat(500) + '1' + '}'.repeat(500)) },
      400,
    ],
  ])('answers %s with an error, and no 500', async (_, body, status) => {
    const visitor = await start();
    expect((await visitor.postJson('/auth/passkey', body)).status).toBe(status);
  });
});
