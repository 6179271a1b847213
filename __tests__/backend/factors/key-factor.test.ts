import { requireSession } from '../../../lib/backend/index.ts';
import { challengeKey } from '../../../lib/backend/factors/key-factors.ts';
import { createCredential } from '../../support/authenticator.ts';
import type { SoftwareCredential } from '../../support/authenticator.ts';
import { ada, postForm } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { changedAnswers, nested } from '../../support/changed-answers.ts';
import { sendText } from '../../support/hosts.ts';
import { party, startPasskeyApp } from '../../support/passkeys.ts';
import { variant } from '../../support/variant.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start(setup: BackendAppSetup = {}): Promise<void> {
  app = await startPasskeyApp({
    after: (host) => {
      host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault'));
      host.get('/enrolled', requireSession({ aal: 'enrolled' }), (_req, res) => sendText(res, 'enrolled'));
    },
    ...setup,
  });
}

const bob = { email: 'bob@example.com', password: 'a second account 1' };
const errorOf = ({ status, json }: Answer) => [status, json.error?.code];
const own = () => app.supabase.factorsOf(ada.email);
const verified = () => own().filter(({ isVerified }) => isVerified);
const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
  (await visitor.getJson('/auth/session')).status === 200;

async function startEnrolling(visitor: Visitor) {
  const { status, json, text } = await visitor.postJson('/auth/enroll', { type: 'webauthn' });
  if (status !== 200) throw new Error(`${status} ${text}`);
  const key = createCredential({ ...party, challenge: json.options.challenge });
  return { key, challenge: json.options.challenge, fields: { factorId: json.factorId, challengeId: json.challengeId } };
}

/** Adds a key to the account of a visitor who has signed in just now. */
async function addKey(visitor: Visitor): Promise<{ key: SoftwareCredential; factorId: string }> {
  const { key, fields } = await startEnrolling(visitor);
  const added = await visitor.postJson('/auth/enroll', { ...fields, credential: key.response });
  if (added.status !== 200) throw new Error(`${added.status} ${added.text}`);
  return { key, factorId: fields.factorId };
}

/** A visitor whose password was right, and who has a key. */
async function pending() {
  const added = await addKey(await app.signedIn());
  const visitor = app.visitor();
  const signedIn = await visitor.postJson('/auth/login', { ...ada, returnTo: '/account' });
  expect(signedIn.json).toEqual({ redirectTo: '/auth/verify?returnTo=%2Faccount' });
  return { ...added, visitor };
}

async function startVerifying(visitor: Visitor, challenge: string) {
  const { status, json, text } = await visitor.postJson('/auth/verify', { challenge });
  if (status !== 200) throw new Error(`${status} ${text}`);
  return { factorId: json.factorId, challengeId: json.challengeId, options: json.options };
}

/** The backend's challenge with other options for the browser. */
function keyOptions(answer: any, change: (options: any) => unknown) {
  const publicKey = change(answer.webauthn.credential_options.publicKey);
  return { ...answer, webauthn: { ...answer.webauthn, credential_options: { publicKey } } };
}

