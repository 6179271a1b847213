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

const removal = (name: string, ...lines: readonly string[]): string[] => named(page(`Remove “${name}”?`, ...lines));

const returnTo = '  returnTo=/account?tab=1';
const queried = 'returnTo=%2Faccount%3Ftab%3D1';
const backToSignIn = `Back to sign-in → /auth/login?${queried}`;
const forgotPassword = `Forgot password? → /auth/forgot?${queried}`;
const anotherAccount = ['form to /auth/logout', returnTo, '  prompt=login', '  [Use another account]'];
const supportOrOther = ['actions: Can’t confirm it’s you? Contact support.', ...anotherAccount];
const tooMany = 'alert: Too many attempts. Try again in 12 minutes.';
const unreachable = 'alert: We can’t reach the sign-in service right now.';

const email = {
  empty: ['label: Email', '  email: text username email autofocus'],
  malformed: [
    'label: Email',
    '  email: text username email email-error autofocus aria-invalid = ada@',
    'field-message: Enter an email such as name@example.com.',
  ],
  kept: ['label: Email', '  email: text username email form-error autofocus = ada@example.com'],
};
const code = {
  empty: ['label: Code', '  code: text one-time-code numeric autofocus'],
  unfocused: ['label: Code', '  code: text one-time-code numeric'],
  wrong: [
    'label: Code',
    '  code: text one-time-code numeric code-error autofocus aria-invalid',
    'field-message: That code isn’t right or has expired. Enter the newest one.',
  ],
  kept: ['label: Code', '  code: text one-time-code numeric form-error autofocus'],
  closed: ['label: Code', '  code: text one-time-code numeric form-error disabled'],
};

const confirmEmail = ['form to /auth/confirm', '  token_hash=pkce_abc', '  type=email', '  [Confirm and continue]'];
const confirmLead = 'lead: One click confirms your address and signs you in.';

const forgotLead = 'lead: Enter your email, and we’ll send you a link to choose a new password.';
const forgotForm = (field: readonly string[]): string[] => [
  'form to /auth/forgot',
  returnTo,
  ...field,
  '  [Send link]',
  backToSignIn,
];

const linkOver =
  'alert: This link has been used or has expired, or a newer email replaced it. Open the newest email, or request a new link.';
const ownerWays = [`Sign in → /auth/login?${queried}`, forgotPassword];

const passwordLead = 'lead: For ada@example.com';
/** @param current the field for the current password, which only signed-in users see */
const passwordForm = (current: readonly string[], input: string, ...message: readonly string[]): string[] => [
  'form to /auth/password',
  returnTo,
  '  username: text username hidden = ada@example.com',
  ...current,
  'label: New password',
  `  password: password new-password ${input}`,
  ...message,
  ...(input.includes('password-error') ? [] : ['hint: At least 8 characters']),
  '  [Save password]',
  ...(current.length > 0 ? ['Cancel → /account?tab=1'] : []),
  ...anotherAccount,
];
const currentPassword = (input: string, ...message: readonly string[]): string[] => [
  'label: Current password',
  `  currentPassword: password current-password ${input}`,
  forgotPassword,
  ...message,
];

const verifyLead = 'lead: Enter the six-digit code from your authenticator app.';
const verifyForm = (field: readonly string[], button = '  [Continue]', ...after: readonly string[]): string[] => [
  'form to /auth/verify',
  '  factorId=a',
  returnTo,
  ...field,
  button,
  ...after,
  'or: or',
  `Phone ending in 123 → /auth/verify?factorId=b&${queried}`,
  ...supportOrOther,
];

