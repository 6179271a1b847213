import { requireSession } from '../../../lib/backend/index.ts';
import { ada, postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { openAsGuest, signUpAsGuest } from '../../support/guest.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start(setup: BackendAppSetup = {}) {
  app = await startBackendApp({ options: { pages: { title: 'Northwind' } }, ...setup });
}

const code = (factor: { readonly secret: string }): string => app.supabase.codeOf(factor);
const wrong = (right: string): string => (right === '000000' ? '111111' : '000000');
const verified = (): number => app.supabase.factorsOf(ada.email).filter(({ isVerified }) => isVerified).length;

/** The fields that the form on our page would send. */
function hiddenFields({ text }: Answer): Record<string, string> {
  const inputs = [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
  return Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]));
}

describe('adding an authenticator app', () => {
  it('shows a QR code as elements, and the secret as text', async () => {
    await start();
    const visitor = await app.signedIn();
    const page = await visitor.get('/auth/enroll?returnTo=/account');
    expect([page.status, app.supabase.factorsOf(ada.email)]).toEqual([200, []]);
    const started = await postForm(visitor, '/auth/enroll', { returnTo: '/account' });
    expect(started.status).toBe(200);
    const { secret } = app.supabase.factorsOf(ada.email)[0]!;
    expect(started.text.replace(/ (?=[A-Z2-7]{1,4}[ <])/g, '')).toContain(secret);
    expect(started.text).toMatch(/<svg class="qr" viewBox="0 0 \d+ \d+"[^>]* role="img" aria-label="[^"]+"/);
    expect(started.text).not.toMatch(/style=|data:|<img|<script/);
    expect(started.headers['content-security-policy']).toContain("default-src 'none'");
    expect(started.headers['cache-control']).toBe('private, no-store');
    expect(hiddenFields(started)['uri']).toContain('issuer=Northwind');
    expect(started.text.length).toBeLessThan(60_000);
  });

  it.each([{ code: 123_456 }, { remove: 5 }, { remove: ['x'] }])(
    'starts none where a field is no text: %j',
    async (fields) => {
      await start();
      const visitor = await app.signedIn();
      expect((await visitor.postJson('/auth/enroll', fields)).status).toBeGreaterThanOrEqual(400);
      expect(app.supabase.factorsOf(ada.email)).toEqual([]);
    },
  );

  it('gives this session two factors, and says once, on the way back, why a second one helps', async () => {
    await start();
    const visitor = await app.signedIn();
    const started = await postForm(visitor, '/auth/enroll', { returnTo: '/account' });
    const [factor] = app.supabase.factorsOf(ada.email);
    const fields = { ...hiddenFields(started), code: code(factor!) };
    const answer = await postForm(visitor, '/auth/enroll', fields);
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/enroll?added=first&returnTo=%2Faccount']);
    expect(verified()).toBe(1);
    const advice = 'Two-step sign-in is on.<br>Add a second one, so that a lost phone doesn’t lock you out.';
    const told = await visitor.get(answer.location);
    expect(told.status).toBe(200);
    expect(told.text).toContain(`<div class="message good">\n<p id="form-error" role="status">${advice}</p>`);
    expect(told.text).toContain('<a href="/account">Done</a>');
    expect((await visitor.get('/auth/enroll?returnTo=/account')).text).not.toContain(advice);
    // A link of another site cannot make it say so where there are two.
    app.supabase.addFactor(ada.email);
    expect((await visitor.get(answer.location)).text).not.toContain(advice);
    const list = await visitor.get('/auth/enroll');
    expect([list.status, list.text.includes('Remove')]).toEqual([200, true]);
  });

  it.each<[string, string]>([
    ['another page of ours, such as a consent', '/auth/passkeys?returnTo=%2Faccount'],
    ['the application, after a second factor that is not the first', '/account'],
  ])('goes on at once to %s', async (_name, returnTo) => {
    await start({ options: { signInMethods: ['password', 'passkey'] } });
    const visitor = await app.signedIn();
    if (returnTo === '/account') {
      const factor = app.supabase.addFactor(ada.email);
      await visitor.postJson('/auth/login', ada);
      await visitor.postJson('/auth/verify', { code: code(factor) });
    }
    const started = await postForm(visitor, '/auth/enroll', { returnTo });
    const { secret } = app.supabase.factorsOf(ada.email).at(-1)!;
    const answer = await postForm(visitor, '/auth/enroll', { ...hiddenFields(started), code: code({ secret }) });
    expect([answer.status, answer.headers.location]).toEqual([303, returnTo]);
  });

  it('shows the same QR code again after a wrong code', async () => {
    await start();
    const visitor = await app.signedIn();
    const started = await postForm(visitor, '/auth/enroll', {});
    const [factor] = app.supabase.factorsOf(ada.email);
    const again = await postForm(visitor, '/auth/enroll', { ...hiddenFields(started), code: wrong(code(factor!)) });
    expect(again.status).toBe(422);
    const drawing = /<path d="[^"]+"/;
    expect(drawing.exec(again.text)?.[0]).toBe(drawing.exec(started.text)?.[0]);
    const right = await postForm(visitor, '/auth/enroll', { ...hiddenFields(again), code: code(factor!) });
    expect(right.status).toBe(303);
  });

  it('draws no QR code for a URI that is not an authenticator secret', async () => {
    await start();
    const visitor = await app.signedIn();
    await postForm(visitor, '/auth/enroll', {});
    const [factor] = app.supabase.factorsOf(ada.email);
    for (const uri of [
      'https://evil.example/',
      'otpauth://totp/x?secret=<script>',
      `otpauth://totp/x?secret=${'A'.repeat(2_000)}`,
      'otpauth://totp/',
      'otpauth://totp/x?issuer=evil',
    ]) {
      const page = await postForm(visitor, '/auth/enroll', { factorId: factor!.id, code: '000000', uri });
      expect([page.status, page.text.includes('<svg class="qr"'), page.text.includes('evil')]).toEqual([
        422,
        false,
        false,
      ]);
    }
  });

  it('draws QR codes of up to 1,024 characters', async () => {
    await start();
    const visitor = await app.signedIn();
    const secret = 'A'.repeat(32);
    const base = `otpauth://totp/x?secret=${secret}&issuer=`;
    const longest = base + 'x'.repeat(1_024 - base.length);
    const draws = async (uri: string): Promise<boolean> => {
      const page = await postForm(visitor, '/auth/enroll', { factorId: 'any', code: 'wrong', uri });
      return page.text.includes('<svg class="qr"');
    };
    for (const uri of [base, longest]) expect([uri, await draws(uri)]).toEqual([uri, true]);
    for (const uri of [
      `${longest}x`,
      `x${base}`,
      `${base}é`,
      `otpauth://totp/x?secret=a${secret}`,
      `otpauth://totp/x?secret=${secret}1`,
    ]) {
      expect([uri, await draws(uri)]).toEqual([uri, false]);
    }
  });

  it('needs an id with its code', async () => {
    await start();
    const visitor = await app.signedIn();
    const answer = await visitor.postJson('/auth/enroll', { code: '123456' });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_request']);
    const page = await postForm(visitor, '/auth/enroll', { code: '123456' });
    expect([page.status, page.text.includes('<svg class="qr"')]).toEqual([400, false]);
  });

  it('allows five tries for each code', async () => {
    await start();
    const visitor = await app.signedIn();
    const [first, second] = [
      (await visitor.postJson('/auth/enroll', {})).json,
      (await visitor.postJson('/auth/enroll', { returnTo: '/account' })).json,
    ];
    const statuses: number[] = [];
    for (let tries = 0; tries < 6; tries += 1) {
      const fields = { factorId: first.factorId, code: wrong(code(first)) };
      statuses.push((await visitor.postJson('/auth/enroll', fields)).status);
    }
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429]);
    const given = { factorId: second.factorId, code: code(second) };
    expect((await visitor.postJson('/auth/enroll', given)).status).toBe(200);
  });

  it('offers another secret, which can be confirmed at once, where the tries are used up', async () => {
    await start();
    const visitor = await app.signedIn();
    const { factorId, uri, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    const answers: Answer[] = [];
    for (let tries = 0; tries < 6; tries += 1) {
      answers.push(await postForm(visitor, '/auth/enroll', { factorId, uri, code: wrong(code({ secret })) }));
    }
    const texts = answers.map(({ text }) => text.includes('Start again'));
    expect([texts, answers.at(-1)?.status]).toEqual([[false, false, false, false, false, true], 429]);
    const again = await postForm(visitor, '/auth/enroll', { returnTo: '/account' });
    const [, other = ''] = /name="factorId" value="([^"]+)"/.exec(again.text) ?? [];
    const [, key = ''] = /secret=([A-Z2-7]+)/.exec(again.text) ?? [];
    expect([again.status, again.text.includes(' disabled'), other === factorId]).toEqual([200, false, false]);
    expect((await postForm(visitor, '/auth/enroll', { factorId: other, code: code({ secret: key }) })).status).toBe(
      303,
    );
  });

  it.each(['before', 'while'])('returns to sign-in if the backend ended the session %s it was asked', async (when) => {
    let isOver = false;
    const ending: typeof fetch = (input, init) =>
      isOver && new Request(input).url.endsWith('/factors')
        ? Promise.resolve(Response.json({ code: 'session_not_found', message: 'gone' }, { status: 403 }))
        : fetch(input, init);
    await start({ options: { fetch: ending } });
    const visitor = await app.signedIn();
    expect((await visitor.get('/auth/enroll')).status).toBe(200);
    isOver = when === 'while';
    if (when === 'before') for (const { id } of app.supabase.sessionsOf(ada.email)) app.supabase.revokeSession(id);
    const answer = await postForm(visitor, '/auth/enroll', { returnTo: '/account' });
    expect([answer.status, answer.headers.location]).toEqual([
      303,
      `/auth/login?returnTo=${encodeURIComponent('/auth/enroll?returnTo=%2Faccount')}`,
    ]);
    expect([...visitor.cookies.keys()]).toEqual([]);
  });

  it('works for a JSON client', async () => {
    await start();
    const visitor = await app.signedIn();
    expect((await visitor.getJson('/auth/enroll')).json).toEqual({ factors: [] });
    const started = await visitor.postJson('/auth/enroll', {});
    expect(started.json).toEqual({
      factorId: expect.any(String),
      secret: expect.stringMatching(/^[A-Z2-7]+$/),
      uri: expect.stringMatching(/^otpauth:\/\/totp\//),
    });
    const { factorId, secret } = started.json;
    const bad = await visitor.postJson('/auth/enroll', { factorId, code: wrong(code({ secret })) });
    expect([bad.status, bad.json.error.code]).toEqual([422, 'code_wrong']);
    const done = await visitor.postJson('/auth/enroll', { factorId, code: code({ secret }) });
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/' }]);
    expect((await visitor.getJson('/auth/enroll')).json).toEqual({ factors: [{ id: factorId, type: 'totp' }] });
    expect(app.eventTypes().filter((type) => type === 'sign_in_failed')).toHaveLength(1);
  });

  it('replaces abandoned attempts that fill the limit', async () => {
    await start({ standIn: { maximumFactors: 3 } });
    const visitor = await app.signedIn();
    for (let count = 0; count < 5; count += 1) {
      expect((await visitor.postJson('/auth/enroll', {})).status).toBe(200);
    }
  });

  it('replaces only authenticator apps that were never verified', async () => {
    await start({ standIn: { maximumFactors: 3, phoneFactors: true } });
    const verified = app.supabase.addFactor(ada.email);
    const phone = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123', verified: false });
    const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
    for (let count = 0; count < 2; count += 1) {
      expect((await visitor.postJson('/auth/enroll', {})).status).toBe(200);
    }
    const kept = app.supabase.factorsOf(ada.email).map(({ id }) => id);
    expect(kept.slice(0, 2)).toEqual([verified.id, phone.id]);
  });

  it('replaces no phone, which another page may be about to verify', async () => {
    await start({ standIn: { maximumFactors: 2, phoneFactors: true } });
    const phone = { type: 'phone', phone: '15550123', verified: false, name: 'phone' } as const;
    const { id } = app.supabase.addFactor(ada.email, phone);
    app.supabase.addFactor(ada.email, { verified: false, name: 'app' });
    const visitor = await app.signedIn();
    expect((await visitor.postJson('/auth/enroll')).status).toBe(200);
    const left = app.supabase.factorsOf(ada.email);
    expect([left.length, left.some((factor) => factor.id === id)]).toEqual([2, true]);
  });

  it('does not retry if nothing can be replaced', async () => {
    await start({ standIn: { maximumFactors: 1 } });
    app.supabase.addFactor(ada.email);
    const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
    expect((await visitor.postJson('/auth/enroll', {})).status).toBe(422);
    expect(app.supabase.calls('enroll')).toBe(1);
  });

  it('reports a project without it, and removes nothing', async () => {
    await start({ standIn: { totpFactors: false } });
    app.supabase.addFactor(ada.email, { verified: false });
    const visitor = await app.signedIn();
    const answer = await visitor.postJson('/auth/enroll', {});
    expect([answer.status, answer.json.error.code]).toEqual([422, 'factor_unavailable']);
    expect(app.supabase.factorsOf(ada.email)).toHaveLength(1);
    expect((await postForm(visitor, '/auth/enroll', {})).text).toContain(
      'This way of two-step sign-in can’t be used here. Please contact support.',
    );
  });

  it('requires a signed-in user with an account', async () => {
    await start({ standIn: { anonymousUsers: true } });
    const stranger = app.visitor();
    const page = await stranger.get('/auth/enroll?returnTo=/account');
    expect([page.status, page.headers.location]).toEqual([
      302,
      `/auth/login?returnTo=${encodeURIComponent('/auth/enroll?returnTo=%2Faccount')}`,
    ]);
    expect((await stranger.postJson('/auth/enroll', {})).status).toBe(401);
    app.supabase.addFactor(ada.email);
    await postForm(stranger, '/auth/login', ada);
    expect((await stranger.postJson('/auth/enroll', {})).status).toBe(401);
  });

  it.each([true, false])(
    'leads a guest to sign-up, and back to what a guard asks for (at once: %s)',
    async (autoconfirm) => {
      await start({
        standIn: { autoconfirm, anonymousUsers: true },
        after: (host) => host.all('/vault', requireSession({ adapter: 'backend', aal: 'aal2' })),
      });
      const browser = await openAsGuest(app);
      const answer = await browser.jar.postJson('/auth/enroll', {});
      expect([answer.status, answer.json.error.code, answer.json.redirectTo]).toEqual([
        403,
        'forbidden',
        '/auth/signup?returnTo=%2Fauth%2Fenroll',
      ]);
      await browser.open('/vault');
      expect(browser.at.answer.text).toContain('You’re here as a guest. To keep your data, sign up with your email.');
      const [before, after] = await signUpAsGuest(app, browser);
      expect(after).toBe(before);
      expect(browser.at.answer.text).toContain('<h1>Two-step sign-in</h1>');
      expect(browser.forms()[0]).toEqual({
        action: '/auth/enroll',
        fields: expect.objectContaining({ returnTo: '/vault' }),
      });
    },
  );
});