describe('adding a security key', () => {
  it('gives this session two factors by the key’s answer, and leads back', async () => {
    await start();
    const visitor = await app.signedIn();
    const { key, fields } = await startEnrolling(visitor);
    expect(verified()).toEqual([]);
    const added = await visitor.postJson('/auth/enroll', { ...fields, credential: key.response, returnTo: '/account' });
    expect([added.status, added.json]).toEqual([200, { redirectTo: '/account' }]);
    expect(verified().map(({ type }) => type)).toEqual(['webauthn']);
    expect((await visitor.get('/vault')).text).toBe('vault');
    const list = await visitor.getJson('/auth/enroll');
    expect(list.json).toEqual({ factors: [{ id: fields.factorId, type: 'webauthn' }] });
  });

  it('works as a form, from the button that the page’s script shows', async () => {
    await start();
    const visitor = await app.signedIn();
    const page = await visitor.get('/auth/enroll?returnTo=/account');
    expect(page.text).toContain('Add a security key');
    expect(page.text).toMatch(
      /data-passkey="create" data-start="\{&quot;type&quot;:&quot;webauthn&quot;\}"[^>]* hidden/,
    );
    expect(page.headers['content-security-policy']).toContain(
      `connect-src ${app.origin}${variant.prefix}/auth/enroll;`,
    );
    const { key, fields } = await startEnrolling(visitor);
    const form = { type: 'webauthn', ...fields, credential: JSON.stringify(key.response), returnTo: '/account' };
    const added = await postForm(visitor, '/auth/enroll', form);
    expect([added.status, added.headers.location]).toEqual([303, '/auth/enroll?added=first&returnTo=%2Faccount']);
    expect((await visitor.get('/auth/enroll')).text).toContain('Security key');
  });

  it('needs a sign-in of the last ten minutes for the first one, and aal2 for a further one', async () => {
    await start();
    const old = await app.signedIn();
    app.clock.advance(601_000);
    expect(errorOf(await old.postJson('/auth/enroll', { type: 'webauthn' }))).toEqual([401, 'fresh_sign_in_required']);
    const visitor = await app.signedIn();
    const { key, fields } = await startEnrolling(visitor);
    app.supabase.addFactor(ada.email);
    const answer = { ...fields, credential: key.response };
    expect(errorOf(await visitor.postJson('/auth/enroll', answer))).toEqual([403, 'second_factor_required']);
    expect(errorOf(await visitor.postJson('/auth/enroll', { type: 'webauthn' }))).toEqual([
      403,
      'second_factor_required',
    ]);
    expect(verified().map(({ type }) => type)).toEqual(['totp']);
  });

  it.each([
    ['of another origin', { origin: 'https://evil.example' }],
    ['of another relying party', { id: 'evil.example' }],
    ['to another challenge', { challenge: 'AAAA' }],
  ])('refuses an answer %s', async (_, other) => {
    await start();
    const visitor = await app.signedIn();
    const { challenge, fields } = await startEnrolling(visitor);
    const credential = createCredential({ ...party, challenge, ...other }).response;
    expect(errorOf(await visitor.postJson('/auth/enroll', { ...fields, credential }))).toEqual([422, 'code_wrong']);
    expect(verified()).toEqual([]);
  });

  it.each(['enroll', 'verify'])(
    'of a browser whose script got no challenge is started again once by /auth/%s',
    async (page) => {
      await start();
      const { visitor: waiting, factorId } = await pending();
      const visitor = page === 'verify' ? waiting : await app.signedIn({ claims: { aal: 'aal2' } });
      const empty = { type: 'webauthn', credential: '', challengeId: '', ...(page === 'verify' && { factorId }) };
      const again = await postForm(visitor, `/auth/${page}`, empty);
      expect([again.status, again.text.includes('data-again')]).toEqual([200, true]);
      const second = await postForm(visitor, `/auth/${page}`, { ...empty, again: 'yes' });
      expect([second.status, second.text.includes('data-again')]).toEqual([200, false]);
    },
  );

  it('refuses the factor of another user, and one that is verified already', async () => {
    await start();
    app.supabase.addUser(bob);
    const other = app.visitor();
    await other.postJson('/auth/login', bob);
    const foreign = await startEnrolling(other);
    const visitor = await app.signedIn();
    const mine = await startEnrolling(visitor);
    const credential = createCredential({ ...party, challenge: mine.challenge }).response;
    const planted = { ...mine.fields, factorId: foreign.fields.factorId, credential };
    expect(errorOf(await visitor.postJson('/auth/enroll', planted))).toEqual([422, 'code_wrong']);
    expect(app.events.at(-1)).toMatchObject({ type: 'sign_in_failed', reason: 'factor' });
    const { factorId } = await addKey(visitor);
    const again = { ...mine.fields, factorId, credential };
    expect(errorOf(await visitor.postJson('/auth/enroll', again))).toEqual([422, 'code_wrong']);
    expect(app.supabase.factorsOf(bob.email).some(({ isVerified }) => isVerified)).toBe(false);
  });

  it('refuses a challenge that is late, was answered, or belongs to another browser', async () => {
    await start();
    const visitor = await app.signedIn();
    const late = await startEnrolling(visitor);
    app.clock.advance(301_000);
    const expired = await visitor.postJson('/auth/enroll', { ...late.fields, credential: late.key.response });
    expect(errorOf(expired)).toEqual([422, 'challenge_expired']);
    expect(app.events.at(-1)).toMatchObject({ type: 'sign_in_failed', reason: 'mfa_challenge_expired' });
    const { key, fields } = await startEnrolling(visitor);
    const answer = { ...fields, credential: key.response };
    const other = await app.signedIn();
    expect(errorOf(await other.postJson('/auth/enroll', answer))).toEqual([422, 'challenge_expired']);
    expect((await visitor.postJson('/auth/enroll', answer)).status).toBe(200);
  });

  it('makes room among unfinished ones, and says when there is none', async () => {
    await start({ standIn: { maximumFactors: 3 } });
    const visitor = await app.signedIn();
    for (let count = 0; count < 5; count += 1) await startEnrolling(visitor);
    const { factorId } = await addKey(visitor);
    expect(own().map(({ id }) => id)).toEqual([factorId]);
  });

  it('is 422 factor_unavailable where the project has them switched off', async () => {
    await start({ standIn: { keyFactors: false } });
    const visitor = await app.signedIn();
    expect(errorOf(await visitor.postJson('/auth/enroll', { type: 'webauthn' }))).toEqual([422, 'factor_unavailable']);
    const page = await postForm(visitor, '/auth/enroll', { type: 'webauthn', credential: '' });
    expect([page.status, page.text.includes('data-again')]).toEqual([422, false]);
  });

  it.each<[string, (answer: any) => unknown]>([
    ['without an id', (answer) => ({ ...answer, id: undefined })],
    ['with an id that is a number', (answer) => ({ ...answer, id: 7 })],
    ['with an id in a list', (answer) => ({ ...answer, id: [answer.id] })],
    ['with an id of another form', (answer) => ({ ...answer, id: '../../admin/users' })],
    ['of a code', ({ id }) => ({ id, type: 'totp' })],
    ['without options', (answer) => ({ ...answer, webauthn: { type: 'create' } })],
    ['of an unknown kind', (answer) => ({ ...answer, webauthn: { ...answer.webauthn, type: 'new' } })],
    ['with options that are text', (answer) => keyOptions(answer, () => 'text')],
    ['with options in a list', (answer) => keyOptions(answer, (options) => [options])],
    ['without a challenge', (answer) => keyOptions(answer, (options) => ({ ...options, challenge: undefined }))],
    ['with an empty challenge', (answer) => keyOptions(answer, (options) => ({ ...options, challenge: '' }))],
    ['with too many levels', (answer) => keyOptions(answer, (options) => ({ ...options, hints: nested(40) }))],
  ])('refuses a challenge of the backend %s', async (_, change) => {
    await start({ options: { fetch: changedAnswers(/\/factors\/[^/]+\/challenge$/, change) } });
    const visitor = await app.signedIn();
    const refused = await visitor.postJson('/auth/enroll', { type: 'webauthn' });
    expect([errorOf(refused), refused.setCookies]).toEqual([[502, 'provider_refused'], []]);
  });

  it('passes a challenge on whose bytes another version of the SDK reads as a view', async () => {
    await start();
    const bytes = new Uint8Array([0, 251, 255, 0]).subarray(1, 3);
    const answer = { id: 'one', webauthn: { credential_options: { publicKey: { challenge: bytes } } } };
    const call = () => Promise.resolve(answer);
    const asked = challengeKey({ supabase: { call } } as never, {} as never, { access_token: 'a' } as never, 'key');
    expect((await asked).options).toEqual({ challenge: '-_8' });
  });

  it.each([undefined, '', 7, null])('refuses a factor of the backend whose id is %j', async (id) => {
    const fetch = changedAnswers(/\/factors$/, (answer) => ({ ...answer, id }));
    await start({ options: { fetch } });
    const visitor = await app.signedIn();
    expect(errorOf(await visitor.postJson('/auth/enroll', { type: 'webauthn' }))).toEqual([502, 'provider_refused']);
  });

  it('is not offered without passkey in signInMethods', async () => {
    await start({ options: { signInMethods: ['password'] } });
    const visitor = await app.signedIn();
    expect((await visitor.get('/auth/enroll')).text).not.toMatch(/security key|<script|data-passkey/i);
    expect(errorOf(await visitor.postJson('/auth/enroll', { type: 'webauthn' }))).toEqual([422, 'factor_unavailable']);
    expect(own()).toEqual([]);
  });
});

