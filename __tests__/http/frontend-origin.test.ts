import { requireSession } from '../../lib/backend/index.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendAppSetup } from '../support/backend-app.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { sendText } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { describeAtRoot } from '../support/only.ts';
import type { AuthEvent } from '../../lib/types.ts';
import type { Visitor } from '../support/visitor.ts';

const closing = closeAfterEach();
const frontendOrigin = 'https://www.example.com';
const trusted = 'https://help.example.com';
const inJson = { accept: 'application/json' };

const after = (host: Host): void => {
  host.all('/api/items', requireSession(), (_req, res) => sendText(res, 'items'));
};

type OnSignIn = () => { readonly redirectTo: string };

interface App {
  readonly origin: string;
  readonly events: readonly AuthEvent[];
  visitor(): Visitor;
  close(): Promise<void>;
  /** @returns where the sign-in ends */
  signIn(visitor: Visitor, returnTo?: string): Promise<string>;
}

const apps = {
  async b2bAuth(onSignIn?: OnSignIn): Promise<App> {
    const app = await startB2bApp({
      after,
      options: { frontendOrigin, trustedOrigins: [trusted], ...(onSignIn && { onSignIn }) },
    });
    const signIn = async (visitor: Visitor, returnTo?: string): Promise<string> => {
      const start = await visitor.get(
        `/login${returnTo === undefined ? '' : `?returnTo=${encodeURIComponent(returnTo)}`}`,
      );
      const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
      return (await visitor.get(callback.href)).location;
    };
    return { ...app, signIn };
  },
  async backendAuth(onSignIn?: OnSignIn, setup: BackendAppSetup = {}): Promise<App> {
    const options = { frontendOrigin, trustedOrigins: [trusted], ...(onSignIn && { onSignIn }), ...setup.options };
    const app = await startBackendApp({ after, ...setup, options });
    const signIn = async (visitor: Visitor, returnTo?: string): Promise<string> =>
      (await postForm(visitor, '/auth/login', { ...ada, ...(returnTo !== undefined && { returnTo }) })).location;
    return { ...app, signIn };
  },
};

describeAtRoot.each(Object.entries<(onSignIn?: OnSignIn) => Promise<App>>(apps))(
  'frontendOrigin of %s',
  (name, startApp) => {
    const [login, logout] = name === 'b2bAuth' ? ['/login', '/logout'] : ['/auth/login', '/auth/logout'];

    it('has the paths of returnTo, and the start page', async () => {
      const app = await closing(startApp());
      expect(await app.signIn(app.visitor(), '/items?page=2#last')).toBe(`${frontendOrigin}/items?page=2#last`);
      expect(await app.signIn(app.visitor())).toBe(`${frontendOrigin}/`);
      for (const elsewhere of ['//evil.example/x', 'https://evil.example/x', `${frontendOrigin}.evil.example/x`])
        expect(await app.signIn(app.visitor(), elsewhere)).toBe(`${frontendOrigin}/`);
    });

    it('may post to the routes, and forms of their pages may lead there', async () => {
      const app = await closing(startApp());
      const visitor = app.visitor();
      await app.signIn(visitor);
      const page = await visitor.get(logout, { headers: { accept: 'text/html' } });
      const policy = String(page.headers['content-security-policy']);
      expect(policy).toContain(`form-action 'self' ${trusted} ${frontendOrigin}`);
      expect(page.text).toContain(`href="${frontendOrigin}/"`);
      const left = await visitor.post(logout, { headers: { ...inJson, origin: frontendOrigin } });
      expect(left.status).toBe(200);
      expect(decodeURIComponent(left.json.redirectTo)).toContain(`${frontendOrigin}/`);
    });

    it('is the page of a script, by its Referer; a page on the origin of the routes is none', async () => {
      const app = await closing(startApp());
      const ask = (referer: string) => app.visitor().get('/api/items', { headers: { ...inJson, referer } });
      const url = `${login}?returnTo=${encodeURIComponent('/items?page=2')}`;
      expect((await ask(`${frontendOrigin}/items?page=2`)).json.redirectTo).toBe(url);
      expect((await ask(`${app.origin}/items`)).json.redirectTo).toBe(login);
    });

    it('is where error pages lead', async () => {
      const app = await closing(startApp());
      const { text } = await app.visitor().get(`${name === 'b2bAuth' ? '' : '/auth'}/callback?error=access_denied`);
      expect(text).toContain(`href="${frontendOrigin}/"`);
    });
  },
);

