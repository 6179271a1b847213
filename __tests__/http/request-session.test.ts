import { format } from 'node:util';
import type { CookieWrite } from '../../lib/tools/cookies.ts';
import { AuthError } from '../../lib/errors.ts';
import { NotAccepted } from '../../lib/http/accept.ts';
import type { AuthRequest } from '../../lib/http/request.ts';
import type { Resolution } from '../../lib/session/source.ts';
import { ask } from '../support/auth-request.ts';
import { bareSession as session } from '../support/bare-request.ts';
import type { AdapterChange } from '../support/bare-request.ts';
import { until } from '../support/until.ts';

describe('the session of a request', () => {
  const cookie: CookieWrite = { name: 'b2b-session', value: 'new' };

  it('is resolved once, and its cookies are sent with the response', async () => {
    let resolutions = 0;
    const resolve = () => {
      resolutions += 1;
      return Promise.resolve({ session, cookies: [cookie] });
    };
    const { said, headers } = await ask(
      { resolver: { cachedSession: () => undefined, resolve } },
      '',
      async (exchange) => [await exchange.resolveSession(), await exchange.resolveSession()],
    );
    expect(said).toEqual([session, session]);
    expect(resolutions).toBe(1);
    expect(headers.getSetCookie()).toEqual(['b2b-session=new; Path=/; HttpOnly; SameSite=Lax']);
  });

  it('that is cached is not resolved', async () => {
    const resolver = {
      cachedSession: () => session,
      resolve: () => Promise.reject(new Error('must not be asked')),
    };
    const { said, headers } = await ask({ resolver }, '', (exchange) => exchange.resolveSession());
    expect(said).toEqual(session);
    expect(headers.has('cache-control')).toBe(false);
  });

  it('has Secure cookies if appBaseUrl is https, whatever the protocol of the request', async () => {
    const resolver = {
      cachedSession: () => undefined,
      resolve: () => Promise.resolve({ session, cookies: [cookie] }),
    };
    const linesWith = async (appBaseUrl: string) =>
      (await ask({ resolver, appBaseUrl }, '', (exchange) => exchange.resolveSession())).headers.getSetCookie();
    expect(await linesWith('https://app.example')).toEqual([expect.stringContaining('; Secure')]);
    expect(await linesWith('http://app.example')).toEqual([expect.not.stringContaining('Secure')]);
  });

  it('renewed ahead of time leaves the cookie of a sign-in that has replaced it in this request', async () => {
    const later = Promise.withResolvers<Resolution | undefined>();
    const resolver = {
      resolve: () => Promise.resolve({ session, cookies: [], later: later.promise }),
    };
    const { headers } = await ask({ resolver }, '', async (request) => {
      await request.resolveSession();
      request.writeCookies([{ name: 'session', value: 'new' }]);
      later.resolve({ session, cookies: [{ name: 'session', value: 'renewed' }], isCurrent: () => false });
      await later.promise;
    });
    expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^session=new;/)]);
  });

  it('renewed ahead of time is sent with the response if it is ready before the head', async () => {
    const later = Promise.resolve({ session, cookies: [cookie] });
    const resolver = {
      cachedSession: () => undefined,
      resolve: () => Promise.resolve({ session, cookies: [], later }),
    };
    const { headers } = await ask({ resolver }, '', async (exchange) => {
      await exchange.resolveSession();
      await later;
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(headers.getSetCookie()).toHaveLength(1);
  });

  it('renewed ahead of time is no lost cookie if the head was sent first, or if it failed', async () => {
    const events: unknown[] = [];
    for (const outcome of [{ session, cookies: [cookie] }, undefined]) {
      const later = Promise.withResolvers<Resolution | undefined>();
      const resolver = {
        cachedSession: () => undefined,
        resolve: () => Promise.resolve({ session, cookies: [], later: later.promise }),
      };
      const { headers } = await ask({ resolver, emit: (event) => events.push(event) }, '', async (exchange) => {
        await exchange.resolveSession();
        exchange.res.flushHeaders();
        later.resolve(outcome);
        await new Promise((resolve) => setImmediate(resolve));
      });
      expect(headers.has('set-cookie')).toBe(false);
    }
    expect(events).toEqual([]);
  });

  it('whose cookies were lost is reported', async () => {
    const events: unknown[] = [];
    const resolver = {
      cachedSession: () => undefined,
      resolve: () => Promise.resolve({ session, cookies: [cookie] }),
    };
    await ask({ resolver, emit: (event) => events.push(event) }, '', (exchange) => {
      exchange.res.flushHeaders();
      return exchange.resolveSession();
    });
    expect(events).toEqual([{ type: 'cookie_lost', names: ['b2b-session'] }]);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])(
    'learns that its cookies were delivered if they were sent, and does not send outdated ones: %p',
    async (isCurrent, times) => {
      let delivered = 0;
      const outcome = { session, cookies: [cookie], onDelivered: () => (delivered += 1), isCurrent: () => isCurrent };
      const resolver = { cachedSession: () => undefined, resolve: () => Promise.resolve(outcome) };
      let isFinished = false;
      const { headers } = await ask({ resolver }, '', (exchange) => {
        exchange.res.once('finish', () => void setImmediate(() => (isFinished = true)));
        return exchange.resolveSession();
      });
      expect(headers.has('set-cookie')).toBe(isCurrent);
      await until(() => isFinished);
      expect(delivered).toBe(times);
    },
  );
});

