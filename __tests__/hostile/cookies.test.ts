import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { SignJWT, exportJWK } from 'jose';
import type { JWK, JWTPayload } from 'jose';
import { createSeal } from '../../lib/b2b/seal.ts';
import { readToken } from '../../lib/session/jwt.ts';
import { demoUsers } from '../support/b2b-app.ts';
import { ada, encodeSession } from '../support/backend-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import type { Answer } from '../support/visitor.ts';

/** One adapter's side of the app: the page that shows its session, and the name of its cookie. */
interface Side {
  readonly adapter: 'b2b' | 'backend';
  readonly name: string;
  readonly page: string;
  readonly userId: () => string;
  /** A good session's cookie value, unchunked. */
  readonly issue: (claims?: Record<string, unknown>) => Promise<string>;
}

let app: BothApp;
let adaId: string;
let eveId: string;
beforeAll(async () => {
  app = await startBothApp();
  adaId = (await app.supabase.issueSession(ada.email)).user.id;
  eveId = app.supabase.addUser({ email: 'eve@example.com', password: 'correct horse battery' }).id;
});
afterAll(() => app.close());

const seal = (value: unknown): Promise<string> => createSeal([String(app.b2bOptions.cookiePassword)]).seal(value);
const b2b: Side = {
  adapter: 'b2b',
  name: 'b2b-session',
  page: '/guard/b2b',
  userId: () => demoUsers.personal.id,
  async issue(claims) {
    const content = await app.workos.issueSession({
      user: demoUsers.personal,
      ...(claims === undefined ? {} : { claims }),
    });
    return seal(content);
  },
};
const backend: Side = {
  adapter: 'backend',
  name: 'sb-127-auth-token',
  page: '/guard/backend',
  userId: () => adaId,
  issue: async (claims) =>
    encodeSession(await app.supabase.issueSession(ada.email, claims === undefined ? {} : { claims })),
};
const sides = [
  ['the B2B adapter', b2b],
  ['the backend adapter', backend],
] as const;

const ask = (side: Side, cookie: string): Promise<Answer> =>
  app.visitor().get(side.page, { headers: { cookie, accept: 'application/json' } });

function expectSignedIn(side: Side, answer: Answer): void {
  expect([answer.status, answer.json.user?.id]).toEqual([200, side.userId()]);
}

/** Signed out, and the cookies stay: they may be another application's. */
function expectSignedOut(answer: Answer): void {
  expect([answer.status, answer.json.error?.code]).toEqual([401, 'unauthenticated']);
  expect(answer.setCookies).toEqual([]);
}

describe('an altered seal', () => {
  const swaps = ['', '*', '0', '-1', '99999', '__proto__', 'constructor', '%00', 'A'.repeat(5000)];

  it('signs no one in, stays, and hides no valid session behind it', async () => {
    const [good, other] = [await b2b.issue(), await b2b.issue()];
    const [sealed = '', suffix = ''] = good.split('~');
    const fields = sealed.split('*');
    expect(fields).toHaveLength(8);
    const changed = fields.flatMap((field, i) => {
      const withField = (text: string): string => fields.map((each, n) => (n === i ? text : each)).join('*');
      const flipped = [0, field.length >> 1, field.length - 1].map((at) => {
        // Not 'B': at the end of base64 the low bits of a character are ignored, and the bytes would be the same.
        const flippedChar = field[at] === 'A' ? 'w' : 'A';
        return withField(field.slice(0, at) + flippedChar + field.slice(at + 1));
      });
      const without = fields.filter((_each, n) => n !== i).join('*');
      const twice = fields.flatMap((each, n) => (n === i ? [each, each] : [each])).join('*');
      const others = [other.split('~')[0]?.split('*')[i] ?? ''];
      return [...swaps, ...others].map(withField).concat(flipped, without, twice);
    });
    for (const mutated of new Set(changed)) {
      if (mutated === sealed) continue;
      const cookie = `b2b-session=${encodeURIComponent(`${mutated}~${suffix}`)}`;
      expectSignedOut(await ask(b2b, cookie));
      expectSignedIn(b2b, await ask(b2b, `${cookie}; b2b-session=${good}`));
    }
  });

  it.each(['', '~', '~0', '~1', '~3', '~2~2', '~__proto__', '~2*'])(
    'with a changed version (%j) is either the same session or none',
    async (suffix) => {
      const good = await b2b.issue();
      const answer = await ask(b2b, `b2b-session=${good.replace(/~2$/, suffix)}`);
      if (answer.status === 200) expectSignedIn(b2b, answer);
      else expectSignedOut(answer);
    },
  );

  it('signs no one in if it was sealed with another application’s password', async () => {
    const content = await app.workos.issueSession({ user: demoUsers.personal });
    const foreign = await createSeal(['x'.repeat(32)]).seal(content);
    expectSignedOut(await ask(b2b, `b2b-session=${foreign}`));
  });

  it.each([
    ['another user beside the token', { user: { id: 'user_eve', email: 'eve@example.com' } }],
    ['a token that is none', { accessToken: 'a.b.c' }],
  ])('is no session with %s inside, although it was sealed with the right password', async (_title, changes) => {
    const content = await app.workos.issueSession({ user: demoUsers.personal });
    const sealed = await seal({ ...content, ...changes });
    expectSignedOut(await ask(b2b, `b2b-session=${sealed}`));
  });

  it.each([
    ['no refresh token', { refreshToken: '' }],
    ['the purpose of a flow', { accessToken: undefined, purpose: 'sign-in-flow' }],
  ])('is no session with %s inside', async (_title, changes) => {
    const content = await app.workos.issueSession({ user: demoUsers.personal });
    const sealed = await seal({ ...content, ...changes });
    expectSignedOut(await ask(b2b, `b2b-session=${sealed}`));
  });
});

