import express from 'express';
import { startSupabaseLocal } from '../../example-app/providers/supabase/index.ts';
import type { SupabaseLocal } from '../../example-app/providers/supabase/index.ts';
import { backendAuth, getSupabaseClient } from '../../lib/backend/index.ts';
import { postForm } from '../support/backend-app.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

/** Against @supabase/lite: another implementation of the same API than the stand-in, and one that signs with a shared secret. */
let backend: SupabaseLocal;
let app: RunningServer;
let visitor: Visitor;

beforeAll(async () => {
  const handler = express();
  app = await serve(handler);
  backend = await startSupabaseLocal({ port: 0, siteUrl: app.origin });
  handler.use(
    backendAuth({
      url: backend.url,
      anonKey: backend.publishableKey,
      providers: ['github'],
      protectedRoutes: '/account',
    }),
  );
  handler.get('/account', (_req, res) => void res.send('account'));
  handler.get('/notes', (req, res, next) => {
    getSupabaseClient(req)
      .then((client) => client.from('notes').select())
      .then(({ data }) => res.json(data), next);
  });
});
afterAll(async () => {
  await app.close();
  await backend.close();
});
beforeEach(() => {
  visitor = createVisitor(app.origin);
  backend.outbox.clear();
});

it('signs in, reads what row-level security shows, and signs out', async () => {
  const signedIn = await postForm(visitor, '/auth/login', { ...backend.demo, returnTo: '/account' });
  expect([signedIn.status, signedIn.headers.location]).toEqual([303, '/account']);
  expect((await visitor.get('/account')).text).toBe('account');
  expect((await visitor.getJson('/auth/session')).json.user.email).toBe(backend.demo.email);
  expect((await visitor.getJson('/notes')).json).toHaveLength(2);
  const cookie = visitor.cookieHeader();
  expect((await visitor.post('/auth/logout')).status).toBe(303);
  const replayed = await createVisitor(app.origin).get('/auth/session', { headers: { cookie } });
  expect(replayed.status).toBe(401);
});

it('refuses a wrong password', async () => {
  const answer = await visitor.postJson('/auth/login', { ...backend.demo, password: 'wrong' });
  expect([answer.status, answer.json.error.code]).toEqual([401, 'invalid_credentials']);
});

it('signs up by a mail’s link to /auth/confirm', async () => {
  const account = { email: 'grace@example.com', password: 'nanoseconds of wire' };
  const answer = await visitor.postJson('/auth/signup', account);
  expect(answer.json).toMatchObject({ emailConfirmationRequired: true, email: account.email });
  const [mail] = backend.outbox.list();
  const [link = ''] = /\/auth\/confirm\?[^"\s<]+/.exec(JSON.stringify(mail).replaceAll('&amp;', '&')) ?? [];
  const { searchParams } = new URL(link.replace(/\\.*$/, ''), app.origin);
  const fields = { token_hash: searchParams.get('token_hash') ?? '', type: searchParams.get('type') ?? '' };
  expect((await visitor.get(`/auth/confirm?${new URLSearchParams(fields).toString()}`)).status).toBe(200);
  expect((await postForm(visitor, '/auth/confirm', fields)).status).toBe(303);
  expect((await visitor.getJson('/auth/session')).json.user.email).toBe(account.email);
});

it.each(['approve', 'deny'])('goes through "GitHub" (%s)', async (decision) => {
  const start = await visitor.get('/auth/login?provider=github&returnTo=/account');
  const consentUrl = (await createVisitor(app.origin).get(start.location)).location;
  const { searchParams } = new URL(consentUrl);
  const body = new URLSearchParams({ decision });
  for (const name of ['state', 'redirect_uri']) body.set(name, searchParams.get(name) ?? '');
  const decided = await fetch(consentUrl, { method: 'POST', body, redirect: 'manual' });
  const back = await fetch(decided.headers.get('location') ?? '', { redirect: 'manual' });
  const callback = (back.headers.get('location') ?? '').split('#')[0] ?? '';
  const done = await visitor.get(callback);
  expect([done.status, done.headers.location]).toEqual(decision === 'approve' ? [303, '/account'] : [403, undefined]);
});
