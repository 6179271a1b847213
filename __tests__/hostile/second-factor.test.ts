import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Visitor } from '../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start(setup: BackendAppSetup = {}) {
  app = await startBackendApp(setup);
}

async function firstFactor(): Promise<Visitor> {
  const visitor = app.visitor();
  await visitor.postJson('/auth/login', ada);
  return visitor;
}

const wrong = (right: string): string => (right === '000000' ? '111111' : '000000');

describe('guessing codes', () => {
  it('stops after five, from any browsers and networks, and then the right code is refused, too', async () => {
    let network = 0;
    await start({ options: { clientAddress: () => `192.0.2.${(network += 1) % 250}` } });
    const factor = app.supabase.addFactor(ada.email);
    const right = app.supabase.codeOf(factor);
    for (let count = 0; count < 5; count += 1) {
      const visitor = await firstFactor();
      expect((await visitor.postJson('/auth/verify', { code: wrong(right) })).status).toBe(422);
    }
    const asked = app.supabase.calls('verify-factor');
    const visitor = await firstFactor();
    const refused = await visitor.postJson('/auth/verify', { code: right });
    expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(14 * 60);
    expect(app.supabase.calls('verify-factor')).toBe(asked);
    const page = await postForm(visitor, '/auth/verify', { code: right });
    expect([page.status, page.text.includes('minutes')]).toEqual([429, true]);
  });

  it('lets no sixth code through when fifty come in parallel', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const right = app.supabase.codeOf(factor);
    const visitor = await firstFactor();
    const codes = Array.from({ length: 51 }, (_none, index) => String(100_000 + index)).filter(
      (code) => code !== right,
    );
    const tries = codes.slice(0, 50).map((code) => visitor.postJson('/auth/verify', { code }));
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 422)).toHaveLength(5);
    expect(app.supabase.calls('verify-factor')).toBe(5);
  });

  it('is limited when an app is added, too', async () => {
    await start();
    const visitor = await app.signedIn();
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    const code = wrong(app.supabase.codeOf({ secret }));
    for (let count = 0; count < 5; count += 1) await visitor.postJson('/auth/enroll', { factorId, code });
    expect((await visitor.postJson('/auth/enroll', { factorId, code })).status).toBe(429);
  });

  it('is limited per factor, however its id is spelled', async () => {
    await start();
    const visitor = await app.signedIn();
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    const code = wrong(app.supabase.codeOf({ secret }));
    const statuses: number[] = [];
    for (const spelling of [factorId, factorId.toUpperCase()]) {
      for (let count = 0; count < 3; count += 1) {
        statuses.push((await visitor.postJson('/auth/enroll', { factorId: spelling, code })).status);
      }
    }
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429]);
    const enrolled = app.supabase.addFactor(ada.email);
    const given = { factorId: enrolled.id.toUpperCase(), code: app.supabase.codeOf(enrolled) };
    expect((await visitor.postJson('/auth/verify', given)).status).toBe(200);
  });

  it('does not count malformed codes, and never sends them to the backend', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    for (const code of [
      '12345',
      '1234567',
      'abcdef',
      '12\u00003456',
      '１２３４５',
      '１２３４５６７',
      '9'.repeat(10_000),
      '1e5',
      '-12345',
    ]) {
      expect((await visitor.postJson('/auth/verify', { code })).status).toBe(422);
    }
    expect(app.supabase.calls('challenge')).toBe(0);
    expect((await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) })).status).toBe(200);
  });
});

