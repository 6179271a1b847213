import { jest } from '@jest/globals';
import { format } from 'node:util';
import { render } from '../../lib/tools/html.ts';
import { AuthError } from '../../lib/errors.ts';
import type { AuthErrorCode } from '../../lib/errors.ts';
import { NotAccepted } from '../../lib/http/accept.ts';
import type { Adapter } from '../../lib/http/adapter.ts';
import {
  errorBody,
  errorReply,
  explainDecision,
  jsonErrorReply,
  refusalReason,
  refuse,
  signedOutReason,
} from '../../lib/http/error-reply.ts';
import type * as errorReplies from '../../lib/http/error-reply.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { bareRequest, bareSession } from '../support/bare-request.ts';
import { withNodeEnv } from '../support/node-env.ts';

const markupOf = ({ body }: Reply): string => (body?.kind === 'page' ? render(body.markup) : '');

describe('an error in JSON', () => {
  it('has the messages of a form’s fields where there are some', () => {
    const fields = { email: 'Enter an email address.' };
    const error = new AuthError('invalid_request', { message: 'Check the form.', fields });
    expect(errorBody(error)).toStrictEqual({
      error: { status: 400, code: 'invalid_request', message: 'Check the form.', fields },
    });
  });

  it('says what is known of an outage, as the page does', () => {
    const messageFor = (reason: string): string =>
      errorBody(new AuthError('provider_unavailable', { reason, retryAfter: 30 })).error.message;
    expect(messageFor('rate_limited')).toBe('Sign-in is busy right now. Please try again in a moment.');
    expect(messageFor('provider_refused')).toBe(new AuthError('provider_refused').message);
    expect(messageFor('server_error')).toBe(new AuthError('provider_unavailable').message);
  });

  it('has neither fields nor a redirect where there are none', () => {
    const { message } = new AuthError('forbidden');
    expect(errorBody(new AuthError('forbidden'))).toStrictEqual({ error: { status: 403, code: 'forbidden', message } });
  });

  it('names the sign-in page with a 401, and only with that', () => {
    const request = bareRequest({}, { url: '/page?tab=1' });
    const valueOf = ({ body }: Reply): unknown => (body?.kind === 'json' ? body.value : undefined);
    expect(valueOf(jsonErrorReply(request, new AuthError('unauthenticated')))).toHaveProperty(
      'redirectTo',
      '/login?returnTo=%2Fpage%3Ftab%3D1',
    );
    expect(valueOf(jsonErrorReply(request, new AuthError('forbidden')))).not.toHaveProperty('redirectTo');
  });
});

describe('an error page', () => {
  it('names the account that `accept` refused, not the one of the session that stays', () => {
    const request = bareRequest({ resolver: { cachedSession: () => bareSession } });
    const markup = markupOf(
      errorReply(request, new NotAccepted({ ...bareSession, user: { id: 'user_2', email: 'grace@example.com' } })),
    );
    expect(markup).toContain('Signed in as <strong dir="auto">grace@example.com</strong>');
    expect(markup).toContain('<a class="button" href="/login?prompt=login">Use another account</a>');
    expect(markup).not.toContain('ada@example.com');
  });

  it('names the account of a refused sign-in, and calls no one signed in', () => {
    const refused = new NotAccepted({ ...bareSession, user: { id: 'user_2', email: 'grace@example.com' } }, false);
    const markup = markupOf(errorReply(bareRequest({ resolver: { cachedSession: () => bareSession } }), refused));
    expect(markup).toContain('<br><strong dir="auto">grace@example.com</strong>');
    expect(markup).not.toContain('Signed in as');
  });

  it.each([
    ['GET', '/page?tab=1', true],
    ['GET', '/page?error=server_error', false],
    ['POST', '/page', false],
  ])('of an outage offers to reload after a %s of %s: %p', (method, url, isOffered) => {
    const reply = errorReply(bareRequest({}, { method, url }), new AuthError('provider_unavailable'));
    expect(markupOf(reply).includes('<a class="button" href="">Try again</a>')).toBe(isOffered);
  });
});

describe('onError', () => {
  it('passes on one error, however often it calls next, and also where it throws after that', async () => {
    const error = new AuthError('forbidden');
    const passed: unknown[] = [];
    const onError: Adapter['onError'] = (_error, _req, _res, next) => {
      next(error);
      next(new Error('second'));
      throw new Error('third');
    };
    refuse(bareRequest({ onError }), error, (failure) => void passed.push(failure));
    await new Promise((resolve) => setImmediate(resolve));
    expect(passed).toEqual([error]);
  });
});

