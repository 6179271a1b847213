import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Step } from '../../lib/doctor/finding.ts';
import type { DoctorOptions } from '../../lib/doctor/run-doctor.ts';
import { examine } from '../support/doctor.ts';
import { serve } from '../support/servers.ts';

/** What a provider answers to one path: status and body. */
type Answers = Readonly<Record<string, readonly [number, unknown]>>;

interface Transcript extends Partial<DoctorOptions> {
  readonly env: NodeJS.ProcessEnv;
  readonly answers?: Answers;
}

const at = Date.UTC(2026, 0, 2, 3, 4, 5);
const settings = '/auth/v1/settings';
const projectKeys = '/auth/v1/.well-known/jwks.json';
const token = '/user_management/authenticate';
const jwks = '/sso/jwks/client_1';

const project: Answers = {
  [settings]: [200, { external: { email: true, github: true, apple: true, phone: true }, mailer_autoconfirm: false }],
  [projectKeys]: [200, { keys: [{ kty: 'EC', alg: 'ES256' }] }],
};
const workos: Answers = {
  [jwks]: [200, { keys: [{ kty: 'RSA', alg: 'RS256' }, { kty: 'EC' }] }],
  [token]: [400, { error: 'invalid_grant', error_description: 'Invalid refresh token.' }],
};
const b2b = { B2B_CLIENT_ID: 'client_1', B2B_API_KEY: 'sk_test_1' };
const password = 'correct horse battery staple, and more';
const backend = { BAAS_PUBLISHABLE_KEY: 'sb_publishable_abcdefghijklmnopqrstuv' };

/** `{host}` in a variable is where the answers are served. */
const transcripts: Readonly<Record<string, Transcript>> = {
  'both in good order': {
    env: {
      ...b2b,
      ...backend,
      NODE_ENV: 'production',
      B2B_API_KEY: 'sk_live_1',
      B2B_COOKIE_PASSWORD: password,
      APP_BASE_URL: 'https://app.example.com/',
    },
    answers: { ...workos, ...project },
  },
  'a first try': { env: { ...b2b, ...backend }, answers: { ...workos, ...project } },
  'nothing at all': { env: {}, nodeVersion: '22.12.0' },
  'everything mixed up': {
    env: {
      NODE_ENV: 'production',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      HTTPS_PROXY: 'http://proxy.example:3128',
      APP_BASE_URL: 'app.example.com',
      B2B_CLIENT_ID: 'sk_test_1',
      B2B_API_KEY: 'client_1',
      LEGACY_B2B_COOKIE_PASSWORD: 'ab'.repeat(20),
      B2B_CLIENTID: 'client_1',
      BAAS_ANON_KEY: ['sb', 'secret', 'abcdefghijklmnopqrstuvwxyz'].join('_'),
      BAAS_URI: 'https://x.supabase.co',
    },
    answers: { [token]: [401, { message: 'Unauthorized' }] },
  },
  'keys that were copied badly': {
    env: { ...b2b, B2B_CLIENT_ID: 'project_1', B2B_API_KEY: '"sk_test_1"', http_proxy: 'http://proxy.example' },
    appUrl: 'http://app.example.com',
    answers: { ...workos, [token]: [401, { message: 'Unauthorized' }] },
  },
  'the wrong environment': {
    env: { ...b2b, NODE_ENV: 'production', B2B_COOKIE_PASSWORD: password },
    appUrl: 'http://app.example.com',
    answers: workos,
  },
  'production keys at home': {
    env: { ...b2b, B2B_API_KEY: 'sk_live_1', NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    appUrl: 'http://[::1]:3000',
    answers: { ...workos, [token]: [429, {}] },
  },
  'an unknown kind of key': {
    env: { ...b2b, B2B_API_KEY: 'key_1', NODE_ENV: 'production', B2B_COOKIE_PASSWORD: password },
    appUrl: 'http://127.0.0.1:3000',
    answers: { ...workos, [jwks]: [404, {}], [token]: [500, {}] },
  },
  'somebody else at the host': {
    env: { ...b2b, ...backend },
    answers: { [jwks]: [200, '<html>'], [token]: [200, {}], [settings]: [200, '<html>'] },
  },
  'a provider that does not know us': {
    env: { ...b2b, ...backend },
    callbackPath: '/done',
    answers: { [jwks]: [200, { keys: [] }], [token]: [403, {}], [settings]: [401, {}] },
  },
  'a project that lets nobody in': {
    env: { ...backend, BAAS_ANON_KEY: '' },
    answers: {
      [settings]: [200, { external: { email: false }, disable_signup: true }],
      [projectKeys]: [200, { keys: [] }],
    },
  },
  'a project without keys, whose clock is elsewhere': {
    env: backend,
    now: () => at - 90_000,
    appUrl: 'https://app.example.com',
    answers: { ...project, [projectKeys]: [500, {}] },
  },
};

const word = (step: Step): string => {
  if (step.kind === 'started') return `… ${step.subject}: ${step.what}`;
  const { level, id, message, fix, values } = step.finding;
  return [
    `${level} ${id}: ${message}`,
    ...(fix === undefined ? [] : [`  ${fix}`]),
    ...(values === undefined ? [] : [`  ${JSON.stringify(values)}`]),
  ].join('\n');
};

async function reportOf({ env, answers, ...options }: Transcript): Promise<string> {
  const server = await serve((req: IncomingMessage, res) => {
    const [status, body] = answers?.[(req.url ?? '').split('?')[0] ?? ''] ?? [404, 'nothing here'];
    res.sendDate = false;
    res.writeHead(status, { date: new Date(at).toUTCString(), 'content-type': 'application/json' });
    res.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  const host = `127.0.0.1:${server.port}`;
  const providers =
    answers === undefined
      ? {}
      : {
          ...(env['B2B_CLIENT_ID'] === undefined
            ? {}
            : { B2B_API_HOSTNAME: '127.0.0.1', B2B_API_PORT: String(server.port), B2B_API_HTTPS: 'false' }),
          ...(env['BAAS_PUBLISHABLE_KEY'] === undefined ? {} : { BAAS_URL: `http://${host}` }),
        };
  const words: string[] = [];
  try {
    await examine(
      { ...providers, ...env },
      { now: () => at, ...options, onStep: (step) => words.push(word(step).replaceAll(host, '{host}')) },
    );
  } finally {
    await server.close();
  }
  return `${words.join('\n')}\n`;
}

/** The words matter: users whose sign-in does not work have nothing else. */
it.each(Object.entries(transcripts))('says of %s what is written down for it', async (name, transcript) => {
  const written = new URL(`transcripts/${name.replaceAll(/[ ,]+/g, '-')}.txt`, import.meta.url);
  expect(await reportOf(transcript)).toBe(readFileSync(written, 'utf8'));
});