it('adds another one in an old session that has given one', async () => {
  await start();
  app.supabase.addFactor(ada.email);
  const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
  app.clock.advance(20 * 60_000);
  expect((await visitor.postJson('/auth/enroll')).status).toBe(200);
});

describe('a user who has a second factor', () => {
  async function stepUp(visitor: Visitor, factor: { readonly secret: string }): Promise<void> {
    const answer = await visitor.postJson('/auth/verify', { code: code(factor) });
    if (answer.status !== 200) throw new Error(answer.text);
  }

  it('must give it before another one is added or one is removed', async () => {
    await start();
    const visitor = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    for (const body of [{}, { remove: factor.id }]) {
      const answer = await visitor.postJson('/auth/enroll', body);
      expect([answer.status, answer.json.error.code, answer.json.redirectTo]).toEqual([
        403,
        'second_factor_required',
        '/auth/verify?returnTo=%2Fauth%2Fenroll',
      ]);
    }
    const sent = await postForm(visitor, '/auth/enroll', { returnTo: '/account' });
    expect([sent.status, sent.headers.location]).toEqual([
      303,
      '/auth/verify?returnTo=%2Fauth%2Fenroll%3FreturnTo%3D%252Faccount',
    ]);
    const page = await visitor.get('/auth/enroll?returnTo=/account');
    expect([page.status, page.headers.location]).toEqual([
      302,
      '/auth/verify?returnTo=%2Fauth%2Fenroll%3FreturnTo%3D%252Faccount',
    ]);
    const asked = await visitor.get(page.headers.location!);
    const returnTo = '/auth/enroll?returnTo=%2Faccount';
    expect(asked.text).toContain(`name="returnTo" value="${returnTo}"`);
    const given = await postForm(visitor, '/auth/verify', { code: code(factor), returnTo });
    expect([given.status, given.headers.location]).toEqual([303, '/auth/enroll?returnTo=%2Faccount']);
    expect((await visitor.get(given.headers.location!)).status).toBe(200);
  });

  it('is passed to the error handler if the application handles errors itself', async () => {
    const codes: string[] = [];
    await start({
      options: {
        onError(error, _req, res) {
          codes.push(error.code);
          res.statusCode = error.status;
          res.end('{}');
        },
      },
    });
    const visitor = await app.signedIn();
    app.supabase.addFactor(ada.email);
    expect((await visitor.postJson('/auth/enroll', {})).json).toEqual({});
    expect(codes).toEqual(['second_factor_required']);
  });

  it('can remove it afterwards', async () => {
    await start();
    const visitor = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    await stepUp(visitor, factor);
    const fields = { remove: factor.id, sure: 'yes', returnTo: '/account' };
    const answer = await postForm(visitor, '/auth/enroll', fields);
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/enroll?returnTo=%2Faccount']);
    expect(verified()).toBe(0);
    expect((await visitor.get('/auth/enroll')).text).not.toContain('Remove');
  });

  it('without any goes back to another page of ours, and has other ways where a guard may have asked for one', async () => {
    await start();
    const visitor = await app.signedIn();
    const waysFrom = async (returnTo: string): Promise<string[]> => {
      const { text } = await visitor.get(`/auth/enroll?returnTo=${encodeURIComponent(returnTo)}`);
      const ways = text.matchAll(
        /<a href="([^"]*)">(Cancel|Back to home)<|<button class="link">(Use another account)</g,
      );
      return [...ways].map(([, href, label, button]) => button ?? `${label} → ${href}`);
    };
    expect(await waysFrom('/auth/account')).toEqual(['Cancel → /auth/account']);
    expect(await waysFrom('/account')).toEqual(['Cancel → /account', 'Back to home → /', 'Use another account']);
  });

  it('sees each with its name or kind, the day on which it was added, and a link to remove it', async () => {
    await start({ standIn: { phoneFactors: true } });
    const visitor = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    await stepUp(visitor, factor);
    const { text } = await visitor.get('/auth/enroll');
    const rows = [...text.matchAll(/<bdi>(.*?)<\/bdi>(.*?)<\/span><div class="ways">\n<a [^>]*>Remove/g)].map(
      ([, name, date]) => [name, date],
    );
    const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(app.clock.now());
    const date = ` <small>Added <time datetime="${new Date(app.clock.now()).toISOString().slice(0, 10)}">${day}</time></small>`;
    expect(rows).toEqual([
      ['Authenticator app', date],
      ['Phone ending in 123', date],
    ]);
  });

  it('cannot remove a factor of another user', async () => {
    await start();
    app.supabase.addUser({ email: 'bob@example.com' });
    const foreign = app.supabase.addFactor('bob@example.com');
    const visitor = await app.signedIn();
    const answer = await visitor.postJson('/auth/enroll', { remove: foreign.id });
    expect(answer.status).toBe(422);
    expect(app.supabase.factorsOf('bob@example.com')).toHaveLength(1);
    for (const remove of ['../user', `../${foreign.id}`, `${foreign.id}/..`]) {
      expect((await visitor.postJson('/auth/enroll', { remove })).status).toBe(400);
    }
  });
});