it('keeps the session of a bearer token that a guard accepted while the cookie’s was being resolved', async () => {
  const cookies = Promise.withResolvers<Resolution>();
  const resolver = { cachedSession: () => undefined, resolve: () => cookies.promise };
  const { said } = await ask({ resolver }, '', async (request) => {
    const early = request.resolveSession();
    request.admit({ ...session, credential: 'bearer' });
    cookies.resolve({ session, cookies: [] });
    await early;
    return [request.cachedSession()?.credential, (await request.resolveSession())?.credential];
  });
  expect(said).toEqual(['bearer', 'bearer']);
});

describe('a cached session', () => {
  /** An adapter whose cache has the session, and whose `accept` answers so. */
  const cachedWith = (isAccepted: boolean, admits = isAccepted) => {
    const asked: string[] = [];
    const ask = () => Promise.resolve(admits);
    const change: AdapterChange = {
      acceptance: { isAccepted: () => isAccepted, admits: ask, ask },
      resolver: {
        cachedSession: () => session,
        resolve: () => {
          asked.push('provider');
          return Promise.resolve({ session, cookies: [] });
        },
      },
    };
    return { change, asked };
  };

  it('is known at once, without waiting', async () => {
    const { said } = await ask({ resolver: { cachedSession: () => session } }, '', (request) => [
      request.cachedSession(),
      request.cachedSession(),
    ]);
    expect(said).toEqual([session, session]);
  });

  it('that `accept` has let in before is known at once', async () => {
    const { said } = await ask(cachedWith(true).change, '', (request) => request.cachedSession());
    expect(said).toBe(session);
  });

  it('about which `accept` has not answered yet is none before it does, and is not verified again', async () => {
    const { change, asked } = cachedWith(false, true);
    const { said, headers } = await ask(change, '', async (request) => [
      request.cachedSession(),
      await request.resolveSession(),
      request.cachedSession(),
      request.visit.is,
    ]);
    expect(said).toEqual([undefined, session, session, 'resolved']);
    expect([asked, headers.getSetCookie()]).toEqual([[], []]);
  });

  it('that `accept` refuses is none, and is remembered as refused', async () => {
    const { change, asked } = cachedWith(false);
    const { said } = await ask(change, '', async (request) => [
      await request.resolveSession(),
      request.cachedSession(),
      request.visit,
    ]);
    expect(said).toEqual([null, undefined, { is: 'refused', session }]);
    expect(asked).toEqual([]);
  });
});

it('asks once, also where the provider does not answer', async () => {
  let asked = 0;
  const resolve = () => {
    asked += 1;
    return Promise.reject(new AuthError('provider_unavailable'));
  };
  const { said } = await ask({ resolver: { resolve } }, '', async (request) => {
    const answers = [request.resolveSession(), request.resolveSession()];
    await Promise.allSettled(answers);
    answers.push(request.resolveSession());
    return (await Promise.allSettled(answers)).map(({ status }) => status);
  });
  expect([said, asked]).toEqual([['rejected', 'rejected', 'rejected'], 1]);
});