/** Hidden until the page's script shows them. */
const keyTexts = (known: readonly string[] = []): string[] => [
  'hint: That wasn’t completed. Try again, or choose another way.',
  ...known,
  'hint: Your browser couldn’t do that here. Try again, or choose another way.',
];
const askForKey = [
  'form to /auth/verify, script: get {"challenge":"k"} data-focus',
  '  factorId=k',
  returnTo,
  '  challengeId=',
  '  credential=',
  '  [Use your security key]',
  ...keyTexts(),
];
const keyOrAppLead = 'lead: Use your security key, or enter the code from your authenticator app.';
const codeBesideKey = (field: readonly string[]): string[] => [
  'or: or',
  'form to /auth/verify',
  '  factorId=a',
  returnTo,
  ...field,
  '  [Continue] quiet',
];
const addAppOrKey = [
  'form to /auth/enroll',
  returnTo,
  '  [Add an authenticator app]',
  'form to /auth/enroll, script: create {"type":"webauthn"}',
  '  type=webauthn',
  '  factorId=',
  returnTo,
  '  challengeId=',
  '  credential=',
  '  [Add a security key] quiet',
  ...keyTexts(['hint: This device is set up for your account already.']),
];

const factorRow = (name: string, id: string): string[] => [
  `name: ${name} Added Nov 22, 2026`,
  `Remove: ${name} → /auth/enroll?remove=${id}&${queried}`,
];
const addFactor = ['form to /auth/enroll', returnTo, '  [Add an authenticator app]'];
const done = 'Done → /account?tab=1';
const cancelOrHome = ['Cancel → /account?tab=1', 'Back to home → /'];
const enrollForm = (field: readonly string[]): string[] => [
  'text: Open an authenticator app, such as Google Authenticator or 1Password.',
  'text: Scan this picture with the app.',
  'picture: QR code for your authenticator app',
  'hint: Can’t scan it? Copy this key into the app:',
  'secret: JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP',
  'text: Enter the six-digit code that the app shows.',
  'form to /auth/enroll',
  '  factorId=c',
  '  uri=otpauth://totp/Northwind:ada@example.com?algorithm=SHA1&digits=6&issuer=Northwind&period=30&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
  returnTo,
  ...field,
  '  [Turn on]',
  'Cancel → /auth/enroll',
];

const codeForm = (field: readonly string[]): string[] => [
  'lead: We’ll email you a code. You don’t need a password.',
  'form to /auth/code',
  returnTo,
  ...field,
  '  [Email me a code]',
  backToSignIn,
];
const codeSent =
  'status: If you can sign in with ada@example.com , enter the code from our newest email, or open its link.';
const codeSentForm = (
  field: readonly string[],
  { resendIn = '', resendAt = '', codesAt = '', button = '  [Sign in]' } = {},
): string[] => [
  'form to /auth/code',
  '  email=ada@example.com',
  returnTo,
  ...(resendAt === '' ? [] : [`  resendAt=${resendAt}`]),
  ...field,
  button,
  'hint: Didn’t get it? Check your spam folder.',
  ...(resendIn === '' ? [] : [`wait: You can ask for another one in ${resendIn}.`]),
  'form to /auth/code',
  '  email=ada@example.com',
  returnTo,
  ...(codesAt === '' ? [] : [`  codesAt=${codesAt}`]),
  '  [Send another email] quiet',
  ...(codesAt === ''
    ? []
    : [
        'form to /auth/code',
        '  email=ada@example.com',
        returnTo,
        `  codesAt=${codesAt}`,
        '  reload=yes',
        '  [Reload this page]',
      ]),
  `Use another address → /auth/code?${queried}`,
  backToSignIn,
];

const ssoForm = (input: string, ...message: readonly string[]): string[] => [
  'lead: Sign in with your organization’s account.',
  'form to /auth/sso',
  returnTo,
  'label: Email',
  `  email: text username email ${input}`,
  ...(message.length > 0 ? message : ['hint: We find your organization by your email’s domain.']),
  '  [Continue]',
  backToSignIn,
];

const codeWasSent = withEmblem(
  'emblem',
  page(
    'Check your email',
    codeSent,
    ...codeSentForm(code.empty, { resendIn: '60 seconds', resendAt: '1769850360000' }),
  ),
);