describe('a security key as second factor', () => {
  it('completes a sign-in, at aal2, and ends the other sessions as the backend does', async () => {
    await start();
    const { visitor, key, factorId } = await pending();
    expect((await visitor.getJson('/auth/verify')).json).toEqual({ factors: [{ id: factorId, type: 'webauthn' }] });
    const { options, ...fields } = await startVerifying(visitor, factorId);
    expect(options).toMatchObject({ rpId: party.id, allowCredentials: [{ id: key.id, type: 'public-key' }] });
    const answer = { ...fields, credential: key.assert({ challenge: options.challenge }), returnTo: '/account' };
    const done = await visitor.postJson('/auth/verify', answer);
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
    expect(await isSignedIn(visitor)).toBe(true);
    expect((await visitor.get('/vault')).text).toBe('vault');
    expect((await visitor.get('/enrolled')).text).toBe('enrolled');
  });

  it('is asked for first, and an app and a phone are offered beside it', async () => {
    await start({ standIn: { phoneFactors: true } });
    app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550001111', name: 'phone' });
    const first = app.supabase.addFactor(ada.email, { name: 'my app' });
    const owner = await app.signedIn({ claims: { aal: 'aal2' } });
    const { key, factorId } = await addKey(owner);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    expect((await visitor.getJson('/auth/verify')).json.factors.map(({ type }: any) => type)).toEqual([
      'webauthn',
      'totp',
      'phone',
    ]);
    const page = await visitor.get('/auth/verify');
    expect(page.text.indexOf('data-passkey="get"')).toBeLessThan(page.text.indexOf('name="code"'));
    expect(page.text).toContain('Use your security key, or enter the code from your authenticator app.');
    expect(page.text).toContain('Phone ending in');
    // Each of them completes the sign-in.
    const { options, ...fields } = await startVerifying(visitor, factorId);
    const answer = { ...fields, credential: key.assert({ challenge: options.challenge }) };
    expect((await visitor.postJson('/auth/verify', answer)).status).toBe(200);
    const other = app.visitor();
    await other.postJson('/auth/login', ada);
    expect((await other.postJson('/auth/verify', { code: app.supabase.codeOf(first) })).status).toBe(200);
  });

  it('alone has a page with its button, and says what a browser without script lacks', async () => {
    await start();
    const { visitor, factorId } = await pending();
    const page = await visitor.get('/auth/verify');
    expect(page.status).toBe(200);
    expect(page.text).toContain('Use your security key');
    expect(page.text).toMatch(/<p class="hint" data-fallback>/);
    expect(page.text).not.toContain('name="code"');
    expect(page.text).toContain(`name="factorId" value="${factorId}"`);
    expect(page.headers['content-security-policy']).toContain(
      `connect-src ${app.origin}${variant.prefix}/auth/verify;`,
    );
  });

  it('works as a form; a refused answer shows the page again, and a late one is asked for once more', async () => {
    await start();
    const { visitor, key, factorId } = await pending();
    const answer = async (challenge?: string, lateMs = 0, more = {}) => {
      const { options, challengeId } = await startVerifying(visitor, factorId);
      app.clock.advance(lateMs);
      const credential = JSON.stringify(key.assert({ challenge: challenge ?? options.challenge }));
      return postForm(visitor, '/auth/verify', { factorId, challengeId, credential, returnTo: '/account', ...more });
    };
    const refused = await answer('AAAA');
    expect([refused.status, refused.text.includes('That didn’t work')]).toEqual([422, true]);
    const late = await answer(undefined, 301_000);
    expect([late.status, late.text.includes('data-again')]).toEqual([422, true]);
    expect(await isSignedIn(visitor)).toBe(false);
    const done = await answer();
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it.each(['000000', '', undefined])('is not replaced by digits: %j', async (code) => {
    await start();
    const { visitor, factorId } = await pending();
    for (const body of [{ code }, { code, factorId }]) {
      const refused = await visitor.postJson('/auth/verify', body);
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect(refused.status).toBeLessThan(500);
    }
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it('is not replaced by a new key, by another user’s key, or by a passkey', async () => {
    await start();
    const { visitor, factorId } = await pending();
    app.supabase.addUser(bob);
    const other = app.visitor();
    await other.postJson('/auth/login', bob);
    const bobs = await addKey(other);
    const { options, ...fields } = await startVerifying(visitor, factorId);
    const { challenge } = options;
    for (const credential of [
      createCredential({ ...party, challenge }).response,
      createCredential({ ...party, challenge }).assert({ challenge }),
      bobs.key.assert({ challenge }),
    ]) {
      expect(errorOf(await visitor.postJson('/auth/verify', { ...fields, credential }))).toEqual([422, 'code_wrong']);
    }
    expect(errorOf(await visitor.postJson('/auth/verify', { challenge: bobs.factorId }))).toEqual([422, 'code_wrong']);
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it.each(['of another origin', 'of another relying party', 'to another challenge'])(
    'refuses an answer %s',
    async (kind) => {
      await start();
      const { visitor, key, factorId } = await pending();
      const { options, ...fields } = await startVerifying(visitor, factorId);
      const { challenge } = options;
      const other = {
        'of another origin': { origin: 'https://evil.example' },
        'of another relying party': { id: 'evil.example' },
      }[kind];
      const credential = key.assert(other === undefined ? { challenge: 'AA' } : { challenge, ...other });
      expect(errorOf(await visitor.postJson('/auth/verify', { ...fields, credential }))).toEqual([422, 'code_wrong']);
    },
  );

  it('answers each challenge once, in time, and in the browser that asked', async () => {
    await start();
    const { visitor, key, factorId } = await pending();
    const { options, ...fields } = await startVerifying(visitor, factorId);
    const answer = () => ({ ...fields, credential: key.assert({ challenge: options.challenge }) });
    const other = app.visitor();
    await other.postJson('/auth/login', ada);
    expect(errorOf(await other.postJson('/auth/verify', answer()))).toEqual([422, 'challenge_expired']);
    expect((await visitor.postJson('/auth/verify', answer())).status).toBe(200);
    expect(errorOf(await visitor.postJson('/auth/verify', answer()))).toEqual([422, 'challenge_expired']);
    const again = app.visitor();
    await again.postJson('/auth/login', ada);
    const late = await startVerifying(again, factorId);
    app.clock.advance(301_000);
    const { options: lateOptions, ...lateFields } = late;
    const lateAnswer = { ...lateFields, credential: key.assert({ challenge: lateOptions.challenge }) };
    expect(errorOf(await again.postJson('/auth/verify', lateAnswer))).toEqual([422, 'challenge_expired']);
  });

  it('has the result of a double submit shared', async () => {
    await start();
    const { visitor, key, factorId } = await pending();
    const { options, ...fields } = await startVerifying(visitor, factorId);
    const answer = { ...fields, credential: key.assert({ challenge: options.challenge }), returnTo: '/account' };
    const answers = await Promise.all([1, 2].map(() => visitor.postJson('/auth/verify', answer)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('is closed for 15 minutes after five wrong answers', async () => {
    await start();
    const { visitor, key, factorId } = await pending();
    const answer = async (challenge?: string) => {
      const { options, ...fields } = await startVerifying(visitor, factorId);
      return visitor.postJson('/auth/verify', {
        ...fields,
        credential: key.assert({ challenge: challenge ?? options.challenge }),
      });
    };
    for (let wrong = 0; wrong < 5; wrong += 1) expect(errorOf(await answer('AA'))).toEqual([422, 'code_wrong']);
    expect(errorOf(await answer())).toEqual([429, 'rate_limited']);
  });

  it('that was removed meanwhile is refused, and one that is left still counts', async () => {
    await start();
    const { visitor, key, factorId } = await pending();
    app.supabase.addFactor(ada.email, { name: 'app' });
    const { options, ...fields } = await startVerifying(visitor, factorId);
    app.supabase.removeFactor(
      ada.email,
      own().find(({ id }) => id === factorId)!,
    );
    const answer = { ...fields, credential: key.assert({ challenge: options.challenge }) };
    expect(errorOf(await visitor.postJson('/auth/verify', answer))).toEqual([422, 'code_wrong']);
    expect(errorOf(await visitor.postJson('/auth/verify', { challenge: factorId }))).toEqual([422, 'code_wrong']);
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it('without passkey in signInMethods is no factor that can be asked for: 422 factor_unavailable', async () => {
    await start({ options: { signInMethods: ['password'] } });
    const { id } = app.supabase.addFactor(ada.email, { type: 'webauthn' });
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    expect(errorOf(await visitor.getJson('/auth/verify'))).toEqual([422, 'factor_unavailable']);
    for (const body of [{ challenge: id }, { factorId: id, credential: {} }, { code: '000000' }]) {
      expect(errorOf(await visitor.postJson('/auth/verify', body))).toEqual([422, 'factor_unavailable']);
    }
  });

  it('beside recovery codes is asked for; recovery codes alone are 422 factor_unavailable', async () => {
    await start();
    app.supabase.addFactor(ada.email, { type: 'recovery_code', name: 'codes' });
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    expect(errorOf(await visitor.getJson('/auth/verify'))).toEqual([422, 'factor_unavailable']);
    app.supabase.addFactor(ada.email, { type: 'webauthn', name: 'key' });
    expect((await visitor.getJson('/auth/verify')).json.factors).toHaveLength(1);
  });

  it('can be removed by a page that asks, also the last one', async () => {
    await start();
    const visitor = await app.signedIn();
    const { factorId: remove } = await addKey(visitor);
    const page = await postForm(visitor, '/auth/enroll', { remove });
    expect(page.text).toContain('Two-step sign-in will be off');
    expect((await postForm(visitor, '/auth/enroll', { remove, sure: 'yes' })).status).toBe(303);
    expect(own()).toEqual([]);
  });

  it.each(['refuse', 503] as const)('is a 503 that can be tried again while the backend is away: %s', async (fault) => {
    await start();
    const { visitor, key, factorId } = await pending();
    app.supabase.fail('challenge', fault, 1);
    expect(errorOf(await visitor.postJson('/auth/verify', { challenge: factorId }))).toEqual([
      503,
      'provider_unavailable',
    ]);
    const { options, ...fields } = await startVerifying(visitor, factorId);
    app.supabase.fail('verify-factor', fault, 1);
    const answer = { ...fields, credential: key.assert({ challenge: options.challenge }) };
    expect(errorOf(await visitor.postJson('/auth/verify', answer))).toEqual([503, 'provider_unavailable']);
    expect((await visitor.postJson('/auth/verify', answer)).status).toBe(200);
  });
});
