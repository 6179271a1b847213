import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';

const closing = closeAfterEach();
const start = () => closing(startBackendApp());

describe('a page of the account, signed out', () => {
  it.each(['/auth/enroll', '/auth/password'])('%s leads to sign-in and back to itself', async (path) => {
    const app = await start();
    const visitor = app.visitor();
    const answer = await visitor.get(`${path}?returnTo=/account`, { headers: { accept: 'text/html' } });
    const back = `${path}?returnTo=%2Faccount`;
    expect([answer.status, answer.headers.location]).toEqual([302, `/auth/login?returnTo=${encodeURIComponent(back)}`]);
    const done = await postForm(visitor, '/auth/login', { ...ada, returnTo: back });
    expect(done.headers.location).toBe(back);
    expect((await visitor.get(back)).status).toBe(200);
  });

  it('/auth/password leads to sign-in and back where the session ended before the form was sent', async () => {
    const app = await start();
    const fields = { currentPassword: ada.password, password: 'three unlikely words', returnTo: '/account' };
    const answer = await postForm(app.visitor(), '/auth/password', fields);
    const back = encodeURIComponent('/auth/password?returnTo=%2Faccount');
    expect([answer.status, answer.headers.location]).toEqual([303, `/auth/login?returnTo=${back}`]);
    const { status, json } = await app.visitor().postJson('/auth/password', fields);
    expect([status, json.error.code]).toEqual([401, 'unauthenticated']);
  });
});