describe('another site', () => {
  it('can neither enter a code, nor add or remove a factor', async () => {
    await start();
    const visitor = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    for (const [path, fields] of [
      ['/auth/verify', { code: app.supabase.codeOf(factor) }],
      ['/auth/verify', { send: factor.id }],
      ['/auth/enroll', {}],
      ['/auth/enroll', { remove: factor.id }],
      ['/auth/enroll', { type: 'webauthn', credential: '' }],
      ['/auth/verify', { challenge: factor.id }],
    ] as const) {
      expect((await postForm(visitor, path, fields, headers)).status).toBe(403);
    }
    expect(app.supabase.calls('enroll') + app.supabase.calls('challenge') + app.supabase.calls('unenroll')).toBe(0);
  });

  it('sends nothing and adds nothing by a link', async () => {
    await start({ standIn: { phoneFactors: true } });
    const phone = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    const visitor = await firstFactor();
    await visitor.get(`/auth/verify?send=${phone.id}&code=123456`);
    await visitor.ask('/auth/enroll', { method: 'HEAD' });
    await visitor.get('/auth/enroll?factorId=x&code=123456&remove=x');
    expect([app.supabase.texts, app.supabase.calls('enroll'), app.supabase.calls('challenge')]).toEqual([[], 0, 0]);
  });
});

describe('made-up requests', () => {
  it('never cause a 500, whatever they contain', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    const junk = ['\u0000', '<svg onload=1>', '../../user', '%', '{}', 'x'.repeat(9_000), '__proto__'];
    for (const value of junk) {
      for (const name of ['code', 'factorId', 'send', 'returnTo', 'remove', 'uri', 'then']) {
        const page = await postForm(visitor, '/auth/verify', { [name]: value });
        expect([name, page.status < 500, page.text.includes('<svg onload')]).toEqual([name, true, false]);
      }
      const query = new URLSearchParams({ factorId: value, then: value, returnTo: value }).toString();
      expect((await visitor.get(`/auth/verify?${query}`)).status).toBeLessThan(500);
    }
  });

  it('redirect to this site only', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    const page = await visitor.get('/auth/verify?returnTo=https://evil.example/');
    expect(page.text).not.toContain('evil');
    const code = app.supabase.codeOf(factor);
    const answer = await postForm(visitor, '/auth/verify', { code, returnTo: '//evil.example' });
    expect(answer.headers.location).toBe('/');
  });

  it('unlock nothing with an invented cookie', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    const name = [...visitor.cookies.keys()].find((each) => each.endsWith('-pending'))!;
    const value = JSON.parse(Buffer.from(visitor.cookies.get(name)!, 'base64url').toString());
    // With another need, the tokens are what they were: a sign-in by password is no recovery link.
    const forged = { ...value, needs: ['password'] };
    visitor.cookies.set(name, Buffer.from(JSON.stringify(forged)).toString('base64url'));
    const answer = await visitor.postJson('/auth/password', { password: 'a whole new password' });
    expect([answer.json.error.code, app.supabase.calls('update-user')]).toEqual(['link_expired', 0]);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    for (const each of ['x', '', 'e30', Buffer.from('{"needs":["factor"]}').toString('base64url')]) {
      visitor.cookies.set(name, each);
      expect((await visitor.postJson('/auth/verify', { code: '123456' })).status).toBe(401);
    }
  });

  it('accept no factor of another user', async () => {
    await start();
    app.supabase.addUser({ email: 'eve@example.com', password: 'eavesdropping' });
    const foreign = app.supabase.addFactor('eve@example.com');
    app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    const code = app.supabase.codeOf(foreign);
    const answer = await visitor.postJson('/auth/verify', { factorId: foreign.id, code });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'code_wrong']);
    expect(app.supabase.calls('verify-factor')).toBe(0);
  });
});

describe('secrets', () => {
  it('are not in events or URLs', async () => {
    await start();
    const visitor = await app.signedIn();
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    const code = app.supabase.codeOf({ secret });
    await visitor.postJson('/auth/enroll', { factorId, code: wrong(code) });
    const done = await postForm(visitor, '/auth/enroll', { factorId, code });
    const told = JSON.stringify(app.events) + String(done.headers.location);
    for (const each of [secret, code, wrong(code)]) expect(told).not.toContain(each);
  });
});
