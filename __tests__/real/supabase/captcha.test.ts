import { postForm } from '../../support/backend-app.ts';
import { useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { newUser } from '../support/project.ts';

const keys = [createSigningKey('only')];
const claimsMail = /check your email|we sent|sent (you )?(a|an) (link|email|code)/i;

// GoTrue refuses a request without a captcha's answer by itself. For one with an answer it asks the captcha's host: nothing listens there.
const settings = {
  GOTRUE_SECURITY_CAPTCHA_ENABLED: 'true',
  GOTRUE_SECURITY_CAPTCHA_PROVIDER: 'turnstile',
  GOTRUE_SECURITY_CAPTCHA_SECRET: 'unused',
  HTTPS_PROXY: 'http://127.0.0.1:9',
};

describeOwnGoTrue('a refused captcha', () => {
  const real = useRealApp({
    gotrue: { keys, settings },
    options: { throttle: {}, signInMethods: ['password', 'code'] },
  });

  it('never counts as a wrong password', async () => {
    const user = await real.project.addUser();
    for (let count = 0; count < 12; count += 1) {
      const answer = await real.app.visitor().postJson('/auth/login', user);
      expect([answer.status, answer.json.error.code]).toEqual([400, 'captcha_failed']);
    }
    await real.project.restart({ keys });
    const done = await real.app.visitor().postJson('/auth/login', user);
    await real.project.restart({ keys, settings });
    expect(done.status).toBe(200);
  });

  it('whose host cannot be reached is an outage, and no wrong password', async () => {
    const user = await real.project.addUser();
    for (let count = 0; count < 12; count += 1) {
      const answer = await real.app.visitor().postJson('/auth/login', { ...user, captchaToken: 'answer' });
      expect(answer.status).toBe(503);
    }
  });

  it.each([
    ['/auth/code', 'code'],
    ['/auth/forgot', 'forgot'],
    ['/auth/resend', 'resend'],
  ])('is what %s says, at the first and at the second try: no mail went out', async (path) => {
    for (const { email } of [await real.project.addUser(), newUser()]) {
      const visitor = real.app.visitor();
      for (let count = 0; count < 2; count += 1) {
        const answer = await visitor.postJson(path, { email });
        expect([answer.status, answer.json.error?.code]).toEqual([400, 'captcha_failed']);
        const form = await postForm(visitor, path, { email });
        expect([form.status, claimsMail.test(form.text)]).toEqual([400, false]);
      }
      expect(real.project.mails.count(email)).toBe(0);
    }
  });

  it('at sign-up creates no account and claims no mail', async () => {
    const person = newUser();
    for (let count = 0; count < 2; count += 1) {
      const answer = await real.app.visitor().postJson('/auth/signup', { ...person });
      expect([answer.status, answer.json.error.code]).toEqual([400, 'captcha_failed']);
    }
    const { users } = await real.project.admin('/admin/users?per_page=200');
    expect(users.filter(({ email }: { email: string }) => email === person.email)).toEqual([]);
  });
});

// GoTrue allows 30 at once, whatever the limit per five minutes is.
describeOwnGoTrue('a project that has sent as many mails as it may', () => {
  const real = useRealApp({
    gotrue: { keys, settings: { GOTRUE_RATE_LIMIT_OTP: '1' } },
    options: { signInMethods: ['password', 'code'] },
  });

  it('shows the address form with the wait, not a form for a code that never comes', async () => {
    const { url, publishableKey, proxy } = real.project;
    while (proxy.to('/otp').at(-1)?.status !== 429) {
      await fetch(`${url}/auth/v1/otp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', apikey: publishableKey },
        body: JSON.stringify({ email: newUser().email, create_user: false }),
      });
    }
    const { email } = await real.project.addUser();
    const refused = await postForm(real.app.visitor(), '/auth/code', { email });
    expect([refused.status, claimsMail.test(refused.text)]).toEqual([429, false]);
    expect([Number(refused.headers['retry-after']) > 0, refused.text.includes('name="email"')]).toEqual([true, true]);
    expect(real.project.mails.count(email)).toBe(0);
  });
});
