import { everyPageState } from '../support/built-in-pages.ts';
import {
  named,
  ofAccount,
  outcome,
  outlineOf,
  page,
  refused,
  withEmblem,
  withoutForm,
} from '../support/page-outline.ts';

const returnTo = '  returnTo=/account?tab=1';
const queried = 'returnTo=%2Faccount%3Ftab%3D1';
const tooMany = (time: string): string => `alert: Too many attempts. Try again in ${time}.`;

const or = 'or: or';
const oauthLinks = (all: readonly (readonly [name: string, label: string])[]): string[] => [
  ...all.map(([name, label]) => `Continue with ${label} → /auth/login?provider=${name}&${queried}`),
  or,
];
const gitHub = ['github', 'GitHub'] as const;
const two = oauthLinks([gitHub, ['google', 'Google']]);

/** Its heading names the application, so no line below does. */
const signIn = (...lines: readonly string[]): string[] => [
  '200',
  'title: Sign in to Northwind',
  'h1: Sign in to Northwind',
  'lead: Welcome back. Sign in to continue.',
  ...lines,
];
const signInRefused = (status: string, ...lines: readonly string[]): string[] => [
  status,
  'title: Error: Sign in to Northwind',
  'h1: Sign in to Northwind',
  'lead: Welcome back. Sign in to continue.',
  ...lines,
];
const changed = (way: string): string[] =>
  outcome(
    'emblem good',
    withoutForm(page('Your new email is confirmed', 'status: Use it the next time you sign in.', way)),
  );
const switchLead = 'lead: You’re signed in as ada@example.com . This link signs you in as eve@example.com .';
const switchFormsOf = (other: string, account: string, id: string): string[] => [
  'form to /auth/confirm',
  returnTo,
  `  [Continue as ${other}] quiet account=${id}`,
  `  [Stay signed in as ${account}] quiet stay=yes`,
];
const switchForms = switchFormsOf('eve@example.com', 'ada@example.com', 'o');
const longNames = {
  account: `donaudampfschifffahrtsgesellschaft@${'a-very-long-label.'.repeat(4)}example`,
  other: `${'a-very-long-label.'.repeat(8)}@example.com`,
};
const field = (label: string, input: string, ...message: readonly string[]): string[] => [
  `label: ${label}`,
  `  ${input}`,
  ...message,
];
const email = (input: string, ...message: readonly string[]): string[] =>
  field('Email', `email: text username${input}`, ...message);
const password = (input: string, ...message: readonly string[]): string[] => [
  ...field('Password', `password: password current-password${input}`),
  `Forgot password? → /auth/forgot?${queried}`,
  ...message,
];
const empty = [...email(' email autofocus'), ...password('')];
const kept = [...email(' email form-error = ada@example.com'), ...password(' form-error autofocus')];
const passwordForm = (fields: readonly string[], ...buttons: readonly string[]): string[] => [
  'form to /auth/login',
  returnTo,
  ...fields,
  '  [Sign in]',
  ...buttons,
];
const noAddress = 'lead: Your account has no email address. Sign in again the way you did before, or contact support.';
const noAddressWays = [`Use another account → /auth/login?${queried}&prompt=login`, 'Back to home → /'];
const insteadCode = '  [Email me a code instead] quiet to /auth/code';
const codeForm = (input: string): string[] => ['form to /auth/code', returnTo, ...email(input), '  [Email me a code]'];
const toSso = `Single sign-on → /auth/sso?${queried}`;
const toSignUp = ['actions: New here?', `Create an account → /auth/signup?${queried}`];

/** The texts are hidden until the page's script shows one. */
const ceremony = (form: string, button: string, ...known: readonly string[]): string[] => [
  form,
  returnTo,
  '  challengeId=',
  '  credential=',
  ...(form.endsWith('data-again') ? ['  again=yes'] : []),
  `  ${button}`,
  'hint: That wasn’t completed. Try again, or choose another way.',
  ...known,
  'hint: Your browser couldn’t do that here. Try again, or choose another way.',
];
/** "or" hides with the button. */
const belowOr = (form: readonly string[]): string[] =>
  form.flatMap((line) => (line.startsWith('  [') ? [or, line] : [line]));
const fallback =
  'hint: This browser can’t use passkeys or security keys here. Turn on JavaScript if it is off, or use another browser.';

const signUpForm = (fields: readonly string[], isGuest = false): string[] => [
  ...(isGuest ? [] : two),
  'form to /auth/signup',
  returnTo,
  ...fields,
  '  [Create account]',
  ...(isGuest ? [...two.slice(-1), ...two.slice(0, -1)] : []),
  'actions: Already have an account?',
  `Sign in → /auth/login?${queried}`,
];
const newEmail = (input: string, ...message: readonly string[]): string[] =>
  field('Email', `email: text email email${input}`, ...message);
