import { withBase } from 'vitepress';
import { h } from 'vue';

const ways = [
  {
    title: 'Supabase',
    text: 'Email and password, social sign-in, passkeys. Your pages are built in.',
    link: '/quickstart-supabase',
  },
  {
    title: 'WorkOS',
    text: 'Customers that are companies: organizations, roles, single sign-on.',
    link: '/quickstart-workos',
  },
] as const;

/** Above the list of pages on the first one: what this is, and the two ways to begin. */
export const FrontPage = (): ReturnType<typeof h> =>
  h('div', { class: 'front-page' }, [
    h('h1', null, 'Sign-in for Express'),
    h('p', { class: 'lead' }, [
      'Mount sign-in with one line, protect routes with one middleware, and keep sessions through refresh races and outages. ',
      'Supabase Auth or WorkOS AuthKit holds the accounts.',
    ]),
    h('div', { class: 'front-page-body' }, [
      h('div', { class: 'ways' }, [
        ...ways.map(({ title, text, link }) =>
          h('a', { class: 'way', href: withBase(`${link}.html`) }, [
            h('strong', null, `Start with ${title}`),
            h('span', null, text),
          ]),
        ),
        h('p', null, [
          'Or try it first, without an account: ',
          h('code', null, 'npx express-auth-adapters providers --env'),
        ]),
      ]),
      h('img', {
        src: withBase('/screenshots/readme.png'),
        width: 400,
        alt: 'Sign in to Northwind: Continue with GitHub, Continue with Google, Email, Password, Sign in',
      }),
    ]),
  ]);
