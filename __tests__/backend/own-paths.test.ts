import { randomBytes } from 'node:crypto';
import { backendAuth } from '../../lib/backend/index.ts';
import { routeDefaults } from '../../lib/backend/option-schema.ts';
import { adapterOf } from '../../lib/http/adapter.ts';
import { optionAt } from '../support/option-at.ts';

/** The pages that a sign-in leads back to. */
const returnTargets = ['account', 'connectedApps', 'consent', 'enroll', 'passkeys', 'password'].map(
  (name) => `paths.${name}`,
);

it('each path knows its option, as an error about two adapters names it, and whether returnTo may name it', () => {
  const options = Object.keys(routeDefaults).filter((option) => !['stylesheetPath', 'scriptPath'].includes(option));
  const given = options.map((option) => optionAt(option, `/own/${option}`));
  const auth = backendAuth({
    url: 'https://abcdefghijklmnopqrst.supabase.co',
    anonKey: `sb_publishable_${randomBytes(16).toString('hex')}`,
    signInMethods: ['password', 'code', 'passkey'],
    sso: true,
    oauthConsent: true,
    ...Object.assign({}, ...given),
    paths: Object.assign({}, ...given.map((each) => ('paths' in each ? each.paths : {}))) as object,
  });
  const own = [...(adapterOf(auth)?.ownPaths.values() ?? [])];
  expect(own.map(({ option, path }) => `${option} ${path}`).toSorted()).toEqual(
    [
      ...options.map((option) => `${option} /own/${option}`),
      ...['css', 'js', 'svg'].map((type) => `undefined /auth/pages.${type}`),
    ].toSorted(),
  );
  expect(own.flatMap(({ option, isReturnTarget }) => (isReturnTarget === true ? [option] : [])).toSorted()).toEqual(
    // A tree without a room has no route of it.
    returnTargets.filter((option) => options.includes(option)),
  );
});
