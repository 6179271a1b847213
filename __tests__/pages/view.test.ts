import { pageView } from '../../lib/pages/view.ts';
import type { PageFacts } from '../../lib/pages/view.ts';

const view = (facts: Omit<PageFacts, 'kind'>, error?: Parameters<typeof pageView>[3]) =>
  pageView('Sign in', 'en', { kind: 'sign_in', ...facts }, error);

describe('a page as data', () => {
  it('has no fields, links, values or choices where the page names none', () => {
    expect(view({})).toStrictEqual({
      kind: 'sign_in',
      title: 'Sign in',
      lang: 'en',
      values: {},
      fields: [],
      links: {},
      choices: [],
    });
  });

  it('has what the page names, without links and values that are not there', () => {
    const facts = {
      values: { email: 'ada@example.com', returnTo: undefined },
      fields: ['email', 'password'],
      action: '/auth/login',
      links: { signUp: '/auth/signup', forgot: undefined, code: false },
      choices: [{ name: 'GitHub', href: '/auth/oauth?provider=github' }],
    } as const;
    expect(view(facts)).toStrictEqual({
      kind: 'sign_in',
      title: 'Sign in',
      lang: 'en',
      values: { email: 'ada@example.com' },
      fields: [{ name: 'email' }, { name: 'password' }],
      action: '/auth/login',
      links: { signUp: '/auth/signup' },
      choices: facts.choices,
    });
  });

  it('has each message at its field, also at one that the page does not name', () => {
    const fields = { password: 'It is too short.', captcha: 'Try it again.' };
    const error = { code: 'invalid_request', message: 'Check the form.', fields };
    expect(view({ fields: ['email', 'password'] }, error)).toMatchObject({
      error: { code: 'invalid_request', message: 'Check the form.' },
      fields: [
        { name: 'email' },
        { name: 'password', error: 'It is too short.' },
        { name: 'captcha', error: 'Try it again.' },
      ],
    });
    expect(view({ fields: ['email'] }, error).fields[0]).toStrictEqual({ name: 'email' });
  });
});