describe('the debug log', () => {
  const logTo = (lines: string[], enabled: boolean): Adapter['explain'] =>
    Object.assign((...given: unknown[]) => void lines.push(format(...given)), { enabled });

  it('has a line for a decision, without the query', () => {
    const lines: string[] = [];
    explainDecision(bareRequest({ explain: logTo(lines, true) }, { url: '/page?secret=1' }), () => 'let in');
    expect(lines).toEqual(['GET /page: let in']);
  });

  it('formats nothing if nothing is printed', () => {
    const lines: string[] = [];
    explainDecision(bareRequest({ explain: logTo(lines, false) }), () => {
      throw new Error('called');
    });
    expect(lines).toEqual([]);
  });

  it.each([
    ['session=x', 'the cookie session holds no live session'],
    ['session.0=x', 'the cookie session holds no live session'],
    ['session.1=x; other=y', 'the cookie session holds no live session'],
    ['', 'the browser sent no cookie session'],
    ['other=y', 'the browser sent no cookie session'],
    ['sessions=x; my-session.=y; session-nonce=z', 'the browser sent no cookie session'],
  ])('says of the cookies %j: %s', (cookie, reason) => {
    expect(signedOutReason(bareRequest({}, { headers: { cookie } }))).toBe(reason);
  });

  it.each<[unknown, string]>([
    [null, ''],
    ['a text', ''],
    [{ status: 422, code: 500 }, ' (the provider answered 422)'],
    [{ code: 'a b' }, ''],
    [{ code: 'weak_password' }, ' (its code is weak_password)'],
  ])('repeats of the cause %j what is fit for a log', (cause, facts) => {
    const reason = refusalReason(bareRequest(), new AuthError('forbidden', { cause }));
    expect(reason).toBe(`refused with 403 forbidden${facts}`);
  });

  it('repeats an origin of less than 300 characters', () => {
    const originOf = (length: number): string => `https://${'x'.repeat(length - 16)}.example`;
    const isRepeated = (origin: string): boolean =>
      refusalReason(bareRequest({}, { headers: { origin } }), new AuthError('cross_site_request')).includes(origin);
    expect([originOf(299), originOf(300)].map((origin) => [origin.length, isRepeated(origin)])).toEqual([
      [299, true],
      [300, false],
    ]);
  });
});

describe('a warning of another site', () => {
  let copies = 0;

  /** What a process is warned of: each has a copy of the module, because what was warned of before counts. */
  async function warningsOf(
    origins: readonly (string | undefined)[],
    { code = 'cross_site_request', peer = '127.0.0.1' }: { readonly code?: AuthErrorCode; readonly peer?: string } = {},
  ): Promise<unknown[][]> {
    copies += 1;
    const copy = (await import(`../../lib/http/error-reply.ts?copy=${copies}`)) as typeof errorReplies;
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    for (const origin of origins) {
      const request = bareRequest({ onError: () => undefined }, { headers: origin === undefined ? {} : { origin } });
      Object.defineProperty(request.req.socket, 'remoteAddress', { value: peer });
      copy.refuse(request, new AuthError(code), () => undefined);
    }
    const { calls } = emitWarning.mock;
    emitWarning.mockRestore();
    return calls;
  }

  const sites = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `http://localhost:${5000 + index}`);
  const warningOf = (origin: string): unknown[] => [
    `b2bAuth refused a request from another site with 403: it came from ${origin}; if that is your own site, add it to trustedOrigins`,
    { code: 'EXPRESS_AUTH_ADAPTERS_ORIGIN' },
  ];

  it.each(['development', undefined])('comes once per origin, and says what to do, where NODE_ENV is %p', (mode) =>
    withNodeEnv(mode, async () => {
      const origins = ['http://localhost:5173', 'http://localhost:5173', 'http://localhost:5174'];
      expect(await warningsOf(origins)).toEqual([warningOf(origins[0]!), warningOf(origins[2]!)]);
    }),
  );

  it('comes of twenty origins at most', () =>
    withNodeEnv('development', async () => {
      expect(await warningsOf(sites(30))).toEqual(sites(20).map(warningOf));
    }));

  it('comes of a site on this machine or in a private network, as a phone opens it', () =>
    withNodeEnv('development', async () => {
      const near = ['http://app.localhost:3', 'http://[::1]:3', 'http://192.168.1.5:5173', 'http://[fd00::1]:3'];
      expect(await warningsOf(near)).toEqual(near.map(warningOf));
    }));

  it('is not used up by the sites of strangers, or by peers from the public internet', () =>
    withNodeEnv('development', async () => {
      const far = [
        'https://evil.example',
        'http://localhost.evil.example',
        'http://203.0.113.7',
        'http://[2001:db8::1]',
      ];
      expect(await warningsOf([...far, ...sites(1)])).toEqual(sites(1).map(warningOf));
      expect(await warningsOf(sites(30), { peer: '203.0.113.7' })).toEqual([]);
    }));

  it('does not come without an origin that browsers write', () =>
    withNodeEnv('development', async () => {
      expect(await warningsOf([undefined, 'null', 'https://x.example/path', 'x'])).toEqual([]);
    }));

  it('does not come with another refusal', () =>
    withNodeEnv('development', async () => {
      expect(await warningsOf(sites(1), { code: 'forbidden' })).toEqual([]);
    }));

  it.each(['production', 'test', ''])('does not come where NODE_ENV is %j', (mode) =>
    withNodeEnv(mode, async () => {
      expect(await warningsOf(sites(1))).toEqual([]);
    }),
  );
});
