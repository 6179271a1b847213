import { randomBytes } from 'node:crypto';
import { backendAuth } from '../../lib/backend/index.ts';
import { paths } from '../../lib/backend/option-schema.ts';
import { adapterOf } from '../../lib/http/adapter.ts';

/** The pages that a sign-in leads back to. */
const returnTargets = ['connectedAppsPath', 'consentPath', 'enrollPath', 'passkeysPath', 'passwordPath'];

it('each path knows its option, as an error about two adapters names it, and whether returnTo may name it', () => {
  const options = Object.keys(paths);
  const auth = backendAuth({
    url: 'https://abcdefghijklmnopqrst.supabase.co',
    anonKey: `sb_publishable_${randomBytes(16).toString('hex')}`,
    signInMethods: ['password', 'code', 'passkey'],
    sso: true,
    oauthConsent: true,
    ...Object.fromEntries(options.map((option) => [option, `/own/${option}`])),
  });
  const own = [...(adapterOf(auth)?.ownPaths.values() ?? [])];
  expect(own.map(({ option, path }) => `${option} ${path}`).toSorted()).toEqual(
    // Beside the stylesheet is the icon.
    [...options.map((option) => `${option} /own/${option}`), 'stylesheetPath /own/stylesheetPath.svg'].toSorted(),
  );
  expect(own.flatMap(({ option, isReturnTarget }) => (isReturnTarget === true ? [option] : [])).toSorted()).toEqual(
    returnTargets,
  );
});
