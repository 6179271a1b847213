import { createHash } from 'node:crypto';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { cookieName, followTo, startRealApp, useRealApp } from '../support/application.ts';
import type { RealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { anotherMailIsAllowed, codeIn, linkFields, press } from '../support/mail-links.ts';
import type { Mail } from '../support/mail-sink.ts';
import { newUser } from '../support/project.ts';

describeGoTrue('sign-in by a code from an email', () => {
  const real = useRealApp({ options: { signInMethods: ['password', 'code'] } });

  async function asked(email: string, app: RealApp = real.app) {
    const visitor = app.visitor();
    const answer = await visitor.postJson('/auth/code', { email, returnTo: '/account' });
    return { visitor, answer, mail: await real.project.mails.take(email) };
  }

  const give = (visitor: Visitor, email: string, code: string): Promise<Answer> =>
    visitor.postJson('/auth/code', { email, code, returnTo: '/account' });

  const emailOf = async (visitor: Visitor): Promise<unknown> =>
    (await visitor.getJson('/auth/session')).json.user?.email;

  it('works for a known address, once', async () => {
    const { email } = await real.project.addUser();
    const { visitor, answer, mail } = await asked(email);
    expect(answer.status).toBe(200);
    const done = await give(visitor, email, codeIn(mail));
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
    expect(await emailOf(visitor)).toBe(email);
    expect(visitor.cookies.has(cookieName)).toBe(true);
    // GoTrue: 403 {"code":"otp_expired","message":"Token has expired or is invalid"}
    expect((await give(real.app.visitor(), email, codeIn(mail))).status).toBe(422);
  });

  it('makes an account for a new address', async () => {
    const { email } = newUser();
    const { visitor, mail } = await asked(email);
    expect((await give(visitor, email, codeIn(mail))).status).toBe(200);
    expect(await emailOf(visitor)).toBe(email);
  });

  it('works for an unconfirmed address', async () => {
    const person = newUser();
    await real.project.ask('/signup', 'POST', person);
    await real.project.mails.take(person.email);
    await anotherMailIsAllowed();
    const { visitor, mail } = await asked(person.email);
    expect((await give(visitor, person.email, codeIn(mail))).status).toBe(200);
  });

  it('works in another browser than the one that asked', async () => {
    const { email } = await real.project.addUser();
    const { mail } = await asked(email);
    const elsewhere = real.app.visitor();
    expect((await give(elsewhere, email, codeIn(mail))).status).toBe(200);
    expect(await emailOf(elsewhere)).toBe(email);
  });

  it.each([
    ['the link that the docs recommend', (visitor: Visitor, mail: Mail) => press(visitor, mail)],
    [
      'GoTrue’s own link',
      async (visitor: Visitor, { links }: Mail) => visitor.get(await followTo(real.app, links[1]!)),
    ],
  ])('signs in by %s of the same email, after which the code is invalid', async (_name, open) => {
    const { email } = await real.project.addUser();
    const { visitor, mail } = await asked(email);
    const done = await open(visitor, mail);
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect(await emailOf(visitor)).toBe(email);
    expect((await give(real.app.visitor(), email, codeIn(mail))).status).toBe(422);
  });

  it('answers alike for every address, even if GoTrue counts the emails to it', async () => {
    const { email } = await real.project.addUser();
    const answers = [];
    for (const address of [email, email, newUser().email]) {
      const { status, text, headers, setCookies } = await real.app.visitor().postJson('/auth/code', { email: address });
      const names = Object.keys(headers).filter((name) => name !== 'set-cookie');
      answers.push(JSON.stringify([status, text.replaceAll(address, 'x'), names, setCookies.length]));
    }
    expect(new Set(answers).size).toBe(1);
    // GoTrue: 429 over_email_send_rate_limit
    expect(real.project.proxy.to('/otp').map(({ status }) => status)).toEqual([200, 429, 200]);
  });

  it('accepts the newest code only', async () => {
    const { email } = await real.project.addUser();
    const first = await asked(email);
    await anotherMailIsAllowed();
    const second = await asked(email);
    expect((await give(first.visitor, email, codeIn(first.mail))).status).toBe(422);
    expect((await give(first.visitor, email, codeIn(second.mail))).status).toBe(200);
  });

  it('is one with the link: its token is the hash of address and code, so links are limited like guesses', async () => {
    const { email } = await real.project.addUser();
    const { mail } = await asked(email);
    const hash = createHash('sha224').update(email + codeIn(mail));
    expect(linkFields(mail).token_hash.replace('pkce_', '')).toBe(hash.digest('hex'));
  });

  it('refuses codes for an address after five wrong ones, unlike GoTrue itself; the link still works', async () => {
    const app = await startRealApp(real.project, { signInMethods: ['password', 'code'], throttle: {} });
    const { email } = await real.project.addUser();
    const { visitor, mail } = await asked(email, app);
    const wrong = codeIn(mail) === '000000' ? '111111' : '000000';
    for (let tries = 0; tries < 5; tries += 1) expect((await give(app.visitor(), email, wrong)).status).toBe(422);
    const refused = await give(visitor, email, codeIn(mail));
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true]);
    expect((await press(app.visitor(), mail)).status).toBe(303);
    await app.close();
  });
});

describeGoTrue('an application without sign-up', () => {
  const real = useRealApp({ options: { signInMethods: ['code'], signUp: false } });

  it('sends codes to known addresses only, without revealing it', async () => {
    const known = await real.project.addUser();
    const unknown = newUser();
    const answers = [];
    for (const { email } of [known, unknown]) {
      const { status, text } = await real.app.visitor().postJson('/auth/code', { email });
      answers.push([status, text.replaceAll(email, 'x')]);
    }
    expect(answers[0]).toEqual(answers[1]);
    const mail = await real.project.mails.take(known.email);
    expect((await real.app.visitor().postJson('/auth/code', { email: known.email, code: codeIn(mail) })).status).toBe(
      200,
    );
    // GoTrue: 422 {"code":"otp_disabled","message":"Signups not allowed for otp"}
    expect(real.project.proxy.to('/otp').map(({ status }) => status)).toEqual([200, 422]);
    expect(real.project.mails.count(unknown.email)).toBe(0);
    expect((await real.app.visitor().postJson('/auth/signup', { ...unknown })).status).toBe(404);
  });
});
