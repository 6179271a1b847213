import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { send } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

describe.each(adapters)('$name refreshes once', ({ start }) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  /** A request of its own connection with the cookies that the visitor held when it was sent. */
  const ask = (cookie: string): Promise<Answer> =>
    send(new URL('/api/me', app.origin), { headers: { cookie, accept: 'application/json' } });

  async function withExpiredToken(): Promise<{ visitor: Visitor; cookie: string }> {
    const visitor = await app.signedIn();
    const cookie = visitor.cookieHeader();
    app.expireTokens();
    app.forget();
    return { visitor, cookie };
  }

  /** Every cookie that was handed out must open the session, now and after it has expired in turn. */
  async function expectToWork(answers: readonly Answer[]): Promise<void> {
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const cookies = new Set(answers.flatMap(({ setCookies }) => setCookies.map((line) => line.split(';', 1)[0]!)));
    const before = app.refreshes().length;
    for (const cookie of cookies) expect((await ask(cookie)).status).toBe(200);
    expect(app.refreshes()).toHaveLength(before);
    app.expireTokens();
    const last = [...cookies].at(-1)!;
    expect((await ask(last)).status).toBe(200);
    expect(app.refreshes()).toHaveLength(before + 1);
  }

  it('for each token, where an older cookie of the session is left beside it in any order', async () => {
    // As after `cookieOptions.domain` was added: browsers then hold two cookies of the name, the older one first.
    for (const order of ['older first', 'newer first']) {
      const { cookie: older } = await withExpiredToken();
      let newer = '';
      const cookies = (): string => (order === 'older first' ? [older, newer] : [newer, older]).join('; ');
      for (let renewals = 1; renewals <= 3; renewals += 1) {
        const { status, setCookies } = await ask(cookies());
        expect([order, renewals, status, app.refreshes().length]).toEqual([order, renewals, 200, renewals]);
        newer = setCookies.map((line) => line.split(';', 1)[0]).join('; ');
        expect((await ask(cookies())).status).toBe(200);
        // Later than any answer is kept for those who hold the spent token.
        app.clock.advance(60_000);
        expect((await ask(cookies())).status).toBe(200);
        app.expireTokens();
      }
    }
  });

  it('for 50 requests in a burst', async () => {
    const { cookie } = await withExpiredToken();
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(cookie)));
    expect(app.refreshes()).toHaveLength(1);
    await expectToWork(answers);
    expect(app.eventTypes().filter((type) => type === 'session_refreshed')).toHaveLength(2);
  });

  it('for 50 requests spread over a second, with the provider’s answer in the middle of them', async () => {
    const { cookie } = await withExpiredToken();
    const gate = app.gate();
    const answers: Promise<Answer>[] = [];
    for (let index = 0; index < 50; index += 1) {
      answers.push(ask(cookie));
      app.clock.advance(20);
      if (index === 25) {
        await gate.arrived();
        gate.open();
        await Promise.race(answers);
      }
    }
    const all = await Promise.all(answers);
    expect(app.refreshes()).toHaveLength(1);
    await expectToWork(all);
  });

  it('for requests that still send the old cookie, up to 25 seconds after the first answer', async () => {
    const { cookie } = await withExpiredToken();
    const answers = [await ask(cookie)];
    for (let index = 1; index < 50; index += 1) {
      app.clock.advance(500);
      answers.push(await ask(cookie));
    }
    expect(app.refreshes()).toHaveLength(1);
    await expectToWork(answers);
  });

  it('and leaves a later cookie to the provider', async () => {
    const { cookie } = await withExpiredToken();
    await ask(cookie);
    app.clock.advance(25_001);
    expect((await ask(cookie)).status).toBe(401);
    expect(app.refreshes()).toHaveLength(2);
  });

  it('for each of two simultaneous users, and never returns the other one’s session', async () => {
    const [ada, grace] = [await app.signedIn(), await app.otherSignedIn()];
    const emails: string[] = [];
    for (const visitor of [ada, grace]) emails.push((await visitor.getJson('/api/me')).json.user.email);
    expect(new Set(emails).size).toBe(2);
    const cookies = [ada.cookieHeader(), grace.cookieHeader()];
    app.expireTokens();
    app.forget();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => ask(cookies[index % 2]!)));
    expect(answers.map((answer) => answer.json.user.email)).toEqual(answers.map((_, index) => emails[index % 2]));
    expect(app.refreshes()).toHaveLength(2);
  });
});
