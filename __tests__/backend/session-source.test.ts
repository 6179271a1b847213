import { createBackendSource } from '../../lib/backend/session-source.ts';
import { createSessionCookie } from '../../lib/backend/session-cookie.ts';

it('keeps the fields of a verified session that the SDK needs, and nothing that a visitor may have added', async () => {
  const claims = { sub: 'user', exp: 4_000_000_000, role: 'authenticated' };
  const source = createBackendSource(
    createSessionCookie('s', {}, []),
    { verify: () => Promise.resolve({ kind: 'valid', claims }) },
    { refresh: () => Promise.reject(new Error('not asked')) },
  );
  const kept = { access_token: 'a.b.c', refresh_token: 'r', token_type: 'bearer', expires_in: 3600, expires_at: 4e9 };
  const junk = { user: { id: [[], []] }, provider_token: { a: [] }, more: Array.from({ length: 1_000 }, () => []) };
  const verdict = await source.verify({ ...kept, ...junk }, 'provider');
  if (verdict.kind !== 'live') throw new Error('The session is not live.');
  expect(source.contentOf(verdict.session)).toEqual(kept);
});
