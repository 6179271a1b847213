import { textOf } from '../../lib/tools/html.ts';
import { createBrands } from '../../lib/pages/options.ts';
import type { Page } from '../../lib/pages/page.ts';
import { sharedText } from '../../lib/pages/texts.ts';
import { pageView } from '../../lib/pages/view.ts';

const brand = createBrands(sharedText, {}).of({ headers: {} });
const view = (shown: Partial<Page>) =>
  pageView({
    kind: 'sign_in',
    status: 200,
    heading: textOf('Sign in'),
    stylesheet: '/auth/pages.css',
    brand,
    parts: [],
    ...shown,
  });
const empty = {
  kind: 'sign_in',
  title: 'Sign in',
  lang: 'en',
  values: {},
  fields: [],
  buttons: [],
  links: {},
  labels: {},
  choices: [],
};
const email = { name: 'email', type: 'email', label: textOf('Email'), autocomplete: 'email' } as const;
const form = { part: 'form', action: '/auth/login', fields: [email], buttons: [{ label: textOf('Go') }] } as const;

describe('a page as data', () => {
  it('has nothing that the page does not have', () => {
    expect(view({})).toStrictEqual(empty);
  });

  it('has the texts and the targets of what the page shows', () => {
    const parts: Page['parts'] = [
      form,
      { part: 'link', name: 'signUp', href: '/auth/signup', label: textOf('Create an account') },
      { part: 'list', choices: [{ name: textOf('GitHub'), href: '/auth/login?provider=github' }] },
    ];
    const values = { email: 'ada@example.com', returnTo: undefined };
    expect(view({ lead: textOf('Welcome back.'), parts, values })).toStrictEqual({
      ...empty,
      lead: 'Welcome back.',
      values: { email: 'ada@example.com' },
      action: '/auth/login',
      fields: [{ name: 'email', label: 'Email', autocomplete: 'email' }],
      buttons: [{ label: 'Go' }],
      links: { signUp: '/auth/signup' },
      labels: { signUp: 'Create an account' },
      choices: [{ name: 'GitHub', href: '/auth/login?provider=github' }],
    });
  });

  it('lists a form that is not what the page is for among the ways on', () => {
    const signOut = { ...form, name: 'signOut', action: '/auth/logout' };
    expect(view({ parts: [signOut] })).toStrictEqual({
      ...empty,
      links: { signOut: '/auth/logout' },
      labels: { signOut: 'Go' },
    });
  });

  it('has what mends an error only where the page shows the error', () => {
    const remedy: Page['parts'] = [{ part: 'link', name: 'help', href: '/help', label: textOf('Help') }];
    expect(view({ remedy }).links).toEqual({});
    expect(view({ remedy, parts: [form], error: { message: textOf('No.'), field: 'email' } }).links).toEqual({});
    expect(view({ remedy, error: { message: textOf('No.'), field: 'form' } }).links).toEqual({ help: '/help' });
  });

  it('has each message at its field, also at one that the page does not have', () => {
    const fields = { email: 'Not this one.', captcha: 'Try it again.' };
    const failure = { code: 'invalid_request', message: 'Check the form.', fields };
    expect(view({ parts: [form], failure })).toMatchObject({
      error: { code: 'invalid_request', message: 'Check the form.' },
      fields: [
        { name: 'email', error: 'Not this one.' },
        { name: 'captcha', error: 'Try it again.' },
      ],
    });
    expect(view({ parts: [form] }).fields[0]).not.toHaveProperty('error');
  });
});