describe('a cookie in another’s place', () => {
  it('is no session if it is a flow’s, of either adapter', async () => {
    const visitor = app.visitor();
    await visitor.get('/login');
    await visitor.get('/auth/login?provider=github');
    expect([...visitor.cookies.keys()].map((name) => name.replace('__Host-', '').split('-flow-')[0])).toContain(
      backend.name,
    );
    expect(visitor.cookies.size).toBeGreaterThan(2);
    for (const value of visitor.cookies.values()) {
      expectSignedOut(await ask(b2b, `${b2b.name}=${value}`));
      expectSignedOut(await ask(backend, `${backend.name}=${value}`));
    }
  });

  it('is no flow if it is a session’s, of either adapter', async () => {
    const visitor = app.visitor();
    const starts = [await visitor.get('/login'), await visitor.get('/auth/login?provider=github')];
    const callbacks = [
      await app.workos.authorize(starts[0]?.location ?? '', { user: demoUsers.personal }),
      await app.supabase.authorize(starts[1]?.location ?? '', { approve: true }),
    ];
    for (const session of [await b2b.issue(), await backend.issue()]) {
      const cookie = [...visitor.cookies.keys()].map((name) => `${name}=${session}`).join('; ');
      for (const callback of callbacks) {
        const answer = await app.visitor().get(callback.toString(), { headers: { cookie } });
        // 200 is the page that asks to sign in, as for a mail's link that was opened in another browser.
        expect([200, 400]).toContain(answer.status);
        expect(answer.setCookies.filter((line) => !line.includes('; Max-Age=0;'))).toEqual([]);
      }
    }
  });

  it('is no session if it is the other adapter’s', async () => {
    expectSignedOut(await ask(b2b, `b2b-session=${await backend.issue()}`));
    expectSignedOut(await ask(backend, `${backend.name}=${await b2b.issue()}`));
  });

  it('is no session if only its token is the other adapter’s', async () => {
    const [workos, supabase] = [
      await app.workos.issueSession({ user: demoUsers.personal }),
      await app.supabase.issueSession(ada.email),
    ];
    // After the cool-down, during which an unknown key may have been published since.
    app.clock.advance(31_000);
    const encoded = encodeSession({ ...supabase, access_token: workos.accessToken });
    expectSignedOut(await ask(backend, `${backend.name}=${encoded}`));
    // Only this application can have sealed it, so WorkOS is asked, and answers for its own refresh token.
    const sealed = await seal({ ...workos, accessToken: supabase.access_token });
    const answer = await ask(b2b, `b2b-session=${sealed}`);
    expectSignedIn(b2b, answer);
    expect(app.workos.requests.at(-1)?.grantType).toBe('refresh_token');
  });

  it('does not touch the other adapter’s session', async () => {
    const cookie = `b2b-session=rubbish; ${backend.name}=${await backend.issue()}`;
    const answer = await app.visitor().get('/guard/backend', { headers: { cookie, accept: 'application/json' } });
    expectSignedIn(backend, answer);
    expectSignedOut(await ask(b2b, cookie));
  });
});

