import { resendAfter, resendOf } from '../../lib/backend/pages/resend.ts';
import { openingSeconds, stylesheet } from '../../lib/pages/style.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Answer } from '../support/visitor.ts';

let app: BackendApp;
const start = async ({ options, standIn, ...setup }: BackendAppSetup = {}): Promise<void> => {
  app = await startBackendApp({
    ...setup,
    options: { signInMethods: ['password', 'code'], ...options },
    standIn: { autoconfirm: false, phoneFactors: true, ...standIn },
  });
};
const closeAfterEach = (): void => afterEach(() => app.close());

/** When the button opens, in words and in the stylesheet. */
function waitOf({ text }: Answer): { readonly words: string | undefined; readonly opening: string | undefined } {
  const [, opening] = /<div class="resend (in-\d+)">/.exec(text) ?? [];
  const [, words] = /<p class="wait">([^<]*)<\/p>/.exec(text) ?? [];
  return { words, opening };
}
const hiddenOf = ({ text }: Answer, name: string): string | undefined =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1];

it('the stylesheet opens a button after each time that a page can name, and shows it where it knows no animations', () => {
  for (const seconds of openingSeconds)
    expect(stylesheet).toContain(`.resend.in-${seconds} > * { animation-delay: ${seconds}s; }`);
  expect(openingSeconds.at(-1)).toBe(60);
  expect(stylesheet).not.toMatch(/\.resend[^{]*\{[^}]*(?:visibility|display: none|opacity)/);
});

it('the time that a form takes along is the time that it brings back', () => {
  const { opensAt } = resendAfter(60, 1_000_400);
  const fields = new Map([['resendAt', String(opensAt)]]);
  expect(resendOf(fields, 1_000_400)).toEqual({ seconds: 60, opensAt });
  expect(resendOf(fields, 1_030_400)).toEqual({ seconds: 30, opensAt });
});

describe('the time that a form brings back', () => {
  const now = 1_000_400;
  it.each([
    ['1060400', 60],
    ['1060399', 60],
    ['1059400', 59],
    ['1000401', 1],
    ['1000400', undefined],
    ['1061401', undefined],
    ['-5', undefined],
    ['1e6', undefined],
    [' 1060400', undefined],
    ['1060400 ', undefined],
    ['+1060400', undefined],
    ['99999999999999999999', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('is read from %j as %p seconds', (told, seconds) => {
    const fields = new Map(told === undefined ? [] : [['resendAt', told]]);
    expect(resendOf(fields, now)?.seconds).toBe(seconds);
  });
});

describe('another email with a code', () => {
  closeAfterEach();
  it('has no button for a minute, which also holds after a wrong code', async () => {
    await start();
    const visitor = app.visitor();
    const sent = await postForm(visitor, '/auth/code', { email: ada.email });
    expect(waitOf(sent)).toEqual({ words: 'You can ask for another one in 60 seconds.', opening: 'in-60' });
    const resendAt = hiddenOf(sent, 'resendAt') ?? '';
    app.clock.advance(23_000);
    const wrong = await postForm(visitor, '/auth/code', { email: ada.email, code: '000000', resendAt });
    expect(wrong.status).toBe(422);
    expect(waitOf(wrong)).toEqual({ words: 'You can ask for another one in 37 seconds.', opening: 'in-40' });
    app.clock.advance(40_000);
    const later = await postForm(visitor, '/auth/code', { email: ada.email, code: '000000', resendAt });
    expect(waitOf(later)).toEqual({ words: undefined, opening: undefined });
    expect(later.text).toContain('<button class="quiet">Send another email</button>');
  });

  it('asked for too early is no error: the page says when', async () => {
    await start();
    await postForm(app.visitor(), '/auth/code', { email: ada.email });
    const again = await postForm(app.visitor(), '/auth/code', { email: ada.email });
    expect(again.status).toBe(429);
    expect(again.text).toContain('<div class="message next">\n<p id="form-error" role="status">We can’t send another');
    expect(waitOf(again)).toEqual({
      words: expect.stringMatching(/^You can ask for another one in \d+ seconds?\.$/),
      opening: expect.stringMatching(/^in-\d+$/),
    });
  });

  it('after too many wrong codes: the field is closed, and the page says until when', async () => {
    await start();
    const visitor = app.visitor();
    await postForm(visitor, '/auth/code', { email: ada.email });
    let answer = await postForm(visitor, '/auth/code', { email: ada.email, code: '000000' });
    expect(answer.text).not.toContain(' disabled');
    for (let count = 0; count < 5; count += 1) {
      answer = await postForm(visitor, '/auth/code', { email: ada.email, code: `00000${count}` });
    }
    expect(answer.status).toBe(429);
    expect(answer.text).toMatch(/<input id="code"[^>]* required disabled[^>]*>/);
    expect(answer.text).toContain('<button disabled>Sign in</button>');
    expect(answer.text).not.toContain('autofocus');
    expect(answer.text).toContain('Try again in 15 minutes.');
    // The link of another email still signs in.
    expect(answer.text).toContain('Send another email');
  });
});

describe('another confirmation email', () => {
  closeAfterEach();
  it('has no button for a minute, for every address', async () => {
    await start();
    const pages = [
      await postForm(app.visitor(), '/auth/signup', { email: 'eve@example.com', password: 'long enough' }),
      await postForm(app.visitor(), '/auth/resend', { email: 'eve@example.com' }),
      await postForm(app.visitor(), '/auth/forgot', { email: ada.email }),
      await postForm(app.visitor(), '/auth/forgot', { email: 'stranger@example.com' }),
    ];
    for (const page of pages) {
      expect([page.status, waitOf(page).opening]).toEqual([200, 'in-60']);
    }
  });

  it('over the limit keeps the page, without a button, and says when', async () => {
    await start({ standIn: { mailFrequency: 0 } });
    const visitor = app.visitor();
    for (let count = 0; count < 10; count += 1)
      await postForm(visitor, '/auth/resend', { email: ada.email, again: `${count}` });
    const refused = await postForm(visitor, '/auth/resend', { email: ada.email });
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    expect(refused.text).toContain('<h1>Please wait</h1>');
    expect(refused.text).toContain('role="status">We can’t send another email yet.</p>');
    expect(refused.text).not.toContain('Check your email');
    expect(waitOf(refused)).toEqual({ words: 'You can ask for another one in 15 minutes.', opening: undefined });
    expect(refused.text).not.toContain('Resend email');
    expect(refused.text).not.toContain('newest email');
    // Its own button asks for no email: the page shows the time that is left, and then the button that sends one.
    const reload = async () => {
      const fields = { email: ada.email, resendAt: hiddenOf(refused, 'resendAt') ?? '', reload: 'yes' };
      return postForm(visitor, '/auth/resend', fields);
    };
    expect(refused.text).toContain('<button class="link">Reload this page</button>');
    const mails = app.supabase.mails.length;
    app.clock.advance(5 * 60_000);
    const early = await reload();
    expect([early.status, early.headers['retry-after']]).toEqual([429, '600']);
    expect(waitOf(early)).toEqual({ words: 'You can ask for another one in 10 minutes.', opening: undefined });
    app.clock.advance(9 * 60_000 + 30_000);
    const soon = await reload();
    expect([soon.status, waitOf(soon).opening, soon.text.includes('Reload')]).toEqual([429, 'in-30', false]);
    app.clock.advance(30_000);
    const open = await reload();
    expect([open.status, waitOf(open).words, open.text.includes('Resend email')]).toEqual([200, undefined, true]);
    expect(app.supabase.mails).toHaveLength(mails);
    const asClient = await visitor.postJson('/auth/resend', { email: ada.email, reload: 'yes' });
    expect([asClient.status, asClient.json.error.code]).toEqual([400, 'invalid_request']);
  });

  it('over the limit is an error with a code for a JSON client', async () => {
    await start({ standIn: { mailFrequency: 0 } });
    const visitor = app.visitor();
    for (let count = 0; count < 10; count += 1)
      await postForm(visitor, '/auth/resend', { email: ada.email, again: `${count}` });
    const { status, json } = await visitor.postJson('/auth/resend', { email: ada.email });
    expect([status, json.error.code]).toEqual([429, 'rate_limited']);
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'sign_in_failed', code: 'rate_limited' }));
  });
});

describe('another text message', () => {
  closeAfterEach();
  const firstFactor = async () => {
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    return visitor;
  };

  it('has no button for a minute, and the page names the phone', async () => {
    await start();
    const { id } = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    const visitor = await firstFactor();
    const sent = await postForm(visitor, '/auth/verify', { send: id });
    expect(sent.text).toContain('We sent a six-digit code to your phone ending in 123.');
    expect(waitOf(sent).opening).toBe('in-60');
    app.clock.advance(30_000);
    const fields = { factorId: id, code: '000000', resendAt: hiddenOf(sent, 'resendAt') ?? '' };
    const wrong = await postForm(visitor, '/auth/verify', fields);
    expect([wrong.status, waitOf(wrong).opening]).toEqual([422, 'in-30']);
    const { json } = await visitor.postJson('/auth/verify', { send: id });
    expect(json.message ?? 'We sent a six-digit code to your phone ending in 123.').toContain('ending in 123');
  });

  it('after too many wrong codes the field is closed, and the page leads to a new one', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    let answer = await postForm(visitor, '/auth/verify', { factorId: factor.id, code: '000000' });
    for (let count = 1; count < 6; count += 1) {
      answer = await postForm(visitor, '/auth/verify', { factorId: factor.id, code: `00000${count}` });
    }
    expect(answer.status).toBe(429);
    expect(answer.text).toContain('Too many wrong codes. Try again in 15 minutes.');
    expect(answer.text).toMatch(/<input id="code"[^>]* disabled/);
    expect(answer.text).toContain(`<a href="/auth/verify?factorId=${factor.id}">Reload this page</a>`);
    const open = await visitor.get(`/auth/verify?factorId=${factor.id}`);
    expect([open.status, open.text.includes(' disabled')]).toEqual([200, false]);
  });
});
