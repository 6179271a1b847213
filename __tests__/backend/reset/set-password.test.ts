import { emailWithPassword, isOfOrganization } from '../../../lib/backend/reset/set-password.ts';
import { asIssued } from '../../../lib/backend/supabase/account.ts';

const sessionWith = (providers: unknown) =>
  ({ user: { email: 'ada@example.com', appMetadata: { providers } } }) as never;

it.each<[unknown, boolean, boolean]>([
  [undefined, false, true],
  ['sso:1', false, true],
  [[], false, false],
  [['email'], false, true],
  [['google'], false, false],
  [['google', 'email'], false, true],
  [['sso:1'], true, false],
  [['google', 'sso:1'], true, false],
  [['google', 'xsso:1'], false, false],
  [[7, null], false, false],
])('an account with the providers %j is of an organization: %p, and has a password: %p', (providers, isOf, has) => {
  const session = sessionWith(providers);
  expect([isOfOrganization(session), emailWithPassword(session)]).toEqual([isOf, has ? 'ada@example.com' : null]);
});

it.each([undefined, null, 'ada', 7, []])('tokens with the user %j are no session', (user) => {
  const content = { access_token: 'a', refresh_token: 'r' };
  expect(() => asIssued(content, user)).toThrow(expect.objectContaining({ code: 'token_rejected' }));
  expect(asIssued(content, { id: 'ada' })).toEqual({ ...content, token_type: 'bearer', user: { id: 'ada' } });
});