const newPassword = (input: string, ...message: readonly string[]): string[] =>
  field('Password', `password: password new-password${input}`, ...message);
const atLeast = (count: number): string => `hint: At least ${count} characters`;

const ownerWays = ['Sign in → /auth/login', 'Forgot password? → /auth/forgot'];
const mailSent = (words: string, path: string, ways: readonly string[] = ownerWays): string[] =>
  withEmblem(
    'emblem',
    page(
      'Check your email',
      `status: ${words}`,
      'wait: You can ask for another one in 60 seconds.',
      `form to ${path}`,
      '  email=ada@example.com',
      '  [Resend email] quiet',
      'hint: Didn’t get it? Check your spam folder.',
      ...ways,
    ),
  );

const passkeysLead = 'lead: Sign in with your fingerprint, face or screen lock instead of a password.';
const passkeyRow = (name: string, id: string, dates: string): string[] => [
  `name: ${name} ${dates}`,
  `Rename: ${name} → /auth/passkeys?rename=${id}&${queried}`,
  `Remove: ${name} → /auth/passkeys?remove=${id}&${queried}`,
];
const passkeyRows = [
  ...passkeyRow('Passkey', 'p', 'Added Nov 22, 2026'),
  ...passkeyRow('iCloud Keychain', 'q', 'Added Nov 22, 2026 Last used Nov 22, 2026'),
];
const addPasskey = [
  fallback,
  ...ceremony(
    'form to /auth/passkeys, script: create {}',
    '[Add a passkey]',
    'hint: This device is set up for your account already.',
  ),
  'Done → /account?tab=1',
];
const cancel = `Cancel → /auth/passkeys?${queried}`;
const renaming = (id: string, input: string, ...message: readonly string[]): string[] => [
  'form to /auth/passkeys',
  `  rename=${id}`,
  returnTo,
  ...field('Name', `name: text off${input}`, ...message),
  '  [Save name]',
  cancel,
];
const expected: Readonly<Record<string, readonly string[]>> = {
  'sign-in': signIn(...two, ...passwordForm(empty), ...toSignUp),
  'sign-in, plain': [
    '200',
    'title: Sign in',
    'h1: Sign in',
    'lead: Welcome back. Sign in to continue.',
    ...passwordForm(empty),
    ...toSignUp,
  ],
  'sign-in, many providers': signIn(
    ...oauthLinks([
      ['google', 'Google'],
      gitHub,
      ['azure', 'Microsoft'],
      ['apple', 'Apple'],
      ['linkedin_oidc', 'LinkedIn'],
      ['custom%3Aacme-sso', 'Acme Sso'],
    ]),
    ...passwordForm(empty),
    ...toSignUp,
  ),
  'sign-in, last used': signIn(
    `Continue with GitHub → /auth/login?provider=github&${queried}`,
    `Continue with Google Last used → /auth/login?provider=google&${queried}`,
    or,
    ...passwordForm(empty),
    ...toSignUp,
  ),
  'sign-in, last used, many providers': signIn(
    `Continue with Microsoft Last used → /auth/login?provider=azure&${queried}`,
    ...oauthLinks([
      ['google', 'Google'],
      gitHub,
      ['apple', 'Apple'],
      ['linkedin_oidc', 'LinkedIn'],
      ['custom%3Aacme-sso', 'Acme Sso'],
    ]),
    ...passwordForm(empty),
    ...toSignUp,
  ),
  'sign-in, last used, every way': signIn(
    ...passwordForm(empty, or, insteadCode).map((line) => (line === '  [Sign in]' ? '  [Sign in Last used]' : line)),
    toSso,
    ...toSignUp,
  ),
  'sign-in, wrong password': signInRefused(
    '401',
    ...two,
    ...passwordForm([
      ...email(' email = ada@example.com'),
      ...password(' password-error autofocus aria-invalid', 'field-message: Incorrect email or password.'),
    ]),
    ...toSignUp,
  ),
  'sign-in, throttled': signInRefused('429', tooMany('12 minutes'), ...two, ...passwordForm(kept), ...toSignUp),
  'sign-in, email missing': signInRefused(
    '400',
    ...two,
    ...passwordForm([
      ...email(' email email-error autofocus aria-invalid', 'field-message: Enter your email.'),
      ...password(''),
    ]),
    ...toSignUp,
  ),
  'sign-in, unconfirmed': signInRefused(
    '403',
    'status: Please confirm your email address first, with the link in an email from us.',
    'form to /auth/resend',
    '  email=ada@example.com',
    returnTo,
    '  [Resend email] quiet autofocus',
    ...two,
    ...passwordForm([...email(' email form-error = ada@example.com'), ...password(' form-error')]),
    ...toSignUp,
  ),
  'sign-in, passkey': signIn(
    ...oauthLinks([gitHub]),
    ...passwordForm([...email(' webauthn email autofocus'), ...password('')], or, insteadCode),
    ...ceremony('form to /auth/passkey, script: get {} data-autofill', '[Sign in with a passkey] quiet'),
    ...toSignUp,
  ),
  'sign-in, code and passkey': signInRefused(
    '422',
    'alert: That took too long. Try again.',
    ...codeForm(' webauthn email form-error autofocus = ada@example.com'),
    ...belowOr(
      ceremony('form to /auth/passkey, script: get {} data-autofill data-again', '[Sign in with a passkey] quiet'),
    ),
  ),
  'sign-in, passkey only': signInRefused(
    '422',
    'alert: That didn’t work. Try again, or choose another way.',
    ...oauthLinks([gitHub]).slice(0, -1),
    fallback,
    ...belowOr(ceremony('form to /auth/passkey, script: get {}', '[Sign in with a passkey]')),
  ),
  'sign-in, codes only': signIn(...oauthLinks([gitHub]), ...codeForm(' email autofocus'), or, toSso),
  'sign-in, every way': signIn(
    ...passwordForm([...email(' email = ada@example.com'), ...password(' autofocus')], or, insteadCode),
    toSso,
    ...toSignUp,
  ),
  'sign-in, no address': [
    '200, no form may be sent',
    'title: Sign in to Northwind',
    'h1: Sign in to Northwind',
    noAddress,
    `Continue with X → /auth/login?provider=twitter&${queried}`,
    ...noAddressWays,
  ],
  'sign-in, no address, passkey': [
    '200',
    'title: Sign in to Northwind',
    'h1: Sign in to Northwind',
    noAddress,
    fallback,
    ...ceremony('form to /auth/passkey, script: get {}', '[Sign in with a passkey]'),
    ...noAddressWays,
  ],
  'sign-in, signed in': outcome(
    'emblem good',
    withoutForm(
      page(
        'You’re signed in',
        'lead: Signed in as ada@example.com',
        'Continue → /account?tab=1',
        `Use another account → /auth/login?${queried}&prompt=login`,
      ),
    ),
  ),
  'sign-up': page(
    'Create your account',
    ...signUpForm([...newEmail(' autofocus'), ...newPassword(' password-hint'), atLeast(8)]),
  ),
  'sign-up, guest': page(
    'Create your account',
    'lead: You’re here as a guest. To keep your data, sign up with your email.',
    ...signUpForm([...newEmail(' autofocus'), ...newPassword(' password-hint'), atLeast(8)], true),
  ),
  'sign-up, account exists': outcome(
    'emblem',
    refused(
      '409, no form may be sent',
      'You’re signed in',
      'alert: You already have an account with ada@example.com .',
      'Continue → /account?tab=1',
      `Use another account → /auth/login?${queried}&prompt=login`,
    ),
  ),
  'sign-up, email malformed': refused(
    '400',
    'Create your account',
    ...signUpForm([
      ...newEmail(
        ' email-error autofocus aria-invalid = ada@',
        'field-message: Enter an email such as name@example.com.',
      ),
      ...newPassword(' password-hint'),
      atLeast(8),
    ]),
  ),
  'sign-up, weak password': refused(
    '422',
    'Create your account',
    ...signUpForm([
      ...newEmail(' = ada@example.com'),
      ...newPassword(
        ' password-error autofocus aria-invalid',
        'field-message: This password is too weak. Use a longer one.',
      ),
    ]),
  ),
  'sign-up, short password': refused(
    '422',
    'Create your account',
    ...signUpForm([
      ...newEmail(' = ada@example.com'),
      ...newPassword(
        ' password-error autofocus aria-invalid',
        'field-message: This password is too short. Use at least 12 characters.',
      ),
    ]),
  ),
  'sign-up, throttled': refused(
    '429',
    'Create your account',
    tooMany('30 seconds'),
    ...signUpForm([
      ...newEmail(' form-error = ada@example.com'),
      ...newPassword(' form-error password-hint autofocus'),
      atLeast(8),
    ]),
  ),
  'confirmation sent': mailSent(
    'If ada@example.com has no account yet, open the link in our email to confirm it. Already have one? Sign in, or reset your password.',
    '/auth/resend',
  ),
  'confirmation sent, Gmail': mailSent(
    'If ada@gmail.com has no account yet, open the link in our email to confirm it. Already have one? Sign in, or reset your password.',
    '/auth/resend',
  ).flatMap((line) => {
    const here = line.replace('ada@example.com', 'ada@gmail.com');
    return line.startsWith('wait') ? ['Open Gmail → https://mail.google.com/', here] : [here];
  }),
  'mail sent again': mailSent(
    'If ada@example.com still needs to be confirmed, open the link in our newest email.',
    '/auth/resend',
  ),
  'recovery mail sent': mailSent(
    'If ada@example.com has an account, open the link in our newest email to choose a new password.',
    '/auth/forgot',
    ['Back to sign-in → /auth/login'],
  ),
  'mail, too soon': withEmblem(
    'emblem',
    refused(
      '429',
      'Please wait',
      'status: We can’t send another email yet.',
      'wait: You can ask for another one in 12 minutes.',
      'form to /auth/resend',
      '  email=ada@example.com',
      '  resendAt=700000',
      '  reload=yes',
      '  [Reload this page]',
      ...ownerWays,
    ),
  ),
  'please sign in': outcome(
    'emblem',
    withoutForm(
      page(
        'Sign in to continue',
        'status: This link has been used, has expired, or was opened in another browser.',
        'Sign in → /auth/login',
        'Forgot password? → /auth/forgot',
      ),
    ),
  ),
  'one more link': outcome(
    'emblem',
    withoutForm(
      page(
        'One more link to open',
        'status: Open the links in both emails: the one to your old address and the one to your new address.',
        'Continue → /',
      ),
    ),
  ),
  'address changed': changed(`Sign in → /auth/login?${queried}`),
  'address changed, signed in': changed('Continue → /account?tab=1'),
  'switch account': ofAccount(page('Switch accounts?', switchLead, ...switchForms)),
  'switch account, long names': ofAccount(
    page(
      'Switch accounts?',
      `lead: You’re signed in as ${longNames.account} . This link signs you in as ${longNames.other} .`,
      ...switchFormsOf(longNames.other, longNames.account, 'e'),
    ),
  ),
  'switch account, signed out': ofAccount(
    page(
      'Sign in',
      'lead: This link signs you in as eve@example.com .',
      'form to /auth/confirm',
      '  [Continue as eve@example.com] quiet account=o',
      '  [Cancel] quiet stay=yes',
    ),
  ),
  'switch account, unavailable': ofAccount(
    refused(
      '503',
      'Switch accounts?',
      switchLead,
      'alert: We can’t reach the sign-in service right now. Try again in 5 seconds.',
      ...switchForms,
    ),
  ),
  passkeys: ofAccount(page('Passkeys', passkeysLead, ...passkeyRows, ...addPasskey)),
  'passkeys, offer': [
    '200, no form may be sent',
    'title: Sign in faster next time? · Northwind',
    'h1: Sign in faster next time?',
    'app: to continue to Northwind',
    passkeysLead,
    `Add a passkey → /auth/passkeys?${queried}`,
    'Not now → /account?tab=1',
  ],
  'passkeys, none': ofAccount(page('Passkeys', passkeysLead, ...addPasskey)),
  'passkeys, off': ofAccount(
    outcome(
      'emblem',
      refused('400, no form may be sent', 'Passkeys', 'alert: Passkeys aren’t available here.', 'Back to home → /'),
    ),
  ),
  'passkeys, gone': ofAccount(
    refused(
      '400',
      'Passkeys',
      passkeysLead,
      'alert: This passkey doesn’t exist anymore.',
      ...passkeyRows,
      ...addPasskey,
    ),
  ),
  'passkeys, rename': named(page('Rename “iCloud Keychain”', ...renaming('q', ' autofocus = iCloud Keychain'))),
  'passkeys, rename, no name': named(
    refused(
      '400',
      'Rename “Passkey”',
      ...renaming('p', ' name-error autofocus aria-invalid', 'field-message: Enter a short name.'),
    ),
  ),
  'passkeys, remove': named(
    page(
      'Remove “iCloud Keychain”?',
      'lead: You won’t be able to sign in with it anymore. Delete it on your device, too.',
      'form to /auth/passkeys',
      '  remove=q',
      '  sure=yes',
      returnTo,
      '  [Remove]',
      cancel,
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

it('the outlines are of all pages for sign-in, sign-up, emails and passkeys', () => {
  const names = Object.keys(states).filter((name) =>
    /^(?:sign-in|sign-up|mail|confirmation|recovery|please|one more|address|switch|passkeys)\b/.test(name),
  );
  expect(Object.keys(expected).sort()).toEqual(names.sort());
});
