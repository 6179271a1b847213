import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errors, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import type { CryptoKey, JWK } from 'jose';
import { AuthError } from '../../lib/errors.ts';
import { readToken, verifyAccessToken } from '../../lib/session/jwt.ts';
import { createKeySet, joseCode } from '../../lib/session/keys.ts';
import type { KeySetOptions } from '../../lib/session/keys.ts';

interface SigningKey {
  readonly alg: string;
  readonly kid: string | undefined;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

async function createSigningKey(alg: 'ES256' | 'RS256', kid?: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const jwk = { ...(await exportJWK(publicKey)), alg, use: 'sig', ...(kid === undefined ? {} : { kid }) };
  return { alg, kid, privateKey, jwk };
}

function sign({ alg, privateKey }: SigningKey, kid: string | undefined, now?: number): Promise<string> {
  const header = kid === undefined ? { alg } : { alg, kid };
  const times = now === undefined ? {} : { iat: now / 1000, exp: now / 1000 + 300 };
  return new SignJWT({ sub: 'user_1', ...times }).setProtectedHeader(header).sign(privateKey);
}

const old = await createSigningKey('RS256', 'old');
const next = await createSigningKey('ES256', 'next');
const nameless = await createSigningKey('ES256');

let server: Server;
let fetches: number;
let answer: RequestListener;
let time: number;

const publish = (...keys: unknown[]) => {
  answer = (_req, res) => res.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
};
const reply = (status: number, body: string) => {
  answer = (_req, res) => res.writeHead(status).end(body);
};
/** A good key set of exactly so many bytes. */
const documentOf = (bytes: number): string => {
  const document = (padding: string) => JSON.stringify({ keys: [old.jwk], padding });
  return document('x'.repeat(bytes - document('').length));
};
const breakOff: RequestListener = (req) => req.socket.destroy();

beforeEach(async () => {
  fetches = 0;
  time = 1_700_000_000_000;
  publish(old.jwk);
  server = createServer((req, res) => {
    fetches += 1;
    answer(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function startKeySet(options: Partial<KeySetOptions> = {}) {
  const { port } = server.address() as AddressInfo;
  const keySet = createKeySet({ url: `http://127.0.0.1:${port}/jwks`, now: () => time, ...options });
  return {
    ...keySet,
    verify: async (token: string | Promise<string>) => (await jwtVerify(await token, keySet.getKey)).payload.sub,
  };
}

/** A background fetch has been heard by the server and dealt with by the key set. */
async function settle(expectedFetches: number): Promise<void> {
  while (fetches < expectedFetches) await new Promise((resolve) => setImmediate(resolve));
}

const unavailable = (retryAfter: number) => ({ name: 'AuthError', code: 'provider_unavailable', retryAfter });
const noMatchingKey = errors.JWKSNoMatchingKey;

describe('cached keys', () => {
  it('verify any number of tokens with one fetch, even the first ones in parallel', async () => {
    const keySet = startKeySet();
    const token = await sign(old, 'old');
    await Promise.all(Array.from({ length: 50 }, () => keySet.verify(token)));
    time += 9 * 60_000;
    await expect(keySet.verify(token)).resolves.toBe('user_1');
    expect(fetches).toBe(1);
  });

  it('are refetched in the background once they are stale, and the token does not wait for it', async () => {
    const keySet = startKeySet();
    const token = await sign(old, 'old');
    await keySet.verify(token);
    let finish: () => void = () => undefined;
    answer = (_req, res) => (finish = () => res.end(JSON.stringify({ keys: [next.jwk] })));
    time += 10 * 60_000;
    await Promise.all(Array.from({ length: 20 }, () => keySet.verify(token)));
    await settle(2);
    await keySet.verify(token);
    finish();
    await expect(keySet.verify(sign(next, 'next'))).resolves.toBe('user_1');
    expect(fetches).toBe(2);
  });

  it('are not refetched before they are ten minutes old', async () => {
    let asked = 0;
    const keySet = startKeySet({ fetch: (...request) => ((asked += 1), fetch(...request)) });
    const token = await sign(old, 'old');
    expect(keySet.fetchedAt()).toBeUndefined();
    await keySet.verify(token);
    expect(keySet.fetchedAt()).toBe(time);
    time += 10 * 60_000 - 1;
    await keySet.verify(token);
    expect(asked).toBe(1);
  });

  it('stop verifying when the issuer has withdrawn them', async () => {
    const keySet = startKeySet();
    await keySet.verify(sign(old, 'old'));
    publish(next.jwk);
    time += 30_000;
    await keySet.verify(sign(next, 'next'));
    await expect(keySet.verify(sign(old, 'old'))).rejects.toThrow(noMatchingKey);
  });

  it('are found again after the clock was set back', async () => {
    const keySet = startKeySet();
    await keySet.verify(sign(old, 'old'));
    publish(next.jwk);
    time -= 24 * 3_600_000;
    await expect(keySet.verify(sign(next, 'next'))).resolves.toBe('user_1');
  });
});

describe('an unknown kid', () => {
  it('is fetched for the next token after the cool-down', async () => {
    const keySet = startKeySet();
    await keySet.verify(sign(old, 'old'));
    publish(old.jwk, next.jwk);
    time += 29_999;
    await expect(keySet.verify(sign(next, 'next'))).rejects.toThrow(noMatchingKey);
    time += 1;
    await expect(keySet.verify(sign(next, 'next'))).resolves.toBe('user_1');
    await expect(keySet.verify(sign(old, 'old'))).resolves.toBe('user_1');
    expect(fetches).toBe(2);
  });

  it('causes one fetch per cool-down, however many tokens invent one', async () => {
    const keySet = startKeySet();
    const forged = await Promise.all(Array.from({ length: 500 }, (_, i) => sign(next, `made-up-${i}`)));
    const present = (tokens: string[]) => Promise.allSettled(tokens.map((token) => keySet.verify(token)));
    const outcomes = await present(forged);
    for (const token of forged) outcomes.push(...(await present([token])));
    expect(fetches).toBe(1);
    expect(outcomes).toHaveLength(1000);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: 'ERR_JWKS_NO_MATCHING_KEY' } });
    time += 30_000;
    await present(forged);
    await present(forged);
    expect(fetches).toBe(2);
    await expect(keySet.verify(sign(old, 'old'))).resolves.toBe('user_1');
  });

  it('differs from an invalid token only by the issuer’s answer: during its outage, neither is certain', async () => {
    const keySet = startKeySet();
    await keySet.verify(sign(old, 'old'));
    answer = breakOff;
    time += 30_000;
    await expect(keySet.verify(sign(next, 'next'))).rejects.toMatchObject(unavailable(5));
    time += 3_500;
    await Promise.all(
      Array.from({ length: 100 }, async (_, i) =>
        expect(keySet.verify(sign(next, `made-up-${i}`))).rejects.toMatchObject(unavailable(2)),
      ),
    );
    expect(fetches).toBe(2);
    publish(old.jwk, next.jwk);
    time += 1_500;
    await expect(keySet.verify(sign(next, 'next'))).resolves.toBe('user_1');
    expect(fetches).toBe(3);
  });

  it('does not delay tokens with a known one', async () => {
    const keySet = startKeySet();
    await keySet.verify(sign(old, 'old'));
    answer = () => undefined;
    time += 30_000;
    const controller = new AbortController();
    const waiting = keySet.verify(sign(next, 'next')).finally(() => controller.abort());
    await settle(2);
    await expect(keySet.verify(sign(old, 'old'))).resolves.toBe('user_1');
    expect(controller.signal.aborted).toBe(false);
    server.closeAllConnections();
    await expect(waiting).rejects.toBeInstanceOf(AuthError);
  });
});

describe('during an outage of the endpoint', () => {
  it('stale keys remain in use, and one fetch per back-off checks whether it has ended', async () => {
    const told: unknown[] = [];
    const keySet = startKeySet({ onUnavailable: (failure) => told.push(failure) });
    const token = await sign(old, 'old');
    await keySet.verify(token);
    answer = breakOff;
    time += 24 * 3_600_000;
    for (let i = 0; i < 50; i += 1) await expect(keySet.verify(token)).resolves.toBe('user_1');
    while (told.length < 1) await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 50; i += 1) await expect(keySet.verify(token)).resolves.toBe('user_1');
    expect(fetches).toBe(2);
    expect(told).toEqual([{ stale: true, cause: expect.objectContaining({ message: 'fetch failed' }) }]);

    publish(next.jwk);
    time += 5_000;
    await keySet.verify(token);
    await expect(keySet.verify(sign(next, 'next'))).resolves.toBe('user_1');
    expect(fetches).toBe(3);
  });

  it('a cold start is answered from memory during the back-off and recovers afterwards', async () => {
    const told: unknown[] = [];
    const keySet = startKeySet({ onUnavailable: (failure) => told.push(failure) });
    answer = breakOff;
    const token = await sign(old, 'old');
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => keySet.verify(token)));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: unavailable(5) });
    await expect(keySet.isEmpty()).rejects.toMatchObject(unavailable(5));
    expect(fetches).toBe(1);
    expect(told).toEqual([{ stale: false, cause: expect.objectContaining({ message: 'fetch failed' }) }]);

    publish(old.jwk);
    time += 5_000;
    await expect(keySet.verify(sign(old, 'old'))).resolves.toBe('user_1');
    time += 29_999;
    await expect(keySet.verify(sign(next, 'next'))).rejects.toThrow(noMatchingKey);
    expect(fetches).toBe(2);
  });

  it('a listener that throws does no harm', async () => {
    const keySet = startKeySet({
      onUnavailable: () => {
        throw new Error('listener');
      },
    });
    answer = breakOff;
    await expect(keySet.verify(sign(old, 'old'))).rejects.toMatchObject(unavailable(5));
  });

  it.each<[string, () => void]>([
    ['a 500', () => reply(500, JSON.stringify({ keys: [old.jwk] }))],
    ['a 404', () => reply(404, '{}')],
    ['a redirect', () => (answer = (_req, res) => res.writeHead(302, { location: '/elsewhere' }).end())],
    ['an HTML page', () => reply(200, '<!doctype html><title>Bad gateway</title>')],
    ['an empty body', () => reply(200, '')],
    ['half a document', () => reply(200, '{"keys":[')],
    ['null', () => reply(200, 'null')],
    ['a list', () => reply(200, '[]')],
    ['keys that are no list', () => reply(200, '{"keys":{}}')],
    ['a refused connection', () => (answer = breakOff)],
    ['more than 256 KB', () => reply(200, documentOf(256 * 1024 + 1))],
  ])('%s is an outage, never an invalid token', async (_name, breakEndpoint) => {
    const keySet = startKeySet();
    breakEndpoint();
    await expect(keySet.verify(sign(old, 'old'))).rejects.toMatchObject(unavailable(5));
    expect(fetches).toBe(1);
  });

  it.each<[string, string, () => void]>([
    ['a 500', 'The JWKS endpoint answered 500', () => reply(500, JSON.stringify({ keys: [old.jwk] }))],
    ['a list', 'The JWKS endpoint answered no key set', () => reply(200, '[]')],
    ['a text', 'The JWKS endpoint answered no key set', () => reply(200, '"keys"')],
    ['keys that are no list', 'The JWKS endpoint answered no key set', () => reply(200, '{"keys":"none"}')],
    ['too much', 'The answer is larger than 262144 bytes', () => reply(200, documentOf(256 * 1024 + 1))],
    ['nothing', 'The JWKS endpoint did not answer within 50 ms', () => (answer = () => undefined)],
  ])('%s is reported as its own problem: %s', async (_name, message, breakEndpoint) => {
    const told: unknown[] = [];
    const keySet = startKeySet({ timeoutMs: 50, onUnavailable: ({ cause }) => told.push(cause) });
    breakEndpoint();
    await expect(keySet.verify(sign(old, 'old'))).rejects.toMatchObject(unavailable(5));
    expect(told).toEqual([expect.objectContaining({ message })]);
  });

  it.each<[string, RequestListener]>([
    ['no answer', () => undefined],
    ['a body that never ends', (_req, res) => void res.write('{"keys":[')],
  ])('%s ends at the timeout', async (_name, hang) => {
    const keySet = startKeySet({ timeoutMs: 50 });
    answer = hang;
    await expect(keySet.verify(sign(old, 'old'))).rejects.toMatchObject(unavailable(5));
  });

  it('a fetch that timed out is aborted', async () => {
    const keySet = startKeySet({ timeoutMs: 50 });
    const closed = new Promise((resolve) => {
      answer = (_req, res) => res.on('close', resolve).write('{');
    });
    await expect(keySet.verify(sign(old, 'old'))).rejects.toMatchObject(unavailable(5));
    await closed;
  });

  it('a fetch that ignores its signal ends at the timeout', async () => {
    const keySet = startKeySet({ timeoutMs: 50, fetch: () => new Promise(() => undefined) });
    await expect(keySet.verify(sign(old, 'old'))).rejects.toMatchObject(unavailable(5));
  });
});

