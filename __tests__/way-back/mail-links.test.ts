import { closeAfterEach } from '../support/close-after-each.ts';
import { describeAtRoot } from '../support/only.ts';
import { createPageBrowser } from '../support/page-browser.ts';
import type { PageBrowser } from '../support/page-browser.ts';
import { asAnother, expectBack, giveCode, grace, lacks, refusing, ways } from '../support/way-back.ts';
import type { Way } from '../support/way-back.ts';

/** A guard leads to the sign-in page, the person asks there for a mail, and its link leads to the page where they were. */
const closing = closeAfterEach();

const startWay = ({ path }: { readonly path: string }, prefix = '/', standIn: object = {}): Promise<Way> =>
  closing(
    ways['backendAuth with a password']({
      prefix,
      standIn,
      ...(path === '/auth/code' && { backend: { signInMethods: ['password', 'code'] } }),
    }),
  );

interface Mail {
  /** Where the sign-in page's button or link leads. */
  readonly path: string;
  readonly type: string;
  readonly isForPassword?: true;
}

const mails: Readonly<Record<string, Mail>> = {
  'for a forgotten password': { path: '/auth/forgot', type: 'recovery', isForPassword: true },
  'with an email code': { path: '/auth/code', type: 'magiclink' },
};
const links = ['to /auth/confirm', 'of Supabase’s default template'] as const;
type LinkKind = (typeof links)[number];

/** From the sign-in page to the mail: by a button of its form, or by a link to another form. */
async function ask({ browser, root }: Way, { path }: Mail): Promise<void> {
  const { email } = grace;
  if (browser.at.answer.text.includes(`formaction="${root}${path}"`)) {
    const [form] = browser.forms();
    await browser.post(root + path, { ...form?.fields, email });
    return;
  }
  const link = browser.links().find(({ href }) => href.includes(path));
  if (link === undefined) throw new Error(`The page has no link to ${path}: ${browser.at.answer.text}`);
  await browser.open(link.href);
  await browser.submit({ email });
}

async function openLink({ backend, root }: Way, at: PageBrowser, type: string, kind: LinkKind): Promise<void> {
  const { tokenHash, confirmationUrl } = backend!.supabase.mails.at(-1)!;
  if (kind !== links[0]) {
    await at.open(confirmationUrl);
    return;
  }
  const template = encodeURIComponent(`${root}/app/page?template`);
  await at.open(`${root}/auth/confirm?token_hash=${tokenHash}&type=${type}&returnTo=${template}`);
  await at.submit({ token_hash: tokenHash });
}

const choosePassword = ({ browser }: Way): Promise<unknown> => browser.submit({ password: 'a whole new password' });

/** What the link finds, besides a signed-in person whose guard wants a second factor: that leads to the factor, and asks for no mail. */
const states: Readonly<Record<string, { readonly place: string; readonly become: (way: Way) => Promise<void> }>> = {
  'never had a session': lacks['never had a session']!,
  'lost the session by endSession': lacks['lost the session by endSession']!,
  'signed in too long ago': lacks['signed in too long ago']!,
  'has a second factor': {
    place: '/second',
    become: ({ backend }) => Promise.resolve(void backend!.supabase.addFactor(grace.email)),
  },
  'is refused by accept': { place: '/app', become: refusing },
};

const cases = Object.keys(mails).flatMap((mail) =>
  links.flatMap((link) =>
    ['/', '/below'].flatMap((prefix) => Object.keys(states).map((state) => [mail, link, prefix, state] as const)),
  ),
);

describeAtRoot('a person of backendAuth with a password who asks for a mail', () => {
  it.each(cases)('%s, with a link %s, mounted at %s, and %s ends on the page', async (name, kind, prefix, state) => {
    const mail = mails[name]!;
    const way = await startWay(mail, prefix);
    const { place, become } = states[state]!;
    await become(way);
    await way.browser.open(`${way.root}${place}/page?tab=2`);
    await ask(way, mail);
    await openLink(way, way.browser, mail.type, kind);
    if (state === 'has a second factor') await giveCode(way);
    if (state === 'is refused by accept') await asAnother(way);
    else if (mail.isForPassword === true) await choosePassword(way);
    expectBack(way, place);
  });

  it.each(links)('to confirm a sign-up, with a link %s, ends on the page', async (kind) => {
    const way = await startWay({ path: '/auth/signup' }, '/', { autoconfirm: false });
    await way.browser.open('/app/page?tab=2');
    const link = way.browser.links().find(({ href }) => href.includes('/auth/signup'));
    await way.browser.open(link!.href);
    await way.browser.submit({ email: 'new@example.com', password: 'three unlikely words' });
    await openLink(way, way.browser, 'email', kind);
    expectBack(way, '/app');
  });
});

describeAtRoot('the same link in another browser, which knows no page and signs in with a password,', () => {
  it.each(Object.entries(mails))('%s leads to /auth/confirm, and then where the template says', async (_, mail) => {
    const way = await startWay(mail);
    await way.browser.open('/app/page?tab=2');
    await ask(way, mail);
    const other = createPageBrowser(way.origin);
    await openLink(way, other, mail.type, links[0]);
    if (mail.isForPassword === true) await other.submit({ password: 'a whole new password' });
    expect(other.at.url).toBe(`${way.origin}/app/page?template`);
  });

  it.each(Object.entries(mails))('%s is of Supabase’s default template, and leads to sign-in', async (_, mail) => {
    const way = await startWay(mail);
    await way.browser.open('/app/page?tab=2');
    await ask(way, mail);
    const other = createPageBrowser(way.origin);
    await openLink(way, other, mail.type, links[1]);
    const signIn = other.links().find(({ href }) => href.startsWith('/auth/login'));
    await other.open(signIn!.href);
    await other.submit(grace);
    expect(other.at.url).toBe(`${way.origin}/`);
    // The browser that asked is still on its way.
    await way.browser.open('/app/page?tab=2');
    await way.signIn();
    expectBack(way, '/app');
  });
});