it('knows the session without waiting once it is resolved, also that there is none', async () => {
  const known = async (found: Resolution['session']) => {
    const resolver = { resolve: () => Promise.resolve({ session: found, cookies: [] }) };
    const answer = await ask({ resolver }, '', async (request) => {
      await request.resolveSession();
      return request.cachedSession();
    });
    return answer.said;
  };
  expect([await known(session), await known(null)]).toEqual([session, undefined]);
});

describe('tokens of a new sign-in', () => {
  const refusalBy = async (admits?: boolean) => {
    const answer = () => Promise.resolve(admits === true);
    const acceptance = admits === undefined ? undefined : { isAccepted: () => false, admits: answer, ask: answer };
    const { said } = await ask({ acceptance }, '', (request) =>
      request.refuseUnaccepted(session).catch((error: unknown) => error),
    );
    return said;
  };

  it('are refused where `accept` refuses their session, with the account’s name for the page', async () => {
    expect(await refusalBy(false)).toBeInstanceOf(NotAccepted);
    expect(await refusalBy(false)).toMatchObject({
      code: 'not_accepted',
      status: 403,
      account: 'ada@example.com',
      isStored: false,
    });
  });

  it('pass where `accept` lets their session in, or is not set', async () => {
    expect([await refusalBy(true), await refusalBy()]).toEqual([undefined, undefined]);
  });
});

describe('new cookies of the session', () => {
  const cookie: CookieWrite = { name: 'session', value: 'renewed' };

  /** What the response carries, and whether the session learns that it was delivered. */
  async function deliver(resolution: Partial<Resolution>, then: (request: AuthRequest) => void) {
    let delivered = 0;
    let isFinished = false;
    const outcome = { session, cookies: [cookie], onDelivered: () => (delivered += 1), ...resolution };
    const { headers } = await ask({ resolver: { resolve: () => Promise.resolve(outcome) } }, '', async (request) => {
      request.res.once('finish', () => void setImmediate(() => (isFinished = true)));
      await request.resolveSession();
      then(request);
    });
    await until(() => isFinished);
    return { isSent: headers.has('set-cookie'), delivered };
  }

  it('are sent where nothing says that they are outdated', async () => {
    expect(await deliver({}, () => undefined)).toEqual({ isSent: true, delivered: 1 });
  });

  it('are dropped where a sign-out has made them outdated before the head is sent', async () => {
    let isCurrent = true;
    const outdate = (): void => void (isCurrent = false);
    expect(await deliver({ isCurrent: () => isCurrent }, outdate)).toEqual({ isSent: false, delivered: 0 });
  });

  it('wait for the next request where a guard has accepted a bearer token meanwhile', async () => {
    const accept = (request: AuthRequest): void => void (request.isBearer = true);
    expect(await deliver({}, accept)).toEqual({ isSent: false, delivered: 0 });
    expect(await deliver({ isCurrent: () => true }, accept)).toEqual({ isSent: false, delivered: 0 });
  });
});

describe('a renewal ahead of time', () => {
  /** What the log says after the renewal came to an end before the head was sent. */
  async function explainedWith(renew: () => Promise<Resolution | undefined>) {
    const lines: string[] = [];
    const change: AdapterChange = {
      explain: (text, ...values) => void lines.push(format(text, ...values)),
      resolver: { resolve: () => Promise.resolve({ session, cookies: [], later: renew() }) },
    };
    const { said, headers } = await ask(change, '', async (request) => {
      const found = await request.resolveSession();
      await new Promise((resolve) => setImmediate(resolve));
      return found;
    });
    return { lines, isSignedIn: said === session, isCookieSent: headers.has('set-cookie') };
  }
  const unchanged = { isSignedIn: true, isCookieSent: false };

  it('that fails leaves the request its session, and is explained', async () => {
    const lines = ['refresh ahead of time failed: Error: no connection'];
    expect(await explainedWith(() => Promise.reject(new Error('no connection')))).toEqual({ ...unchanged, lines });
  });

  it('that brings nothing new is no failure', async () => {
    expect(await explainedWith(() => Promise.resolve(undefined))).toEqual({ ...unchanged, lines: [] });
  });
});
