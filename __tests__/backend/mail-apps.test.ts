import { render } from '../../lib/tools/html.ts';
import { codePage } from '../../lib/backend/email-code/page.ts';
import { mailPage } from '../../lib/backend/pages/notice.ts';
import { resendAfter } from '../../lib/backend/pages/resend.ts';
import { confirmationSent } from '../../lib/backend/sign-up/page.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { failure, requestOf, siteOf } from '../support/built-in-pages.ts';

const site = siteOf({ signInMethods: ['password', 'code'] });
const request = requestOf();
const linkIn = ({ body }: Reply): string | undefined =>
  body?.kind === 'page' ? /<a class="button quiet"[^>]*>Open .*?<\/a>/.exec(render(body.markup))?.[0] : undefined;
const mailTo = (email: string, error?: ReturnType<typeof failure>): Reply =>
  mailPage(site, request, {
    ...confirmationSent(site.settings),
    email,
    returnTo: '/',
    resend: resendAfter(60, 0),
    ...(error && { error }),
  });

describe('a page that waits for an email', () => {
  it.each([
    ['ada@gmail.com', 'https://mail.google.com/', 'Gmail'],
    ['ada@GoogleMail.com', 'https://mail.google.com/', 'Gmail'],
    ['ada@hotmail.com', 'https://outlook.live.com/mail/', 'Outlook'],
    ['ada@me.com', 'https://www.icloud.com/mail', 'iCloud Mail'],
    ['"a@gmail.com"@yahoo.com', 'https://mail.yahoo.com/', 'Yahoo Mail'],
  ])('leads %s to the mailbox, without the address', (email, href, name) => {
    const link = `<a class="button quiet" href="${href}">Open ${name}</a>`;
    expect(linkIn(mailTo(email))).toBe(link);
    expect(linkIn(codePage(site, request, { returnTo: '/', email, step: 'code' }))).toBe(link);
  });

  it.each(['ada@example.com', 'ada@gmail.com.example', 'ada@notgmail.com', 'gmail.com@example.com', ''])(
    'leads %j nowhere, because its host is not known',
    (email) => expect(linkIn(mailTo(email))).toBeUndefined(),
  );

  it('leads to no mailbox where no email can have been sent', () => {
    expect(linkIn(mailTo('ada@gmail.com', failure('rate_limited')))).toBeUndefined();
  });
});
