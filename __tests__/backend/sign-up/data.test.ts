import type { SignUpOptions } from '../../../lib/backend/index.ts';
import { ada, postForm, setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { AuthError } from '../../../lib/errors.ts';
import { readSignUpData } from '../../../lib/backend/sign-up/data.ts';
import type { AuthRequest } from '../../../lib/http/request.ts';
import type { RenderPage } from '../../../lib/every-entry.ts';

let app: BackendApp;
const start = async (signUp: SignUpOptions, setup: BackendAppSetup = {}): Promise<BackendApp> =>
  (app = await startBackendApp({ ...setup, options: { ...setup.options, signUp } }));
afterEach(() => app.close());

const eve = { email: 'eve@example.com', password: 'battery staple', name: 'Eve', extra: 'dropped' };
const named: SignUpOptions = { data: ({ body }) => ({ name: (body as { name?: string }).name }) };
/** What the project was sent as metadata. */
const sent = (): unknown => {
  const bodies = app.supabase.requests.filter(({ url }) => url.pathname.endsWith('/signup')).map(({ body }) => body);
  return bodies.at(-1);
};

describe('signUp.data', () => {
  it('stores what it returns as the user’s metadata, from a form and from JSON', async () => {
    await start(named);
    const visitor = app.visitor();
    expect((await postForm(visitor, '/auth/signup', eve)).status).toBe(303);
    const { user } = (await visitor.getJson('/whoami')).json;
    expect(user.userMetadata).toMatchObject({ name: 'Eve' });
    const other = app.visitor();
    expect((await other.postJson('/auth/signup', { ...eve, email: 'two@example.com' })).status).toBe(200);
    expect(JSON.stringify(sent())).toContain('"name":"Eve"');
    expect(JSON.stringify(sent())).not.toContain('dropped');
  });

  it('survives the confirmation of the address', async () => {
    await start(named, { standIn: { autoconfirm: false } });
    expect((await app.visitor().postJson('/auth/signup', eve)).json.emailConfirmationRequired).toBe(true);
    expect(JSON.stringify(sent())).toContain('"name":"Eve"');
  });

  it.each([null, undefined, {}])('stores nothing with %j', async (nothing) => {
    await start({ data: () => nothing });
    expect((await app.visitor().postJson('/auth/signup', eve)).status).toBe(200);
  });

  it('of more than 4 KB is a 422, and the project is not asked', async () => {
    await start({ data: ({ body }) => ({ text: (body as { text: string }).text }) });
    const json = await app.visitor().postJson('/auth/signup', { ...eve, text: 'x'.repeat(4_090) });
    expect([json.status, json.json.error.code, json.json.error.message]).toEqual([
      422,
      'form_refused',
      'This is too much text. Shorten what you entered.',
    ]);
    const form = await postForm(app.visitor(), '/auth/signup', { ...eve, text: 'ä'.repeat(2_050) });
    expect([form.status, form.text]).toEqual([422, expect.stringContaining('too much text')]);
    expect(app.supabase.calls('signup')).toBe(0);
    const event = { type: 'sign_in_failed', adapter: 'backend', code: 'form_refused', reason: 'data_too_large' };
    expect(app.events).toEqual([event, event]);
    const small = await app.visitor().postJson('/auth/signup', { ...eve, text: 'x'.repeat(4_085) });
    expect([small.status, app.supabase.calls('signup')]).toEqual([200, 1]);
  });

  it('sends no key that would replace a prototype', async () => {
    await start({
      data: () => JSON.parse('{"a":{"__proto__":{"role":"admin"}},"__proto__":{"role":"admin"}}') as object,
    });
    expect((await app.visitor().postJson('/auth/signup', eve)).status).toBe(200);
    expect(JSON.stringify(sent())).not.toMatch(/__proto__|admin/);
  });

  it('sends no password, in whatever part of the data it is', async () => {
    await start({ data: ({ body }) => ({ profile: body as object, list: [{ password: eve.password }] }) });
    expect((await app.visitor().postJson('/auth/signup', eve)).status).toBe(200);
    const { data } = sent() as { data: object };
    expect(data).toEqual({ profile: { email: eve.email, name: 'Eve', extra: 'dropped' }, list: [{}] });
  });

  it.each([32, 4_000])('of a body of %i lists in one another is a 400, and calls nothing', async (levels) => {
    const called: string[] = [];
    const note = (name: string) => () => void called.push(name);
    await start({ check: note('check') as never, data: note('data') as never });
    const deep = JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
    const answer = await app.visitor().postJson('/auth/signup', { ...eve, name: deep });
    expect([answer.status, called, app.supabase.calls('signup')]).toEqual([400, [], 0]);
  });

  it.each<[string, SignUpOptions, RegExp]>([
    ['the whole body, with the password', { data: ({ body }) => body as object }, /must not return the password/],
    ['a text', { data: () => 'Eve' as never }, /must return an object/],
    ['a list', { data: () => ['Eve'] }, /must return an object/],
    ['what turns into a text', { data: () => new Date(0) }, /must return an object/],
    ['a circle', { data: circle }, /circular/],
    [
      'an error',
      {
        data() {
          throw new Error('no such column');
        },
      },
      /no such column/,
    ],
    ['a check that is no object', { check: () => true as never }, /signUp\.check must return/],
    ['a message that is no text', { check: () => ({ name: 1 as never }) }, /signUp\.check must return/],
  ])('that returns %s is the application’s error, and no account', async (_, signUp, message) => {
    await start(signUp);
    const answer = await app.visitor().postJson('/auth/signup', eve);
    expect([answer.status, answer.json.thrown]).toEqual([500, expect.stringMatching(message)]);
    expect(app.supabase.calls('signup')).toBe(0);
  });

  it('that never settles is a 503', async () => {
    await start({ data: () => new Promise(() => undefined) }, { options: { timeoutMs: 100 } });
    expect((await app.visitor().postJson('/auth/signup', eve)).status).toBe(503);
  });

  it('goes to a guest who becomes a user, too', async () => {
    await start(named, { standIn: { anonymousUsers: true } });
    const issued = await fetch(`${app.supabase.url}/auth/v1/signup`, {
      method: 'POST',
      headers: { apikey: app.supabase.publishableKey, 'content-type': 'application/json' },
      body: '{}',
    });
    const guest = app.visitor();
    setSession(guest, await issued.json());
    expect((await guest.postJson('/auth/signup', eve)).status).toBe(200);
    expect((await guest.getJson('/whoami')).json.user).toMatchObject({
      isAnonymous: false,
      userMetadata: { name: 'Eve' },
    });
  });
});

describe('the body', () => {
  const fields = new Map([['name', 'Eve']]);
  const definition = { timeoutMs: 1_000 };
  /** What `signUp.data` gets of a body that the application has read. */
  async function bodyOf(body: unknown): Promise<unknown> {
    let given: unknown;
    const data: SignUpOptions['data'] = (req) => {
      given = req.body;
      return {};
    };
    await readSignUpData({ data }, { req: { body }, definition } as unknown as AuthRequest, fields);
    return given;
  }

  it.each([
    ['text', 'name=Eve'],
    ['bytes', Buffer.from('name=Eve')],
    ['nothing', undefined],
    ['a list', ['Eve']],
  ])('is the fields of the form where the application has read it as %s', async (_kind, body) => {
    expect(await bodyOf(body)).toEqual({ name: 'Eve' });
  });

  it('is left as the application has read it as an object', async () => {
    const body = { name: 'Eve', tags: ['a'] };
    expect(await bodyOf(body)).toBe(body);
  });

  it('is not touched where no function asks for it', async () => {
    const deep = JSON.parse('['.repeat(40) + ']'.repeat(40)) as unknown;
    for (const body of ['name=Eve', { deep }]) {
      const req = { body };
      expect(await readSignUpData(true, { req, definition } as unknown as AuthRequest, fields)).toBeUndefined();
      expect(req.body).toBe(body);
    }
  });
});

describe('signUp.check', () => {
  const check: SignUpOptions['check'] = ({ body }) => {
    const { name = '', email } = body as Record<string, string | undefined>;
    return {
      name: name === '' ? 'Tell us <your> name.' : undefined,
      email: email?.endsWith('@blocked.example') === true ? 'Use your work address.' : undefined,
    };
  };

  it('answers JSON with 422 and a message for each field', async () => {
    await start({ check });
    const answer = await app.visitor().postJson('/auth/signup', { ...eve, name: '', email: 'eve@blocked.example' });
    expect([answer.status, answer.json.error]).toEqual([
      422,
      {
        status: 422,
        code: 'form_refused',
        message: expect.any(String),
        fields: { name: 'Tell us <your> name.', email: 'Use your work address.' },
      },
    ]);
    expect(app.supabase.calls('signup')).toBe(0);
    expect((await app.visitor().postJson('/auth/signup', eve)).status).toBe(200);
  });

  it.each(['eve@blocked.example ', '\u200beve@blocked.example\u202c'])(
    'gets the address that is sent to the project: %j is a blocked one',
    async (email) => {
      await start({ check, data: ({ body }) => ({ given: (body as { email: string }).email }) });
      const answer = await app.visitor().postJson('/auth/signup', { ...eve, email });
      expect([answer.status, answer.json.error.fields]).toEqual([422, { email: 'Use your work address.' }]);
      const form = await postForm(app.visitor(), '/auth/signup', { ...eve, email });
      expect([form.status, form.text]).toEqual([422, expect.stringContaining('value="eve@blocked.example"')]);
      await app.visitor().postJson('/auth/signup', { ...eve, email: email.replace('blocked', 'open') });
      expect(sent()).toMatchObject({ email: 'eve@open.example', data: { given: 'eve@open.example' } });
    },
  );

  it.each<[string, SignUpOptions['check']]>([
    ['a message', () => ({ invitation: 'We do not know this code.' })],
    [
      'an error',
      () => {
        throw new AuthError('forbidden');
      },
    ],
  ])('is asked a hundred times by a network, so that nothing can be tried out with it: by %s', async (_, refuse) => {
    const asked: string[] = [];
    const check: SignUpOptions['check'] = (req) => {
      asked.push('check');
      return refuse?.(req);
    };
    await start({ check, data: () => void asked.push('data') });
    const tryOut = (index: number) =>
      app.visitor().postJson('/auth/signup', { ...eve, email: `eve${index}@example.com`, invitation: String(index) });
    const statuses: number[] = [];
    for (let index = 0; index < 102; index += 1) statuses.push((await tryOut(index)).status);
    expect(statuses.slice(99).map((status) => status === 429)).toEqual([false, true, true]);
    expect(asked).toHaveLength(100);
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
  });

  it.each([null, undefined, {}, { name: undefined }])('refuses nothing with %j', async (nothing) => {
    await start({ check: () => nothing });
    expect((await app.visitor().postJson('/auth/signup', eve)).status).toBe(200);
  });

  it.each([{ name: '' }, { name: 1 }, { name: null }, [], 'no', 7])('returns messages, and not %j', async (found) => {
    await start({ check: () => found as never });
    expect((await app.visitor().postJson('/auth/signup', eve)).status).toBe(500);
    expect(app.supabase.calls('signup')).toBe(0);
  });

  it('shows the message at its field, and above the form where the page has no such field', async () => {
    await start({ check });
    const page = await postForm(app.visitor(), '/auth/signup', { ...eve, name: '', email: 'eve@blocked.example' });
    expect(page.status).toBe(422);
    expect(page.text).toMatch(/id="email-error">Use your work address\./);
    expect(page.text).toMatch(/id="form-error" role="alert">[^<]*<br>Tell us &lt;your&gt; name\./);
    expect(page.text).toContain('value="eve@blocked.example"');
  });

  it('gives pages.render its fields', async () => {
    const render: RenderPage = (_req, res, page) => {
      res.end(JSON.stringify(page));
      return true;
    };
    await start({ check }, { options: { pages: { render } } });
    const page = await postForm(app.visitor(), '/auth/signup', { ...eve, name: '' });
    expect([page.status, page.json.fields]).toMatchObject([
      422,
      [{ name: 'email' }, { name: 'password' }, { name: 'name', error: 'Tell us <your> name.' }],
    ]);
  });
});

function circle(): object {
  const it: Record<string, unknown> = {};
  it['self'] = it;
  return it;
}
