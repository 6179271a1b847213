import { WorkOS } from '@workos-inc/node';
import { startB2bApp } from '../support/b2b-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { serve } from '../support/servers.ts';
import { createProvider } from '../../lib/b2b/workos.ts';
import { classifyFailure } from '../../lib/b2b/provider-errors.ts';
import { readB2bOptions } from '../../lib/b2b/options.ts';
import type { B2bAuthOptions } from '../../lib/b2b/options.ts';

const credentials = { clientId: 'client_01', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) };

it.each<readonly [B2bAuthOptions, object]>([
  [{}, {}],
  [{ apiUrl: 'https://auth.example.com' }, { apiHostname: 'auth.example.com' }],
  [{ apiUrl: 'http://127.0.0.1:8080' }, { apiHostname: '127.0.0.1', port: 8080, https: false }],
  [{ apiUrl: 'http://[::1]:8080' }, { apiHostname: '[::1]', port: 8080, https: false }],
])('finds the keys at the URL that the SDK uses, with %j', (given, ofSdk) => {
  const options = readB2bOptions({ ...credentials, ...given }, {});
  const sdk = new WorkOS({ ...credentials, ...ofSdk });
  expect(createProvider(options).jwksUrl).toBe(sdk.userManagement.getJwksUrl(credentials.clientId));
});

it('stops reading an endless answer', async () => {
  let sent = 0;
  const endless = (): Promise<Response> =>
    Promise.resolve(
      new Response(
        new ReadableStream<Uint8Array>({
          pull(controller) {
            sent += 65_536;
            controller.enqueue(new Uint8Array(65_536));
            // Long enough to be noticed, but finite, so that a failing test ends.
            if (sent > 20_000_000) controller.close();
          },
        }),
      ),
    );
  const provider = createProvider(readB2bOptions({ ...credentials, fetch: endless }, {}));
  await expect(provider.exchangeCode('code', 'verifier', {})).rejects.toThrow();
  expect(sent).toBeLessThan(2_000_000);
});

it('calls at the same time each have the signal and the Retry-After of their own', async () => {
  const asked = [0, 1].map(() => Promise.withResolvers<AbortSignal | undefined>());
  const answers = [0, 1].map(() => Promise.withResolvers<Response>());
  let calls = 0;
  const fetch: typeof globalThis.fetch = (_input, init) => {
    const call = calls;
    calls += 1;
    asked[call]!.resolve(init?.signal ?? undefined);
    return answers[call]!.promise;
  };
  const provider = createProvider(readB2bOptions({ ...credentials, fetch }, {}));
  const [first, second] = [new AbortController(), new AbortController()];
  // Two kinds of refresh: a pause of one kind holds up no call of the other.
  const started = [provider.refresh, provider.createRefresh()].map((refresh, index) =>
    refresh({ refreshToken: 'token' }, {}, [first, second][index]!.signal).catch((error: unknown) => error),
  );
  const signals = await Promise.all(asked.map(({ promise }) => promise));
  first.abort();
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, false]);
  const down = (seconds: string, body: string | ReadableStream) =>
    new Response(body, { status: 503, headers: { 'content-type': 'application/json', 'retry-after': seconds } });
  // The first answer's body ends after the whole of the second answer.
  const body = new TransformStream<Uint8Array, Uint8Array>();
  answers[0]!.resolve(down('30', body.readable));
  answers[1]!.resolve(down('7', '{}'));
  await started[1];
  const writer = body.writable.getWriter();
  await writer.write(new TextEncoder().encode('{}'));
  await writer.close();
  expect(await Promise.all(started)).toMatchObject([{ retryAfter: 30 }, { retryAfter: 7 }]);
});

it.each([301, 302, 303, 307, 308])('sends no secret where an answer with %i redirects it', async (status) => {
  const sent: string[] = [];
  const other = await serve((req, res) => {
    sent.push(req.url ?? '');
    res.setHeader('content-type', 'application/json').end('{}');
  });
  const api = await serve((_req, res) => {
    res.writeHead(status, { location: `${other.origin}/elsewhere` }).end();
  });
  try {
    const options = readB2bOptions({ ...credentials, apiUrl: api.origin }, {});
    const failure = await createProvider(options)
      .exchangeCode('code', 'verifier', {})
      .catch((error: unknown) => error);
    expect(sent).toEqual([]);
    expect(classifyFailure(failure)).toMatchObject({ kind: 'unavailable' });
  } finally {
    await Promise.all([api.close(), other.close()]);
  }
});

describe('a refresh', () => {
  const closed = closeAfterEach();

  it('sends the client’s address and user agent to WorkOS, as a sign-in does', async () => {
    const app = await closed(startB2bApp());
    const visitor = await app.signedIn();
    app.clock.advance(400_000);
    app.workos.clearRequests();
    await visitor.get('/api/me', { headers: { 'user-agent': 'Browser/1.0' } });
    const [refresh] = app.workos.requests.filter(({ grantType }) => grantType === 'refresh_token');
    expect(refresh?.body).toMatchObject({ ip_address: '127.0.0.1', user_agent: 'Browser/1.0' });
  });
});
