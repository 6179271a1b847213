import { createHash, randomBytes } from 'node:crypto';
import { isRecord, isTooDeep, parseJson } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthErrorOptions } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { Fields } from '../../http/body.ts';
import type { BackendContext } from '../context.ts';
import { FormProblem } from '../forms/fields.ts';

/** What a browser answers with a passkey or a security key: a challenge of the backend, and the options of the browser's API. */
export interface Ceremony {
  readonly challengeId: string;
  /** `PublicKeyCredentialRequestOptionsJSON` or `PublicKeyCredentialCreationOptionsJSON` (Web Authentication §5.1.9). */
  readonly options: Readonly<Record<string, unknown>>;
}

/** The browser's answer, in the form of `PublicKeyCredential.toJSON()` (Web Authentication §5.1.8). */
export interface CeremonyAnswer {
  /** The backend's own id of the challenge. */
  readonly challengeId: string;
  readonly credential: Readonly<Record<string, unknown>>;
}

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const secretForm = /^[\w-]{22}$/;

/**
 * The ceremony for the browser. GoTrue takes the answer to a sign-in's challenge from any browser, so the id names this one, too:
 * it has the hash of a secret in an HttpOnly cookie. An answer that was overheard or planted is then of no use elsewhere.
 *
 * @throws {AuthError} `provider_refused` where the backend's answer is none
 */
export function bindCeremony(
  backend: BackendContext,
  request: AuthRequest,
  { challengeId, options }: Ceremony,
): Ceremony {
  const hasChallenge = typeof options['challenge'] === 'string' && options['challenge'] !== '';
  if (!uuid.test(challengeId) || !hasChallenge || isTooDeep(options)) throw new AuthError('provider_refused');
  const name = cookieName(backend);
  // All tabs of a browser have one, so that none of them disturbs another one.
  const secret = secretsOf(backend, request)[0] ?? randomBytes(16).toString('base64url');
  request.writeCookies([{ name, value: secret, attributes: backend.flows.attributes }]);
  return { challengeId: bound(challengeId, secret), options };
}

/**
 * The answer in a POST.
 *
 * @throws {AuthError} `challenge_expired` where this browser did not ask for the challenge; `code_wrong` where the answer is none
 */
export function readAnswer(backend: BackendContext, request: AuthRequest, fields: Fields): CeremonyAnswer {
  const credential = parseJson(fields.get('credential') ?? '');
  if (!isRecord(credential) || isTooDeep(credential)) throw refusedAnswer({ reason: 'malformed' });
  const given = fields.get('challengeId') ?? '';
  const challengeId = given.slice(0, given.indexOf('.'));
  const isOurs =
    uuid.test(challengeId) && secretsOf(backend, request).some((secret) => bound(challengeId, secret) === given);
  if (!isOurs) throw new AuthError('challenge_expired', { reason: 'other_browser' });
  return { challengeId, credential };
}

/** Whether a POST has no answer of a passkey or a key: its client, or the page's script, asks for a challenge. */
export function asksForChallenge(fields: Fields): boolean {
  return ['credential', 'challengeId'].every((name) => (fields.get(name) ?? '') === '');
}

/** Whether a POST is the answer of a key, or a part of one, where the same route also takes codes. */
export function hasAnswer(fields: Fields): boolean {
  return fields.has('credential') || (fields.has('challengeId') && !fields.has('code'));
}

/** For an answer that is refused, whatever is wrong with it. */
export function refusedAnswer(options: Pick<AuthErrorOptions, 'cause' | 'reason'>): AuthError {
  const message = 'That didn’t work. Try again, or choose another way.';
  return new FormProblem('form', 'passkeyRefused', message, { ...options, code: 'code_wrong' });
}

function bound(challengeId: string, secret: string): string {
  return `${challengeId}.${createHash('sha256').update(`${secret}.${challengeId}`).digest('base64url')}`;
}

function secretsOf(backend: BackendContext, { cookies }: AuthRequest): readonly string[] {
  return (cookies.get(cookieName(backend)) ?? []).filter((value) => secretForm.test(value)).slice(0, 4);
}

/** Its cookie lives for ten minutes since the last challenge. */
function cookieName({ settings }: BackendContext): string {
  return `${settings.cookieName}-ceremony`;
}
