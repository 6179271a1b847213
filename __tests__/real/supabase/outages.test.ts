import { cookieName, startRealApp, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import type { User } from '../support/project.ts';
import type { Fault } from '../support/proxy.ts';

const faults: readonly (readonly [string, Fault])[] = [
  ['answers 503', { status: 503 }],
  ['answers 429', { status: 429, body: '{"message":"slow down"}' }],
  ['answers with a page', { status: 502, body: '<html>Bad gateway</html>' }],
  ['refuses connections', 'refused'],
  ['loses the answer', 'lost'],
  ['is too slow', { delay: 5_000 }],
];

describeGoTrue('a gateway in trouble', () => {
  const real = useRealApp({ options: { timeoutMs: 3_000 } });
  let user: User;
  beforeAll(async () => {
    user = await real.project.addUser();
  });

  it.each(faults)('that %s: a sign-in shows that it can be retried, and works afterwards', async (_name, fault) => {
    const visitor = real.app.visitor();
    real.project.proxy.break(/grant_type=password/, fault);
    const answer = await visitor.postJson('/auth/login', { ...user });
    expect([429, 503]).toContain(answer.status);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(visitor.cookies.has(cookieName)).toBe(false);
    real.project.proxy.heal();
    expect((await visitor.postJson('/auth/login', { ...user })).status).toBe(200);
  });

  it.each(faults)('that %s: a session with a valid token is served without a call', async (_name, fault) => {
    const visitor = await real.app.signedIn(user);
    await visitor.getJson('/auth/session');
    real.project.proxy.break(/./, fault);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it.each(faults)('that %s: sign-out clears the cookie', async (_name, fault) => {
    const visitor = await real.app.signedIn(user);
    real.project.proxy.break(/./, fault);
    const answer = await visitor.postJson('/auth/logout');
    expect([answer.status, visitor.cookies.has(cookieName)]).toEqual([200, false]);
  });

  it('that makes the keys unreachable at start-up: 503, and signed in as soon as they can be fetched', async () => {
    const visitor = await real.app.signedIn(user);
    const started = await startRealApp(real.project, { timeoutMs: 3_000 });
    const elsewhere = started.visitor();
    visitor.cookies.forEach((value, name) => elsewhere.cookies.set(name, value));
    real.project.proxy.break(/./, { status: 503 });
    const answer = await elsewhere.getJson('/api/me');
    expect([answer.status, elsewhere.cookies.has(cookieName)]).toEqual([503, true]);
    real.project.proxy.heal();
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect((await elsewhere.getJson('/api/me')).status).toBe(200);
    await started.close();
  });

  it('that refuses our key: reported to the operators, and not to the visitor', async () => {
    const misconfigured = await startRealApp(real.project, { anonKey: 'sb_publishable_of_another_project' });
    const answer = await misconfigured.visitor().postJson('/auth/login', { ...user });
    expect(answer.status).toBe(502);
    expect(answer.text).not.toContain('sb_publishable');
    await misconfigured.close();
  });
});
