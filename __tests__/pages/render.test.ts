import { jest } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BuiltInPage, RenderPage } from '../../lib/every-entry.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { everyPageState } from '../support/built-in-pages.ts';
import { describeAtRoot, itOnExpress } from '../support/only.ts';

let app: BackendApp | undefined;
let b2b: B2bApp | undefined;
const start = async (render: unknown, setup: BackendAppSetup = {}): Promise<BackendApp> =>
  (app = await startBackendApp({
    ...setup,
    options: { ...setup.options, pages: { ...setup.options?.pages, render: render as RenderPage } },
  }));
afterEach(async () => {
  jest.restoreAllMocks();
  await app?.close();
  await b2b?.close();
  app = b2b = undefined;
});

/** Answers every page with its own data. */
const asJson = (_req: unknown, res: Parameters<RenderPage>[1], page: BuiltInPage): boolean => {
  res.setHeader('X-Page', page.kind);
  res.end(JSON.stringify(page));
  return true;
};
const wrong = { email: ada.email, password: 'wrong-password', returnTo: '/account' };
/** How the built-in pages begin. */
const builtIn = '<!doctype html>';

describeAtRoot('pages.render', () => {
  it('answers in the POST itself, with the status, the typed address and the message', async () => {
    const started = await start(asJson);
    const shown = await started.visitor().get('/auth/login?returnTo=/account');
    expect([shown.status, shown.json.kind, shown.json.action]).toEqual([200, 'sign_in', '/auth/login']);
    const failed = await postForm(started.visitor(), '/auth/login', wrong);
    expect(failed.status).toBe(401);
    expect(failed.json).toMatchObject({
      kind: 'sign_in',
      title: expect.any(String),
      error: { code: 'invalid_credentials', message: expect.any(String) },
      values: { email: ada.email, returnTo: '/account' },
      fields: [{ name: 'email' }, { name: 'password' }],
      action: '/auth/login',
      links: { forgot: '/auth/forgot?returnTo=%2Faccount', signUp: '/auth/signup?returnTo=%2Faccount' },
    });
    expect(failed.text).not.toContain(wrong.password);
  });

  it('puts a message at the field that it concerns', async () => {
    const started = await start(asJson);
    const failed = await postForm(started.visitor(), '/auth/signup', { email: 'unknown', password: 'x' });
    expect(failed.json.fields).toEqual([
      { name: 'email', label: 'Email', autocomplete: 'email', error: expect.any(String) },
      {
        name: 'password',
        label: 'Password',
        autocomplete: 'new-password',
        hint: 'At least 8 characters',
      },
    ]);
  });

  it('keeps the safe headers of a page, and leaves its Content-Security-Policy to the application', async () => {
    const started = await start(asJson);
    const { headers } = await started.visitor().get('/auth/login');
    expect(headers['content-security-policy'] ?? '').not.toContain("default-src 'none'");
    expect(headers).toMatchObject({
      'cache-control': 'private, no-store',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
    });
  });

  it.each([false, undefined, null, 1, Promise.resolve(false)])(
    'means the built-in page with %p, as long as nothing was sent',
    async (outcome) => {
      const started = await start(() => outcome);
      const page = await started.visitor().get('/auth/login');
      expect([page.status, page.text.slice(0, builtIn.length)]).toEqual([200, builtIn]);
      expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    },
  );

  it('sends nothing more where the application has answered and returns nothing', async () => {
    const started = await start((_req: unknown, res: Parameters<RenderPage>[1]) => void res.end('own'));
    expect((await started.visitor().get('/auth/login')).text).toBe('own');
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no template'))],
    [
      'throws at once',
      () => {
        throw new Error('no template');
      },
    ],
  ])('where it %s leaves the error to the application, with a status of its own', async (_, render) => {
    const started = await start(render);
    const failed = await postForm(started.visitor(), '/auth/login', wrong);
    expect([failed.status, failed.json.thrown]).toEqual([500, 'Error: no template']);
    const refused = await started.visitor().get('/auth/callback?error=access_denied');
    expect([refused.status, refused.json.thrown]).toEqual([500, 'Error: no template']);
  });

  it('that rejects with a falsy value is still an error', async () => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what an application may do
    const started = await start(() => Promise.reject(undefined));
    expect((await started.visitor().get('/auth/login')).status).toBe(500);
  });

  it('is waited for, because a late answer would be an error that ends the process', async () => {
    const started = await start(
      async (_req: unknown, res: Parameters<RenderPage>[1]) => {
        for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        res.end('own');
        return true;
      },
      { options: { timeoutMs: 100 } },
    );
    // Every deadline is over at once.
    jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      const controller = new AbortController();
      setImmediate(() => controller.abort());
      return controller.signal;
    });
    expect((await started.visitor().get('/auth/login')).text).toBe('own');
  });

  itOnExpress('may hand the page to a template engine', async () => {
    const render: RenderPage = (_req, res, page) => {
      res.render('auth', page);
      return true;
    };
    const folder = mkdtempSync(join(tmpdir(), 'views-'));
    writeFileSync(join(folder, 'auth.own'), '');
    const started = await start(render, {
      before({ express }) {
        express.engine('own', (_file, page, done) => done(null, `own: ${(page as BuiltInPage).title}`));
        express.set('views', folder).set('view engine', 'own');
      },
    });
    const failed = await postForm(started.visitor(), '/auth/login', wrong);
    expect([failed.status, failed.text]).toEqual([401, 'own: Sign in']);
    rmSync(folder, { recursive: true });
  });

  it('may stream', async () => {
    const started = await start((_req: unknown, res: Parameters<RenderPage>[1]) => {
      res.write('one ');
      setImmediate(() => res.end('two'));
      return true;
    });
    expect((await started.visitor().get('/auth/login')).text).toBe('one two');
  });

  it('is asked for a HEAD, and not for JSON, a redirect or a stylesheet', async () => {
    const kinds: string[] = [];
    const started = await start((...[req, res, page]: Parameters<RenderPage>) => {
      kinds.push(`${req.method} ${page.kind}`);
      return asJson(req, res, page);
    });
    const head = await started.visitor().ask('/auth/login', { method: 'HEAD' });
    expect([head.status, head.text, head.headers['x-page']]).toEqual([200, '', 'sign_in']);
    expect((await started.visitor().postJson('/auth/login', wrong)).json.error.code).toBe('invalid_credentials');
    await started.visitor().get('/account');
    expect((await started.visitor().get('/auth/pages.css')).headers['content-type']).toContain('text/css');
    expect(kinds).toEqual(['HEAD sign_in']);
  });

  it('answers each response to a double click', async () => {
    const started = await start(asJson);
    const browser = started.visitor();
    const answers = await Promise.all([1, 2].map(() => postForm(browser, '/auth/login', wrong)));
    expect(answers.map(({ status, json }) => [status, json.kind])).toEqual([
      [401, 'sign_in'],
      [401, 'sign_in'],
    ]);
  });

  it('cannot change the page that another response shares', async () => {
    const actions: unknown[] = [];
    const started = await start((...[req, res, page]: Parameters<RenderPage>) => {
      actions.push(page.action);
      expect(() => Object.assign(page.values, { returnTo: '//evil.example' })).toThrow(TypeError);
      Object.assign(page, { action: 'https://evil.example' });
      return asJson(req, res, page);
    });
    const browser = started.visitor();
    await Promise.all([1, 2].map(() => postForm(browser, '/auth/login', wrong)));
    expect(actions).toEqual(['/auth/login', '/auth/login']);
  });

  it('lets pages.signIn be loginPath itself', async () => {
    const started = await start(asJson, { options: { pages: { signIn: '/auth/login/', signUp: '/auth/signup' } } });
    expect((await started.visitor().get('/auth/login')).json.kind).toBe('sign_in');
    expect((await started.visitor().get('/auth/signup')).json.kind).toBe('sign_up');
    const guarded = await started.visitor().get('/account');
    expect([guarded.status, guarded.headers.location]).toEqual([307, '/auth/login?returnTo=%2Faccount']);
  });

  it('lets them be the forms below a mount path', async () => {
    const pages = { signIn: '/app/auth/login', signUp: '/app/auth/signup?plan=free' };
    const started = await start(asJson, { prefix: '/app', options: { pages } });
    const visitor = started.visitor();
    expect((await visitor.get('/app/auth/login')).json.kind).toBe('sign_in');
    expect((await visitor.get('/app/auth/signup?plan=free')).json.kind).toBe('sign_up');
    const failed = await postForm(visitor, '/app/auth/login', wrong);
    expect([failed.status, failed.json.values.email]).toEqual([401, ada.email]);
    expect((await visitor.get('/app/account')).headers.location).toBe('/app/auth/login?returnTo=%2Fapp%2Faccount');
  });

  it('shows errors of a guard and of the other adapter', async () => {
    b2b = await startB2bApp({ options: { pages: { render: asJson } } });
    const refused = await b2b.visitor().get('/callback?error=access_denied&state=x');
    expect([refused.status >= 400, refused.json.kind, typeof refused.json.error.code]).toEqual([
      true,
      'error',
      'string',
    ]);
    expect((await b2b.visitor().get('/logout')).json).toMatchObject({
      kind: 'sign_out',
      action: '/logout?from=page',
      links: { stay: '/' },
    });
  });
});

describe('a page as data', () => {
  const views = (): [string, Reply][] => Object.entries(everyPageState());

  it('exists for each built-in page, and names the form’s path', () => {
    for (const [state, { body }] of views()) {
      if (body?.kind !== 'page') throw new Error(`${state} is no page`);
      expect([state, body.view.kind, body.view.title]).toEqual([state, expect.any(String), expect.stringMatching(/./)]);
      // A page with fields has somewhere to send them.
      if (body.view.fields.length > 0) expect([state, body.view.action]).toEqual([state, expect.stringMatching(/^\//)]);
    }
  });

  it('holds no secret: no token of a link, and no key of a new factor', () => {
    const text = JSON.stringify(views().map(([, { body }]) => (body?.kind === 'page' ? body.view : undefined)));
    expect(text).not.toMatch(/JBSWY3DP|otpauth|secret|token|hash/i);
  });
});