const expected: Readonly<Record<string, readonly string[]>> = {
  confirm: page('Confirm your email', confirmLead, ...confirmEmail),
  'confirm, unavailable': refused(
    '503',
    'Confirm your email',
    confirmLead,
    unreachable,
    ...confirmEmail,
    'Back to sign-in → /auth/login',
  ),
  'confirm, for a new password': page(
    'Choose a new password',
    'lead: Continue to choose your new password.',
    'form to /auth/confirm',
    '  token_hash=pkce_abc',
    '  type=recovery',
    '  [Continue]',
  ),
  forgot: page('Reset your password', forgotLead, ...forgotForm(email.empty)),
  'forgot, email malformed': refused('400', 'Reset your password', forgotLead, ...forgotForm(email.malformed)),
  'forgot, throttled': refused('429', 'Reset your password', forgotLead, tooMany, ...forgotForm(email.kept)),
  'forgot, no address': outcome(
    'emblem',
    withoutForm(
      page(
        'Your account has no email address',
        'lead: Without one, a password can’t be changed here. You can still sign in the way you did before.',
        'Continue → /account?tab=1',
        `Use another account → /auth/login?${queried}&prompt=login`,
      ),
    ),
  ),
  'link expired': outcome(
    'emblem',
    refused(
      '400, no form may be sent',
      'This link doesn’t work anymore',
      'alert: It has been used or has expired, or a newer email replaced it. Request a new one to choose your password.',
      `Request a new link → /auth/forgot?${queried}`,
      backToSignIn,
    ),
  ),
  'link expired, of a sign-up': outcome(
    'emblem',
    refused(
      '400',
      'This link doesn’t work anymore',
      linkOver,
      'form to /auth/resend',
      returnTo,
      'label: Email',
      '  email: text email email autofocus',
      '  [Request a new link]',
      ...ownerWays,
    ),
  ),
  'link expired, of a code': outcome(
    'emblem',
    refused(
      '400, no form may be sent',
      'This link doesn’t work anymore',
      linkOver,
      `Request a new link → /auth/code?${queried}`,
      ...ownerWays,
    ),
  ),
  'link expired, of a changed address': outcome(
    'emblem',
    refused(
      '400, no form may be sent',
      'This link doesn’t work anymore',
      'alert: It has been used or has expired, or a newer email replaced it. If a second email went to your other address, open its link, too.',
      `Sign in → /auth/login?${queried}`,
    ),
  ),
  'link expired, of a guest': outcome(
    'emblem',
    refused(
      '400, no form may be sent',
      'This link doesn’t work anymore',
      linkOver,
      `Request a new link → /auth/signup?${queried}`,
    ),
  ),
  'factors, no address': ofAccount(
    page(
      'Two-step sign-in',
      'status: An authenticator app needs an email address, and your account has none.',
      'Contact support → /help',
      'Back to home → /',
      ...anotherAccount,
      'Help → /help',
    ),
  ),
  'password, after a link': page('Choose a new password', passwordLead, ...passwordForm([], 'password-hint autofocus')),
  'password, after a link, weak': refused(
    '422',
    'Choose a new password',
    passwordLead,
    ...passwordForm(
      [],
      'password-error autofocus aria-invalid',
      'field-message: This password is too weak. Use a longer one.',
    ),
  ),
  'password, signed in': ofAccount(
    page('Choose a new password', passwordLead, ...passwordForm(currentPassword('autofocus'), 'password-hint')),
  ),
  'password, current one wrong': ofAccount(
    refused(
      '422',
      'Choose a new password',
      passwordLead,
      ...passwordForm(
        currentPassword(
          'currentPassword-error autofocus aria-invalid',
          'field-message: The current password isn’t correct.',
        ),
        'password-hint',
      ),
    ),
  ),
  'password, unavailable': ofAccount(
    refused(
      '503',
      'Choose a new password',
      passwordLead,
      `${unreachable} Try again in 5 seconds.`,
      ...passwordForm(currentPassword('form-error autofocus'), 'form-error password-hint'),
    ),
  ),
  verify: page('Confirm it’s you', verifyLead, ...verifyForm(code.empty)),
  'verify, wrong code': refused('422', 'Confirm it’s you', verifyLead, ...verifyForm(code.wrong)),
  'verify, throttled': refused('429', 'Confirm it’s you', verifyLead, tooMany, ...verifyForm(code.kept)),
  'verify, closed': refused(
    '429',
    'Confirm it’s you',
    verifyLead,
    'alert: Too many wrong codes. Try again in 12 minutes.',
    ...verifyForm(code.closed, '  [Continue] disabled', `Reload this page → /auth/verify?factorId=a&${queried}`),
  ),
  'verify, phone': page(
    'Confirm it’s you',
    'lead: We can send a code to your phone ending in 123.',
    'form to /auth/verify',
    returnTo,
    '  [Send a code] send=b',
    ...supportOrOther,
  ),
  'verify, code sent': page(
    'Confirm it’s you',
    'status: We sent a six-digit code to your phone ending in 123.',
    'form to /auth/verify',
    '  factorId=b',
    returnTo,
    '  resendAt=1769850360000',
    ...code.empty,
    '  [Continue]',
    'wait: You can ask for another one in 60 seconds.',
    'form to /auth/verify',
    '  send=b',
    returnTo,
    '  [Send a new code] quiet',
    'or: or',
    `Authenticator app → /auth/verify?factorId=a&${queried}`,
    ...supportOrOther,
  ),
  'verify, another code': page(
    'Confirm it’s you',
    'status: We sent a six-digit code to your phone ending in 123.',
    'form to /auth/verify',
    '  factorId=b',
    returnTo,
    ...code.empty,
    '  [Continue]',
    'form to /auth/verify',
    '  send=b',
    returnTo,
    '  [Send a new code] quiet',
    'or: or',
    `Authenticator app → /auth/verify?factorId=a&${queried}`,
    ...supportOrOther,
  ),
  'verify, no factor': page(
    'Two-step sign-in',
    'lead: Two-step sign-in is off for your account now.',
    'form to /auth/verify',
    returnTo,
    '  [Continue]',
    ...anotherAccount,
  ),
  'verify, key': page(
    'Confirm it’s you',
    'lead: Use your security key.',
    'hint: This browser can’t use passkeys or security keys here. Turn on JavaScript if it is off, or use another browser.',
    ...askForKey,
    ...supportOrOther,
  ),
  'verify, key and app': page(
    'Confirm it’s you',
    keyOrAppLead,
    ...askForKey,
    ...codeBesideKey(code.empty),
    'or: or',
    `Phone ending in 123 → /auth/verify?factorId=b&${queried}`,
    ...supportOrOther,
  ),
  'verify, key and phone': page(
    'Confirm it’s you',
    'lead: Use your security key, or have a code sent to your phone ending in 123.',
    ...askForKey,
    'or: or',
    'form to /auth/verify',
    returnTo,
    '  [Send a code] quiet send=b',
    ...supportOrOther,
  ),
  'verify, key refused': refused(
    '422',
    'Confirm it’s you',
    keyOrAppLead,
    'alert: That didn’t work. Try again, or choose another way.',
    ...askForKey,
    ...codeBesideKey(code.kept),
    ...supportOrOther,
  ),
  'factors, with keys': ofAccount(
    page(
      'Two-step sign-in',
      'lead: When you sign in, we also ask for one of these.',
      ...factorRow('Security key', 'k'),
      ...factorRow('Authenticator app', 'a'),
      ...addAppOrKey,
      done,
    ),
  ),
  'factors, with keys, none': ofAccount(
    page(
      'Two-step sign-in',
      'lead: Add an authenticator app or a security key. We’ll then ask for it when you sign in.',
      ...addAppOrKey,
      ...cancelOrHome,
      ...anotherAccount,
    ),
  ),
  factors: ofAccount(
    page(
      'Two-step sign-in',
      'lead: When you sign in, we also ask for a code from one of these.',
      ...factorRow('Work', 'a'),
      ...factorRow('Phone ending in 123', 'b'),
      ...addFactor,
      done,
    ),
  ),
  'factors, first': ofAccount(
    page(
      'Two-step sign-in',
      'lead: When you sign in, we also ask for a code from one of these.',
      'status: Two-step sign-in is on. Add a second one, so that a lost phone doesn’t lock you out.',
      ...factorRow('Authenticator app', 'a'),
      ...addFactor,
      done,
    ),
  ),
  'factor, unavailable': outcome(
    'emblem',
    refused(
      '422',
      'We can’t check your second step',
      'alert: Your account uses two-step sign-in in a way that this app can’t check: Security key . Contact support, or use another account.',
      ...anotherAccount,
    ),
  ),
  'factor, unavailable for a session': outcome(
    'emblem',
    refused(
      '422',
      'We can’t check your second step',
      'alert: Your account uses two-step sign-in in a way that this app can’t check: Key of Ada and Recovery codes . Contact support, or use another account.',
      ...anotherAccount,
      'Back to home → /',
    ),
  ),
  'factor, rejected': outcome(
    'emblem bad',
    refused(
      '403, no form may be sent',
      'Your sign-in has ended',
      'alert: Your code wasn’t accepted. Sign in again, or contact support.',
      `Sign in → /auth/login?${queried}`,
    ),
  ),
  'factor, remove': removal(
    'Work',
    'lead: You won’t be able to use it anymore. We’ll ask for another one when you sign in.',
    'form to /auth/enroll',
    '  remove=a',
    '  sure=yes',
    returnTo,
    '  [Remove]',
    `Cancel → /auth/enroll?${queried}`,
  ),
  'factor, remove the last': removal(
    'Authenticator app',
    'lead: It is your only one. Two-step sign-in will be off.',
    'form to /auth/enroll',
    '  remove=a',
    '  sure=yes',
    returnTo,
    '  [Remove]',
    `Cancel → /auth/enroll?${queried}`,
  ),
  'factors, none': ofAccount(
    page(
      'Two-step sign-in',
      'lead: Add an authenticator app. We’ll then ask for its code when you sign in.',
      ...addFactor,
      ...cancelOrHome,
      ...anotherAccount,
    ),
  ),
  'enroll, closed': ofAccount(
    refused(
      '429',
      'Set up your authenticator app',
      'alert: Too many wrong codes.',
      'form to /auth/enroll',
      returnTo,
      '  [Start again]',
      'Cancel → /auth/enroll',
    ),
  ),
  enroll: ofAccount(page('Set up your authenticator app', ...enrollForm(code.unfocused))),
  'enroll, wrong code': ofAccount(refused('422', 'Set up your authenticator app', ...enrollForm(code.wrong))),
  code: page('Sign in with a code', ...codeForm(email.empty)),
  'code, email malformed': refused('400', 'Sign in with a code', ...codeForm(email.malformed)),
  'code sent': codeWasSent,
  'code sent, Gmail': codeWasSent.flatMap((line) => {
    const here = line.replace('ada@example.com', 'ada@gmail.com');
    return line.startsWith('hint') ? ['Open Gmail → https://mail.google.com/', here] : [here];
  }),
  // As many places as the code has.
  'code sent, eight digits': codeWasSent,
  'code sent, ten digits': codeWasSent,
  'code, wrong': withEmblem('emblem', refused('422', 'Check your email', codeSent, ...codeSentForm(code.wrong))),
  'code, another email too soon': withEmblem(
    'emblem',
    refused(
      '429',
      'Check your email',
      codeSent,
      'status: We can’t send another email yet.',
      ...codeSentForm(code.kept, { resendIn: '42 seconds', resendAt: '42000' }),
    ),
  ),
  'code, closed': withEmblem(
    'emblem',
    refused(
      '429',
      'Check your email',
      'status: ada@example.com',
      'alert: Too many wrong codes. If you have our newest email, you can open its link. Try again in 12 minutes.',
      ...codeSentForm(code.closed, { codesAt: '700000', button: '  [Sign in] disabled' }).filter(
        (line) => !line.startsWith('hint'),
      ),
    ),
  ),
  sso: page('Single sign-on', ...ssoForm('email-hint autofocus')),
  'sso, unavailable': refused(
    '422',
    'Single sign-on',
    ...ssoForm(
      'email-error autofocus aria-invalid = ada@example.com',
      'field-message: Single sign-on isn’t set up for this email. Check it, or sign in another way.',
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

it('the outlines are of all account pages', () => {
  const account = /^(confirm\b|forgot|password|link expired|verify|factor|enroll|code|sso)/;
  const names = Object.keys(states).filter((name) => account.test(name));
  expect(Object.keys(expected).sort()).toEqual(names.sort());
});