describe('an answer without keys, after one with keys', () => {
  it('is an outage: known keys serve, and no other one is invalid', async () => {
    const told: unknown[] = [];
    const keySet = startKeySet({ onUnavailable: (failure) => told.push(failure) });
    await keySet.verify(sign(old, 'old'));
    publish();
    for (const minutes of [1, 9, 9.9]) {
      time += minutes * 60_000;
      await expect(keySet.verify(sign(next, 'next'))).rejects.toMatchObject(unavailable(5));
      await expect(keySet.verify(sign(old, 'old'))).resolves.toBe('user_1');
      await expect(keySet.isEmpty()).resolves.toBe(false);
    }
    const cause: unknown = expect.objectContaining({ message: 'The JWKS endpoint answered no key' });
    expect(told).toEqual(Array.from({ length: 3 }, () => ({ stale: true, cause })));
    publish(old.jwk, next.jwk);
    time += 5_000;
    await expect(keySet.verify(sign(next, 'next'))).resolves.toBe('user_1');
  });

  it('counts when the known keys are twenty minutes old: the issuer has withdrawn them', async () => {
    const keySet = startKeySet();
    await keySet.verify(sign(old, 'old'));
    publish();
    time += 20 * 60_000;
    await expect(keySet.verify(sign(next, 'next'))).rejects.toThrow(noMatchingKey);
    await expect(keySet.verify(sign(old, 'old'))).rejects.toThrow(noMatchingKey);
    await expect(keySet.isEmpty()).resolves.toBe(true);
  });
});

