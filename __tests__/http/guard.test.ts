import { format } from 'node:util';
import { b2bAuth } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { AuthError } from '../../lib/errors.ts';
import { adapterOf } from '../../lib/http/adapter.ts';
import type { Adapter } from '../../lib/http/adapter.ts';
import { challengeRedirect, challengeWith } from '../../lib/http/error-reply.ts';
import { guard } from '../../lib/http/guard/guard.ts';
import type { GuardRules } from '../../lib/http/guard/guard.ts';
import { passAdapter } from '../../lib/http/passed-adapters.ts';
import { isExplaining } from '../../lib/session/events.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Ask } from '../support/visitor.ts';

const closing = closeAfterEach();
const toSignIn: GuardRules = { challenge: (request) => challengeRedirect(request) };
const demanding = (demand: GuardRules['demand']): GuardRules => ({ ...toSignIn, demand });

interface Setup extends Partial<Omit<Adapter, 'explain'>> {
  readonly options?: B2bAuthOptions;
  readonly rules?: GuardRules;
  readonly prefix?: string;
}

/** A server that answers with when the guard let the request pass, and the debug lines so far. */
async function startGuard({ options, rules = toSignIn, prefix = '', ...change }: Setup = {}) {
  const kit = createB2bTestKit();
  const lines: string[] = [];
  const explain = Object.assign((...given: unknown[]) => void lines.push(format(...given)), { enabled: true });
  const definition: Adapter = { ...adapterOf(b2bAuth({ ...kit.options, ...options }))!, explain, ...change };
  const { origin } = await closing(
    serve((req, res) => {
      const request = passAdapter(definition, req, res, prefix);
      let when = 'at once';
      guard(request, rules, (error) => res.end(error === undefined ? `${when}, ${request.visit.is}` : 'an error'));
      when = 'later';
    }),
  );
  const visitor = createVisitor(origin);
  const ask = (given: Ask = {}): Promise<Answer> => visitor.ask('/page?secret=1', given);
  const signIn = async (): Promise<void> => {
    const [name = '', value = ''] = (await kit.cookie()).split('=');
    visitor.cookies.set(name, value);
  };
  return { ask, signIn, lines };
}

const shown = ({ status, text, headers }: Answer): unknown[] => [status, text, headers['cache-control']];

describe('a guard', () => {
  it('lets a session pass, and at once where it is in the cache; the page is private', async () => {
    const { ask, signIn } = await startGuard();
    await signIn();
    expect(shown(await ask())).toEqual([200, 'later, admitted', 'private, no-store']);
    // Where DEBUG was on in this process, each decision is explained.
    const when = isExplaining ? 'later' : 'at once';
    expect(shown(await ask())).toEqual([200, `${when}, admitted`, 'private, no-store']);
  });

  it('asks a session from the cache for what it demands, too', async () => {
    let isGood = true;
    const demand = async (): Promise<undefined> => {
      if (!isGood) throw new AuthError('forbidden');
    };
    const { ask, signIn } = await startGuard({ rules: demanding(demand) });
    await signIn();
    for (const status of [200, 403, 200, 403]) {
      isGood = status === 200;
      expect((await ask()).status).toBe(status);
    }
  });

  it('shows the account that accept refuses, instead of a redirect that would loop', async () => {
    const { ask, signIn } = await startGuard({ options: { accept: () => false } });
    expect((await ask()).status).toBe(307);
    await signIn();
    const page = await ask({ headers: { accept: 'text/html' } });
    expect([page.status, page.headers.location]).toEqual([403, undefined]);
    expect(page.text).toContain('user@example.com');
    const { json } = await ask({ headers: { accept: 'application/json' } });
    expect(json.error.code).toBe('not_accepted');
    expect(JSON.stringify(json)).not.toContain('user@example.com');
  });

  it.each(['//evil.example', '/\\evil.example'])(
    'below %s sends no one to sign in, and a session passes',
    async (prefix) => {
      const { ask, signIn } = await startGuard({ prefix });
      const answer = await ask({ headers: { accept: 'application/json' } });
      expect([answer.status, answer.json.error.code, answer.headers.location]).toEqual([
        400,
        'invalid_request',
        undefined,
      ]);
      await signIn();
      expect((await ask()).status).toBe(200);
    },
  );

  it.each([
    ['GET', 303, 307],
    ['HEAD', 303, 307],
    ['POST', 303, 303],
    ['POST', 307, 307],
    ['DELETE', 303, 303],
  ] as const)('redirects %s with the status for forms, which is %d, or else 307: %d', async (method, forms, status) => {
    const { ask } = await startGuard({ guardStatusForForms: forms });
    expect((await ask({ method })).status).toBe(status);
  });
});

describe('the debug log of a guard', () => {
  const json = { headers: { accept: 'application/json' } };

  it('tells whether the session was in the cache, and no query', async () => {
    // Without a demand, a session from the cache is worth a line only where DEBUG is on from the start.
    const { ask, signIn, lines } = await startGuard({ rules: demanding(async () => undefined) });
    await signIn();
    await ask();
    await ask();
    expect(lines).toEqual(['GET /page: let in', 'GET /page: let in, with a session from the cache']);
  });

  it('tells why a request counts as signed out, and where it is sent', async () => {
    const challenge: GuardRules['challenge'] = (request) =>
      challengeWith(request, new AuthError('unauthenticated'), request.signInUrl(request.wayBack));
    const { ask, lines } = await startGuard({ rules: { challenge } });
    await ask();
    await ask(json);
    const reason = 'GET /page: signed out, as the browser sent no cookie b2b-session';
    expect(lines).toEqual([`${reason}: 307 to /login`, `${reason}: 401`]);
  });

  it('tells that a session has less than the guard asks for', async () => {
    const demand: GuardRules['demand'] = async (request) =>
      challengeWith(request, new AuthError('forbidden'), '/more?returnTo=x');
    const { ask, signIn, lines } = await startGuard({ rules: demanding(demand) });
    await signIn();
    await ask();
    await ask(json);
    const reason = 'GET /page: the guard asks for more than the session has';
    expect(lines).toEqual([`${reason}: 307 to /more`, `${reason}: 403`]);
  });
});
