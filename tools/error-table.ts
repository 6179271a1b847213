/**
 * Writes docs/errors.md from the tables in the code; `--check` only reports whether the file is current.
 *
 *     node tools/error-table.ts [--check]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { errorTable } from '../lib/error-table.ts';
import type { AuthEvent } from '../lib/types.ts';

type EventOf<Type extends AuthEvent['type']> = Extract<AuthEvent, { type: Type }>;

/** Every field must be listed: a field without a description or a removed field does not compile. */
type EventRows = {
  readonly [Type in AuthEvent['type']]: {
    readonly when: string;
    readonly fields: Readonly<Record<Exclude<keyof EventOf<Type>, 'type' | 'adapter'>, string>>;
  };
};

const subject = { userId: '', sessionId: '', organizationId: '' };

const events: EventRows = {
  signed_in: { when: 'A user signed in or up, and the session is about to be stored.', fields: subject },
  signed_out: { when: 'A user signed out here.', fields: subject },
  session_refreshed: { when: 'An access token was renewed.', fields: subject },
  session_ended: {
    when: 'The provider ended the session for good (revoked, banned, refresh token spent), or it reached `idleTimeout` or `sessionMaxAge`. The cookie is cleared.',
    fields: { ...subject, reason: "the provider's code" },
  },
  refresh_failed: {
    when: 'The provider could not be asked for a new token. The session is kept.',
    fields: {
      ...subject,
      code: 'an error code of the table above',
      reason:
        "`rate_limited`, `timeout` (the call goes on), `unanswered`, `server_error`, `provider_refused`, or the provider's error code",
    },
  },
  refresh_skipped: {
    when: 'A refresh was due, but the response had already begun, so no token was spent.',
    fields: { reason: '`headers_sent`' },
  },
  sign_in_failed: {
    when: 'A sign-in or sign-up failed.',
    fields: {
      code: 'an error code of the table above, or `internal_error` where `onSignIn` threw something else',
      reason: "our verdict (`role`) or the provider's error code (`unexpected_failure`)",
    },
  },
  consent_given: {
    when: 'A user allowed what another app asked for.',
    fields: { userId: '', clientId: 'the OAuth client, where this process showed the page' },
  },
  consent_denied: {
    when: 'A user denied what another app asked for.',
    fields: { userId: '', clientId: 'the OAuth client, where this process showed the page' },
  },
  grant_revoked: {
    when: 'A user disconnected an app. Its tokens are over.',
    fields: { userId: '', clientId: 'the OAuth client' },
  },
  mail_failed: {
    when: 'Supabase did not send the email of a sign-up or resend. The user sees the same page as everyone: "Check your email".',
    fields: {
      code: 'an error code of the table above',
      reason:
        "the provider's error code: `over_email_send_rate_limit` (its limits), `unexpected_failure` (mail server, trigger)",
    },
  },
  cookie_lost: {
    when: 'Cookies came too late: the response had already begun. Ask for the session before you stream.',
    fields: { names: "the cookies' names" },
  },
  session_rejected: {
    when: 'A session cookie gave no session. One that held a session of this app that has ended was deleted; any other stays, because another app may own it. With the reason `not_accepted` the option `accept` refused a session, and its cookie stays.',
    fields: { reason: 'why, such as `unreadable` or `subject`' },
  },
  session_large: {
    when: 'The session takes more than 8 KB of cookies. Emitted once per sign-in and once per refresh.',
    fields: { bytes: 'bytes of the `Cookie` header' },
  },
  session_too_large: {
    when: 'The session takes more than 12 KB of cookies, so it is not stored. A sign-in is refused; after a refresh the person is signed out.',
    fields: { userId: '', sessionId: '', organizationId: '', bytes: 'bytes of the `Cookie` header that it would take' },
  },
  keys_unavailable: {
    when: "The provider's signing keys could not be fetched.",
    fields: { stale: 'whether cached keys serve meanwhile' },
  },
  coordinator_unavailable: {
    when: 'The shared coordinator, or a part of it, is out of reach or refuses. This process goes on by itself. Once for each outage.',
    fields: {
      operation: 'what it was asked for: `refresh`, `record` (of a session or user) or `throttle`',
      reason:
        '`unavailable` (no connection, no answer in time, or it cannot serve now), `not_permitted`, `not_authenticated`, `read_only`, `refused` (any other error that Redis answers) or `unreadable` (another password or program wrote it)',
    },
  },
  coordinator_recovered: {
    when: 'All of the shared coordinator is in reach again. Comes with the first call that succeeds, after a refusal with the first of the same kind.',
    fields: {},
  },
  hook_failed: {
    when: 'A hook of the application threw, or did not answer within `timeoutMs`. The sign-out went on.',
    fields: {
      hook: '`onSignOut`',
      code: '`internal_error`, or that of an `AuthError`',
      reason: 'where the error has one',
    },
  },
  revocation_failed: {
    when: '`endSession` of `b2bAuth` ended a session here, but could not end it at WorkOS. Its refresh token is refused here all the same.',
    fields: {
      code: '`provider_unavailable` or `provider_refused`',
      reason: 'why, where it is known',
      sessionId: 'the session',
    },
  },
  throttled: {
    when: 'Too many failed attempts or unverifiable tokens: the backend was not asked.',
    fields: { scope: '`account`, `network` or `code`' },
  },
  configuration_warning: {
    when: 'Something in the set-up works, but should be changed.',
    fields: { message: 'a sentence for the operators' },
  },
};