describeAtRoot('a trusted URL of the application’s own origin', () => {
  it('is a target of onSignIn as its path is: never a route of the adapter', async () => {
    let redirectTo = '';
    const app = await closing(
      startBackendApp({ options: { trustedOrigins: ['http://127.0.0.1:4000'], onSignIn: () => ({ redirectTo }) } }),
    );
    const signIn = async (path: string): Promise<string> => {
      redirectTo = `http://127.0.0.1:4000${path}`;
      const headers = { host: '127.0.0.1:4000' };
      return (await postForm(app.visitor(), '/auth/login', { ...ada, returnTo: '/items' }, headers)).headers.location!;
    };
    expect(await signIn('/welcome?a=1#b')).toBe('/welcome?a=1#b');
    for (const path of ['/auth/login', '/auth/logout?returnTo=/', '//evil.example/x', '/.//evil.example'])
      expect(await signIn(path)).toBe('/items');
    expect(app.eventTypes()).toContain('configuration_warning');
  });
});

describeAtRoot('the pages of backendAuth beside a front end elsewhere', () => {
  it('are the way back where a step leads to them, and lead on to the front end', async () => {
    const app = await closing(apps.backendAuth());
    const visitor = app.visitor();
    const enroll = '/auth/enroll?returnTo=/items';
    expect(await app.signIn(visitor, enroll)).toBe(`${app.origin}${enroll}`);
    expect((await visitor.get(enroll)).text).toContain(`href="${frontendOrigin}/items"`);
    const again = await visitor.get('/auth/login?returnTo=/items', { headers: { accept: 'text/html' } });
    expect(again.text).toContain(`href="${frontendOrigin}/items"`);
  });

  it('pages.signIn stays on the origin of the routes', async () => {
    const app = await closing(apps.backendAuth(undefined, { options: { pages: { signIn: '/sign-in' } } }));
    const answer = await app.visitor().get('/auth/login?returnTo=/items', { headers: { accept: 'text/html' } });
    expect(answer.location).toBe(`${app.origin}/sign-in?returnTo=%2Fitems`);
  });

  it('tells a JSON client the URL of the front end', async () => {
    const app = await closing(apps.backendAuth());
    const { json } = await app.visitor().postJson('/auth/login', { ...ada, returnTo: '/items' });
    expect(json).toEqual({ redirectTo: `${frontendOrigin}/items` });
  });
});

describeAtRoot.each(Object.entries<(onSignIn?: OnSignIn) => Promise<App>>(apps))(
  'the redirectTo of onSignIn of %s',
  (_name, startApp) => {
    it.each([
      ['a path', '/welcome', `${frontendOrigin}/welcome`],
      ['a URL of trustedOrigins', `${trusted}/welcome?a=1`, `${trusted}/welcome?a=1`],
      ['a URL of frontendOrigin', `${frontendOrigin}/welcome`, `${frontendOrigin}/welcome`],
    ])('may be %s', async (_case, redirectTo, expected) => {
      const app = await closing(startApp(() => ({ redirectTo })));
      expect(await app.signIn(app.visitor(), '/items')).toBe(expected);
      expect(app.events.map(({ type }) => type)).not.toContain('configuration_warning');
    });

    it.each([
      'https://evil.example/',
      'https://user@help.example.com/',
      '//evil.example',
      'javascript:alert(1)',
      'welcome',
      '/auth/pages.css',
      `${frontendOrigin}/auth/pages.css`,
      `${frontendOrigin}/%61uth//pages.css`,
      '',
    ])('%j is ignored with one warning', async (redirectTo) => {
      const app = await closing(startApp(() => ({ redirectTo })));
      for (const visitor of [app.visitor(), app.visitor()])
        expect(await app.signIn(visitor, '/items')).toBe(`${frontendOrigin}/items`);
      const warnings = app.events.filter((event) => event.type === 'configuration_warning');
      expect(warnings).toEqual([expect.objectContaining({ message: expect.stringContaining('onSignIn') })]);
      expect(JSON.stringify(warnings)).not.toContain('evil.example');
    });
  },
);
