import { everyPageState } from '../../support/built-in-pages.ts';
import { named, ofAccount, outcome, outlineOf, page, refused, withoutForm } from '../../support/page-outline.ts';

const queried = 'returnTo=%2Faccount%3Ftab%3D1';
const longName = 'Donaudampfschifffahrtsgesellschaftskapitänsmützenverwaltung &lt;b&gt;verified&lt;/b&gt; by Google';
const openid = 'text: Know who you are';
const profile = 'text: See your profile, such as your name and picture';
const mail = 'text: See your email address';

function consent({
  name = 'Cursor',
  receiver = 'It will take you to www.cursor.example .',
  scopes = [openid, profile, mail] as readonly string[],
} = {}): string[] {
  return named(
    page(
      `Connect “${name}”?`,
      'lead: Signed in as ada@example.com',
      `text: ${receiver}`,
      'text: Not verified: any app can use this name. Allow it only if you started this yourself.',
      'h2: The app will be able to:',
      'text: Use Northwind as you, with your permissions',
      ...scopes,
      'form to /oauth/consent',
      '  authorization_id=abc',
      '  [Allow] quiet action=allow',
      '  [Deny] quiet action=deny',
      'form to /auth/logout',
      '  returnTo=/account?tab=1',
      '  prompt=login',
      '  [Use another account]',
    ),
  );
}

const expected: Readonly<Record<string, readonly string[]>> = {
  consent: consent(),
  'consent, every scope': consent({
    scopes: [
      openid,
      profile,
      mail,
      'text: See your phone number',
      'text: Stay connected while you’re away',
      'text: https://api.example/notes.read',
    ],
  }),
  'consent, on this device': consent({
    receiver: 'It will take you to an app on this device, at 127.0.0.1:33418 .',
  }),
  'consent, custom scheme': consent({ receiver: 'It will open an app on this device that handles cursor: links.' }),
  'consent, long names': consent({
    name: longName,
    receiver: `It will take you to ${'a-very-long-label.'.repeat(8)}example .`,
  }),
  'consent, no name': consent({ name: 'Unnamed app' }),
  'consent, another direction': consent({ name: 'مساعد Helper' }),
  'consent, expired': outcome(
    'emblem',
    refused(
      '400',
      'Start again in the app',
      'alert: This request has expired, was answered before, or belongs to another account. Signed in as ada@example.com',
      'Back to home → /',
      'form to /auth/logout',
      '  returnTo=/account?tab=1',
      '  prompt=login',
      '  [Use another account]',
    ),
  ),
  'consent, answered before': outcome(
    'emblem',
    refused(
      '400, no form may be sent',
      'Start again in the app',
      'alert: You have allowed “ Cursor ”. If it still waits for you, start again there. Signed in as ada@example.com',
      'Back to home → /',
    ),
  ),
  'consent, back to the app': withoutForm(
    named(
      page(
        'Go back to “Cursor”',
        'status: If nothing happens, choose Continue.',
        'Continue → cursor://oauth/callback?code=1',
      ),
    ),
  ),
  'consent, on to the app': withoutForm(
    ofAccount(
      page(
        'Taking you back to the app',
        'status: If nothing happens, choose Continue.',
        'Continue → https://www.cursor.example/oauth/callback?code=1',
      ),
    ),
  ),
  apps: withoutForm(
    ofAccount(
      page(
        'Connected apps',
        'lead: You have allowed these apps.',
        'name: Cursor Since Nov 22, 2026',
        `Disconnect: Cursor → /oauth/apps?revoke=d&${queried}`,
        'about: Know who you are · See your profile, such as your name and picture · See your email address',
        `name: ${longName} Since Nov 22, 2026`,
        `Disconnect: ${longName} → /oauth/apps?revoke=e&${queried}`,
        'about: See your email address',
        'name: Unnamed app Can’t be disconnected here',
        'Done → /account?tab=1',
      ),
    ),
  ),
  'apps, none': withoutForm(
    ofAccount(page('Connected apps', 'lead: You haven’t allowed any app.', 'Done → /account?tab=1')),
  ),
  'apps, disconnect': named(
    page(
      'Disconnect “Cursor”?',
      'lead: It won’t be able to use your account anymore, until you allow it again.',
      'form to /oauth/apps',
      '  revoke=d',
      '  sure=yes',
      '  returnTo=/account?tab=1',
      '  [Disconnect]',
      `Cancel → /oauth/apps?${queried}`,
    ),
  ),
};

let states: ReturnType<typeof everyPageState>;
beforeAll(() => {
  states = everyPageState();
});

it.each(Object.keys(expected))('the page "%s" reads, asks and leads as it should', (name) => {
  expect(outlineOf(states[name]!)).toEqual(expected[name]);
});

it('the outlines are of all pages about other apps', () => {
  const names = Object.keys(states).filter((name) => /^(?:consent|apps)/.test(name));
  expect(Object.keys(expected).sort()).toEqual(names.sort());
});