describe('a token without kid', () => {
  it('is verified by the one key that matches its algorithm', async () => {
    publish(old.jwk, nameless.jwk);
    await expect(startKeySet().verify(sign(nameless, undefined))).resolves.toBe('user_1');
  });

  it('is ambiguous if several match, and the error offers them all without another fetch', async () => {
    publish(next.jwk, nameless.jwk);
    const token = await sign(nameless, undefined);
    const keySet = startKeySet();
    await keySet.isEmpty();
    time += 60_000;
    const ambiguity: unknown = await keySet.verify(token).catch((error: unknown) => error);
    expect(fetches).toBe(1);
    expect(ambiguity).toBeInstanceOf(errors.JWKSMultipleMatchingKeys);
    const verified: boolean[] = [];
    for await (const key of ambiguity as errors.JWKSMultipleMatchingKeys) {
      verified.push(
        await jwtVerify(token, key).then(
          () => true,
          () => false,
        ),
      );
    }
    expect(verified).toEqual([false, true]);
  });
});

describe('what the issuer publishes', () => {
  it('is requested as JSON', async () => {
    let accept: string | undefined;
    answer = (req, res) => {
      accept = req.headers.accept;
      res.end(JSON.stringify({ keys: [old.jwk] }));
    };
    await startKeySet().verify(sign(old, 'old'));
    expect(accept).toBe('application/json');
  });

  it('may have 256 KB at most', async () => {
    reply(200, documentOf(256 * 1024));
    await expect(startKeySet().verify(sign(old, 'old'))).resolves.toBe('user_1');
  });

  it('is empty if no member can verify a signature', async () => {
    publish({}, { kid: 'no type' }, { kty: 'AKP', alg: 'ML-DSA-44', pub: 'AAAA', priv: 'AAAA' });
    await expect(startKeySet().isEmpty()).resolves.toBe(true);
  });

  it('may be nothing, and the caller can tell', async () => {
    publish();
    const told: unknown[] = [];
    const keySet = startKeySet({ onUnavailable: (failure) => told.push(failure) });
    await expect(keySet.isEmpty()).resolves.toBe(true);
    await expect(keySet.verify(sign(old, 'old'))).rejects.toThrow(noMatchingKey);
    expect(fetches).toBe(1);
    time += 30_000;
    await expect(keySet.verify(sign(old, 'old'))).rejects.toThrow(noMatchingKey);
    expect([fetches, told]).toEqual([2, []]);
    publish(old.jwk);
    time += 30_000;
    await expect(keySet.verify(sign(old, 'old'))).resolves.toBe('user_1');
    await expect(keySet.isEmpty()).resolves.toBe(false);
  });

  it('never includes a shared secret, which would let anyone sign', async () => {
    const secret = new TextEncoder().encode('0123456789abcdef0123456789abcdef');
    const oct = { kty: 'oct', kid: 'shared', alg: 'HS256', k: Buffer.from(secret).toString('base64url') };
    publish(oct, { ...oct, alg: undefined }, { ...old.jwk, kid: 'odd', alg: 'HS256' });
    const keySet = startKeySet();
    await expect(keySet.isEmpty()).resolves.toBe(true);
    const forged = new SignJWT({ sub: 'user_1' }).setProtectedHeader({ alg: 'HS256', kid: 'shared' }).sign(secret);
    await expect(keySet.verify(forged)).rejects.toThrow(errors.JOSENotSupported);
  });

  it('is cleaned of private keys and of unknown members', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const leaked = { ...(await exportJWK(privateKey)), kid: 'leaked', alg: 'ES256' };
    publish(leaked, null, 'key', [], {}, { kty: 7 }, { kty: 'XYZ', kid: 'future' }, old.jwk);
    const keySet = startKeySet();
    await expect(keySet.verify(sign(old, 'old'))).resolves.toBe('user_1');
    const token = new SignJWT({}).setProtectedHeader({ alg: 'ES256', kid: 'leaked' }).sign(privateKey);
    await expect(keySet.verify(token)).rejects.toThrow(noMatchingKey);
  });

  describe.each([
    ['is not on its curve', { y: next.jwk.x }],
    ['is too short', { x: 'AAAA' }],
    ['has no second coordinate', { y: undefined }],
  ])('and %s', (_what, members) => {
    const broken = { ...next.jwk, ...members };

    it('is no key, and others still verify', async () => {
      publish(broken, old.jwk);
      const keySet = startKeySet();
      await expect(keySet.verify(sign(next, 'next'))).rejects.toThrow(noMatchingKey);
      await expect(keySet.verify(sign(old, 'old'))).resolves.toBe('user_1');
      await expect(keySet.isEmpty()).resolves.toBe(false);
    });

    it('hides no good key of the same name', async () => {
      publish(broken, next.jwk);
      const keySet = startKeySet();
      const verdict = await verifyAccessToken(readToken(await sign(next, 'next', time)), keySet, () => time);
      expect(verdict.kind).toBe('valid');
    });

    it('causes one fetch per cool-down, and is used once the issuer has mended it', async () => {
      publish(broken);
      const keySet = startKeySet();
      const token = await sign(next, 'next');
      for (let i = 0; i < 5; i += 1) await expect(keySet.verify(token)).rejects.toThrow(noMatchingKey);
      expect(fetches).toBe(1);
      publish(next.jwk);
      time += 30_000;
      await expect(keySet.verify(token)).resolves.toBe('user_1');
      expect(fetches).toBe(2);
    });

    it('is no key after an outage either, which is still an outage', async () => {
      publish(broken);
      const keySet = startKeySet();
      const token = await sign(next, 'next');
      await expect(keySet.verify(token)).rejects.toThrow(noMatchingKey);
      answer = breakOff;
      time += 30_000;
      await expect(keySet.verify(token)).rejects.toMatchObject({ code: 'provider_unavailable' });
    });
  });
});

