import { ada, postForm, startBackendApp } from '../../support/backend-app.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import type { Visitor } from '../../support/visitor.ts';

const closing = closeAfterEach();
const start = () => closing(startBackendApp({ standIn: { autoconfirm: false } }));

/** Opens the page of a template's link and presses its button. */
async function press(visitor: Visitor, tokenHash: string, type: string): Promise<string | undefined> {
  const page = await visitor.get(`/auth/confirm?token_hash=${tokenHash}&type=${type}&returnTo=/template`);
  const returnTo = /name="returnTo" value="([^"]*)"/.exec(page.text)?.[1] ?? '/';
  const fields = { token_hash: tokenHash, type, returnTo };
  return (await postForm(visitor, '/auth/confirm', fields)).headers.location;
}

describe('a link to /auth/confirm', () => {
  it('leads where this browser was going when it asked for the mail, and elsewhere where the template says', async () => {
    const app = await start();
    const visitor = app.visitor();
    await postForm(visitor, '/auth/forgot', { email: ada.email, returnTo: '/account/items?page=2' });
    const { tokenHash } = app.supabase.mails.at(-1)!;
    const other = await app.visitor().get(`/auth/confirm?token_hash=${tokenHash}&type=recovery&returnTo=/template`);
    expect(other.text).toContain('name="returnTo" value="/template"');
    const next = await press(visitor, tokenHash, 'recovery');
    expect(next).toBe(`/auth/password?returnTo=${encodeURIComponent('/account/items?page=2')}`);
  });

  it('leads back to the page that a sign-up came from', async () => {
    const app = await start();
    const visitor = app.visitor();
    const account = { email: 'new@example.com', password: 'three unlikely words' };
    await postForm(visitor, '/auth/signup', { ...account, returnTo: '/account/items' });
    expect(await press(visitor, app.supabase.mails.at(-1)!.tokenHash, 'email')).toBe('/account/items');
  });

  it('leads back to the page that an OAuth sign-in came from, whose provider has not verified the address', async () => {
    const app = await start();
    const visitor = app.visitor();
    await visitor.get('/auth/login?provider=github&returnTo=/account/items');
    const refused = await visitor.get(
      '/auth/callback?error=access_denied&error_code=provider_email_needs_verification',
    );
    expect([refused.status, refused.text.includes('returnTo=%2Faccount%2Fitems')]).toEqual([403, true]);
    // Supabase sends it, for a new account.
    await postForm(app.visitor(), '/auth/signup', { email: 'new@example.com', password: 'three unlikely words' });
    expect(await press(visitor, app.supabase.mails.at(-1)!.tokenHash, 'email')).toBe('/account/items');
  });

  it('leaves the page to the template where the sign-up named none, and to a later link', async () => {
    const app = await start();
    const visitor = app.visitor();
    const account = { email: 'new@example.com', password: 'three unlikely words' };
    await postForm(visitor, '/auth/signup', account);
    expect(await press(visitor, app.supabase.mails.at(-1)!.tokenHash, 'email')).toBe('/template');
    await visitor.postJson('/auth/logout');

    await postForm(visitor, '/auth/signup', { ...account, email: 'second@example.com', returnTo: '/account/items' });
    expect(await press(visitor, app.supabase.mails.at(-1)!.tokenHash, 'email')).toBe('/account/items');
    await visitor.postJson('/auth/logout');
    await postForm(app.visitor(), '/auth/signup', { ...account, email: 'third@example.com' });
    expect(await press(visitor, app.supabase.mails.at(-1)!.tokenHash, 'email')).toBe('/template');
  });

  it('leads a later person’s link nowhere, also after two mails for one page', async () => {
    const app = await start();
    const visitor = app.visitor();
    const forgot = { email: ada.email, returnTo: '/account/items' };
    await postForm(visitor, '/auth/forgot', forgot);
    app.clock.advance(61_000);
    await postForm(visitor, '/auth/forgot', forgot);
    const mail = (): string => app.supabase.mails.at(-1)!.tokenHash;
    expect(await press(visitor, mail(), 'recovery')).toContain(encodeURIComponent('/account/items'));
    await postForm(app.visitor(), '/auth/forgot', { email: ada.email });
    expect(await press(visitor, mail(), 'recovery')).toBe('/auth/password?returnTo=%2Ftemplate');
  });

  it('leads another person’s link there only while the browser keeps the mail’s cookies, and signs in that other person', async () => {
    const app = await start();
    app.supabase.addUser({ email: 'eve@example.com', password: ada.password });
    const visitor = app.visitor();
    const asked = await postForm(visitor, '/auth/forgot', { email: ada.email, returnTo: '/account/items' });
    for (const line of asked.setCookies) expect(line).toContain('Max-Age=600');
    await postForm(app.visitor(), '/auth/forgot', { email: 'eve@example.com' });
    const next = await press(visitor, app.supabase.mails.at(-1)!.tokenHash, 'recovery');
    const done = await postForm(visitor, next!, { password: 'a whole new password' });
    expect(done.headers.location).toBe('/account/items');
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe('eve@example.com');
  });

  it('takes no way back of a mail of another kind', async () => {
    const app = await start();
    const visitor = app.visitor();
    await postForm(visitor, '/auth/signup', {
      email: 'new@example.com',
      password: 'three unlikely words',
      returnTo: '/account',
    });
    await postForm(app.visitor(), '/auth/forgot', { email: ada.email });
    const { tokenHash } = app.supabase.mails.at(-1)!;
    expect(await press(visitor, tokenHash, 'recovery')).toBe('/auth/password?returnTo=%2Ftemplate');
  });
});