const row = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
const table = (head: readonly string[], rows: readonly string[]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows].join('\n');

const errorRows = Object.entries(errorTable).map(([code, { status, when }]) =>
  row(`\`${code}\``, String(status), when),
);

/** A list, because in a table the fields would be too wide. */
const eventItems = Object.entries(events).map(([type, { when, fields }]) => {
  const items = Object.entries(fields).map(([name, meaning]) => `\`${name}\`${meaning === '' ? '' : ` (${meaning})`}`);
  return `- **\`${type}\`**: ${when}${items.length === 0 ? '' : `<br>Fields: ${items.join(', ')}.`}`;
});

const page = `# Errors and events

<!-- Made by \`npm run docs:errors\` from lib/error-table.ts and tools/error-table.ts: change those. -->

## Errors

Every failure that a user can meet is an \`AuthError\` with one of these codes. A document gets a small page. A JSON request gets

\`\`\`json
{ "error": { "status": 401, "code": "unauthenticated", "message": "You’re not signed in. Sign in to continue." } }
\`\`\`

Branch on \`code\`: codes stay, texts may improve. Where waiting helps, \`Retry-After\` says how many seconds. A message never holds a secret, a token or the
provider's own words. Those are in \`error.cause\`, for your logs.

[\`onError(error, req, res, next)\`](hooks.md#errors-in-your-own-layout) answers in place of the adapter. A refused request never goes on: \`next()\`
without an error passes on the refusal itself.

An \`AuthError\` has the members of an \`http-errors\` error: \`status\`, \`statusCode\`, \`expose\`, \`message\` and \`headers\` (\`Retry-After\`, \`Allow\`,
\`WWW-Authenticate\`). Express' own handler answers with them. NestJS' filter ignores \`headers\`, so set them there yourself.
What users read is beside each code in [Texts](https://github.com/express-auth-adapters/express-auth-adapters/blob/main/docs/texts.md). \`messageOf(code)\` returns it for a
page of your own, and a general text for an unknown code.

${table(['Code', 'Status', 'When'], errorRows)}

A mistake in the set-up is a \`ConfigurationError\` instead. It is thrown at construction. What only a mounted router can know is passed to \`next\` on the first
request. Its \`problems\` list everything that is wrong, one sentence each, with the option and its environment variable. [The doctor](doctor.md) finds most
of them before you start.

## Events

The adapter calls \`onEvent(event)\` with what happens, without secrets: no token, cookie, code, password or email address. Every event has \`type\` and
\`adapter\`. Fields that are not known are absent. A listener that throws does no harm.

${eventItems.join('\n')}
`;

const path = new URL('../docs/errors.md', import.meta.url);
const config = await resolveConfig(path);
const text = await format(page, { ...config, parser: 'markdown' });

if (!process.argv.includes('--check')) writeFileSync(path, text);
else if (read(path) !== text) {
  console.error('docs/errors.md is not what the code says. Run: npm run docs:errors');
  process.exitCode = 1;
}

function read(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