describe('a token that has just come from the issuer', () => {
  it('has its key looked for after a second, while others wait for the cool-down', async () => {
    const keySet = startKeySet();
    await keySet.verify(sign(old, 'old'));
    publish(old.jwk, next.jwk);
    const token = await sign(next, 'next');
    const byIssued = () => jwtVerify(token, keySet.ofIssued.getKey);
    await expect(byIssued()).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
    time += 999;
    await expect(byIssued()).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
    time += 1;
    await expect(keySet.verify(token)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
    expect(fetches).toBe(1);
    expect((await byIssued()).payload.sub).toBe('user_1');
    expect(fetches).toBe(2);
  });

  it('shares the fetch for it with the others', async () => {
    const keySet = startKeySet();
    await keySet.verify(sign(old, 'old'));
    let finish: () => void = () => undefined;
    answer = (_req, res) => (finish = () => res.end(JSON.stringify({ keys: [old.jwk, next.jwk] })));
    time += 1_000;
    const token = await sign(next, 'next');
    const issued = jwtVerify(token, keySet.ofIssued.getKey);
    await settle(2);
    const other = keySet.verify(token);
    // Both wait for the answer.
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    expect((await issued).payload.sub).toBe('user_1');
    await expect(other).resolves.toBe('user_1');
    expect(fetches).toBe(2);
  });
});

describe('the code of an error', () => {
  const withCode = (code: unknown): Error => Object.assign(new Error('x'), { code });
  const known: readonly (readonly [Error, string])[] = [
    [new errors.JWTExpired('late', {}), 'ERR_JWT_EXPIRED'],
    [new errors.JWKSNoMatchingKey(), 'ERR_JWKS_NO_MATCHING_KEY'],
    [new errors.JWKSMultipleMatchingKeys(), 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'],
    [new errors.JOSENotSupported('x'), 'ERR_JOSE_NOT_SUPPORTED'],
    [new errors.JWSSignatureVerificationFailed(), 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'],
  ];

  it.each(known)('is jose’s own for %s', (error, code) => {
    expect(joseCode(error)).toBe(code);
  });

  it.each([
    [new Error('x')],
    [withCode('ERR_INVALID_ARG_TYPE')],
    [withCode('xERR_JWT_EXPIRED')],
    [withCode(['ERR_JWT_EXPIRED'])],
    [{ code: 'ERR_JWT_EXPIRED' }],
    ['ERR_JWT_EXPIRED'],
    [null],
    [undefined],
  ])('is none for %p', (error) => {
    expect(joseCode(error)).toBe(undefined);
  });
});