describe.each(sides)('duplicates, chunks and strays, for %s', (_title, side) => {
  const inChunks = (value: string, size = 1000): string[] =>
    Array.from({ length: Math.ceil(value.length / size) }, (_, i) => value.slice(i * size, (i + 1) * size));
  const chunkCookies = (chunks: readonly string[]): string[] => chunks.map((chunk, i) => `${side.name}.${i}=${chunk}`);

  it('find the good session behind bad ones of its name', async () => {
    const good = await side.issue();
    for (const bad of ['', 'x', 'base64-bnVsbA', 'Fe26.2*1*a*b*c*d*e*f~2', '%', '"']) {
      expectSignedIn(side, await ask(side, `${side.name}=${bad}; ${side.name}=${good}`));
      expectSignedIn(side, await ask(side, `${side.name}=${good}; ${side.name}=${bad}`));
      expectSignedIn(side, await ask(side, `${side.name}=${bad}; ${side.name}=${bad}1; ${side.name}=${good}`));
    }
  });

  it('find the good session in chunks, beside a bad one of the plain name and strays', async () => {
    const chunks = chunkCookies(inChunks(await side.issue()));
    const last = chunks.length;
    for (const strays of [
      [],
      [`${side.name}=bad`],
      [`${side.name}.${last}=leftover`],
      [`${side.name}.${last + 1}=stray`],
      [`${side.name}.99=stray`, `${side.name}.00=stray`, `${side.name}.01=x`, `${side.name}.-1=x`, `${side.name}.=x`],
      [`${side.name}.0=tossed`],
    ]) {
      expectSignedIn(side, await ask(side, [...strays, ...chunks].join('; ')));
      expectSignedIn(side, await ask(side, [...chunks, ...strays].join('; ')));
    }
  });

  it('end at a missing chunk', async () => {
    const chunks = chunkCookies(inChunks(await side.issue()));
    for (let hole = 0; hole < chunks.length; hole += 1) {
      const rest = chunks.filter((_chunk, i) => i !== hole);
      expectSignedOut(await ask(side, rest.join('; ')));
    }
  });

  it('read and write sessions of many kilobytes', async () => {
    const good = await side.issue({ extra: 'x'.repeat(6000) });
    expect(good.length).toBeGreaterThan(8000);
    expectSignedIn(side, await ask(side, chunkCookies(inChunks(good, 3500)).join('; ')));
  });

  it('never cause more than the loss of the session, whatever fills 16 KB of headers', async () => {
    const good = await side.issue();
    const rubbish = fc.oneof(
      fc.constantFrom('', 'x', '%', 'Fe26.2*1*a*b*c*d*e*f~2', 'base64-e30').map((value) => [side.name, value] as const),
      fc
        .tuple(fc.nat({ max: 12 }), fc.constantFrom('', 'y', '%'))
        .map(([i, value]) => [`${side.name}.${i}`, value] as const),
      fc.constantFrom('other', `${side.name}x`, '__proto__', `${side.name}.x`).map((name) => [name, 'z'] as const),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(rubbish, { maxLength: 60 }),
        fc.nat(),
        fc.integer({ min: 0, max: 11_000 }),
        async (cookies, place, size) => {
          const filled = [...cookies, [side.name, 'f'.repeat(size)] as const];
          const at = place % (filled.length + 1);
          const all = [...filled.slice(0, at), [side.name, good] as const, ...filled.slice(at)];
          const answer = await ask(side, all.map(([name, value]) => `${name}=${value}`).join('; '));
          if (answer.status === 200) {
            expectSignedIn(side, answer);
            return;
          }
          expectSignedOut(answer);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('hide no good session among ten others, whatever its position', async () => {
    const good = await side.issue();
    for (let at = 0; at <= 10; at += 1) {
      const values = Array.from({ length: 10 }, (_, i) => `bad${i}`);
      values.splice(at, 0, good);
      expectSignedIn(side, await ask(side, values.map((value) => `${side.name}=${value}`).join('; ')));
    }
  });
});

describe('what a visitor writes into the unsealed cookie of the backend adapter', () => {
  const forged = (changes: Record<string, unknown>, session: object): string =>
    `${backend.name}=${encodeSession({ ...session, ...changes })}`;

  it('cannot change the user', async () => {
    const session = await app.supabase.issueSession(ada.email);
    const user = {
      ...session.user,
      id: eveId,
      email: 'eve@example.com',
      role: 'service_role',
      app_metadata: { admin: 1 },
    };
    const answer = await ask(backend, forged({ user }, session));
    expectSignedIn(backend, answer);
    expect(answer.json.user).toMatchObject({ email: ada.email, role: 'authenticated' });
    expect(answer.text).not.toContain('eve');
    expect(answer.text).not.toContain('service_role');
  });

  it('yields the user of the access token, then the user of the refresh token, never a mixture', async () => {
    const [mine, hers] = [
      await app.supabase.issueSession(ada.email),
      await app.supabase.issueSession('eve@example.com'),
    ];
    const mixed = { access_token: mine.access_token, refresh_token: hers.refresh_token, user: hers.user };
    expect((await ask(backend, forged(mixed, mine))).json.user.id).toBe(adaId);
    const old = await app.supabase.issueSession(ada.email, { ttl: -60 });
    const renewed = await ask(backend, forged({ access_token: old.access_token }, hers));
    expect(renewed.json.user).toMatchObject({ id: eveId, email: 'eve@example.com' });
  });

  const claimsOf = async (changes: Readonly<Record<string, unknown>> = {}): Promise<JWTPayload> => {
    const { access_token: token } = await app.supabase.issueSession(ada.email);
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JWTPayload;
    return { ...claims, ...changes };
  };
  const publishedKey = async (): Promise<JWK> => {
    const answer = await fetch(`${app.supabase.url}/auth/v1/.well-known/jwks.json`);
    const { keys } = (await answer.json()) as { keys: JWK[] };
    return keys[0] ?? {};
  };
  const ownKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  const forgeries: readonly (readonly [string, () => Promise<string>])[] = [
    ['that is not signed', async () => app.supabase.signToken(await claimsOf({ sub: eveId }), { alg: 'none' })],
    [
      'whose signature was cut off',
      async () => (await app.supabase.signToken(await claimsOf())).replace(/\.[^.]*$/, '.'),
    ],
    [
      'whose claims were changed after signing',
      async () => {
        const [head, , signature] = (await app.supabase.signToken(await claimsOf())).split('.');
        const claims = Buffer.from(JSON.stringify(await claimsOf({ sub: eveId }))).toString('base64url');
        return [head, claims, signature].join('.');
      },
    ],
    [
      'signed with the public key as a shared secret (RFC 8725 §2.1)',
      async () => {
        const pem = createPublicKey({ key: await publishedKey(), format: 'jwk' }).export({
          type: 'spki',
          format: 'pem',
        });
        return app.supabase.signToken(await claimsOf({ sub: eveId }), { alg: 'HS256', key: Buffer.from(pem) });
      },
    ],
    [
      'signed with the published API key as a shared secret',
      async () =>
        app.supabase.signToken(await claimsOf(), { alg: 'HS256', key: Buffer.from(app.supabase.publishableKey) }),
    ],
    [
      'signed with a key of its own, which its header brings along',
      async () =>
        new SignJWT(await claimsOf({ sub: eveId }))
          .setProtectedHeader({ alg: 'ES256', jwk: await exportJWK(ownKey.publicKey), jku: 'http://evil.test/jwks' })
          .sign(ownKey.privateKey),
    ],
    [
      'signed with a key of its own, under the project’s key id',
      async () =>
        new SignJWT(await claimsOf({ sub: eveId }))
          .setProtectedHeader({ alg: 'ES256', kid: (await publishedKey()).kid ?? '' })
          .sign(ownKey.privateKey),
    ],
    ['of the service role', async () => app.supabase.signToken(await claimsOf({ role: 'service_role' }))],
    ['of the anonymous key', async () => app.supabase.signToken(await claimsOf({ role: 'anon' }))],
    ['without a role', async () => app.supabase.signToken(await claimsOf({ role: undefined }))],
    ['of another issuer', async () => app.supabase.signToken(await claimsOf({ iss: 'https://evil.test/auth/v1' }))],
    ['for another audience', async () => app.supabase.signToken(await claimsOf({ aud: 'admin' }))],
    ['for no audience', async () => app.supabase.signToken(await claimsOf({ aud: undefined }))],
    ['without a user', async () => app.supabase.signToken(await claimsOf({ sub: '' }))],
    ['of tomorrow', async () => app.supabase.signToken(await claimsOf({ nbf: app.clock.now() / 1000 + 3600 }))],
    ['that never expires', async () => app.supabase.signToken(await claimsOf({ exp: undefined }))],
  ];

  it.each(forgeries)('is signed out with a token %s', async (_title, forge) => {
    const session = await app.supabase.issueSession(ada.email);
    const token = await forge();
    const answer = await ask(backend, forged({ access_token: token, refresh_token: 'made-up' }, session));
    // A project that has left shared secrets is asked by the refresh token: its refusal is definitive.
    if (readToken(token).header['alg'] === 'HS256')
      expect(answer.setCookies).toEqual([expect.stringMatching(/=; Max-Age=0; /)]);
    else expectSignedOut(answer);
    expect(answer.status).toBe(401);
  });
});
