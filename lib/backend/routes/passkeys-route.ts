import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { bindCeremony, readAnswer } from '../challenges.ts';
import type { Ceremony } from '../challenges.ts';
import type { BackendContext } from '../context.ts';
import { isSessionOver, listFactors } from '../factors.ts';
import { FormProblem, formRoute, localUrl, readReturnTo } from '../forms.ts';
import type { FormInput } from '../forms.ts';
import { asksAgain, passkeysPage, removePasskeyPage, renamePage } from '../pages/passkeys.ts';
import { addPasskey, listPasskeys, removePasskey, renamePasskey, startAdding } from '../passkeys.ts';
import type { Passkey } from '../passkeys.ts';
import { isInsufficient, secondFactorFirst, signInAgainFirst } from '../raise.ts';
import { endOver, renewDenied, sessionOf, signInFirst } from '../subject.ts';
import type { Subject } from '../subject.ts';
import { asksForChallenge, withChallenges } from './passkey-route.ts';

/** `/auth/passkeys`: lists the signed-in user's passkeys, adds, renames and removes them. */
export function passkeysRoute(backend: BackendContext): AuthRoute {
  const form = formRoute(backend, {
    path: backend.settings.passkeysPath,
    option: 'passkeysPath',
    open: (request) => asOwner(backend, request, readReturnTo(request), (owner) => showPasskeys(backend, owner)),
    page: (request, input) => asOwner(backend, request, input.returnTo, (owner) => showFailure(backend, owner, input)),
    submit: (request, fields, returnTo) =>
      asOwner(backend, request, returnTo, (owner) => change(backend, owner, fields)),
  });
  const route = withChallenges(backend, form, async (request, fields) => {
    if (!asksToAdd(fields)) return undefined;
    return asOwner(backend, request, readReturnTo(request, fields), async (owner) => {
      const started = await start(backend, owner);
      return 'status' in started ? started : json(200, bindCeremony(backend, request, started));
    });
  });
  return { ...route, isReturnTarget: true };
}

/** A request of the user whose passkeys it is about. */
interface OwnerRequest {
  readonly request: AuthRequest;
  readonly subject: Subject;
  readonly returnTo: string;
  /** This page, which a missing step leads back to. */
  readonly wayBack: string;
}

/**
 * @returns what `work` does, or a reply where another step is required first
 * @throws {AuthError} `forbidden` for visitors without an account
 */
async function asOwner(
  backend: BackendContext,
  request: AuthRequest,
  returnTo: string,
  work: (owner: OwnerRequest) => Promise<Reply>,
): Promise<Reply> {
  const wayBack = localUrl(request, backend.settings.passkeysPath, returnTo);
  const subject = await sessionOf(backend, request);
  if (subject === undefined) return signInFirst(request, wayBack);
  if (subject.session.user.isAnonymous) throw new AuthError('forbidden');
  try {
    return await work({ request, subject, returnTo, wayBack });
  } catch (error) {
    if (isSessionOver(error)) return endOver(backend, request, subject, wayBack);
    if (!isInsufficient(error)) throw error;
    return (await renewDenied(backend, request, subject, wayBack)) ?? secondFactorFirst(backend, request, wayBack);
  }
}

async function showPasskeys(backend: BackendContext, { request, subject, returnTo }: OwnerRequest): Promise<Reply> {
  const passkeys = await listPasskeys(backend, request, subject.content);
  if (request.wantsJson) return json(200, { passkeys: passkeys.map(toBody) });
  const named = (kind: 'rename' | 'remove'): Passkey | undefined =>
    passkeys.find(({ id }) => id === request.query.get(kind)?.toLowerCase());
  const [renamed, removed] = [named('rename'), named('remove')];
  if (renamed !== undefined) return renamePage(backend, request, { passkey: renamed, returnTo });
  if (removed !== undefined) return removePasskeyPage(backend, request, { passkey: removed, returnTo });
  return passkeysPage(backend, request, { passkeys, returnTo });
}

/** Times that the backend does not know are `null`. */
function toBody({ id, name, createdAt, lastUsedAt }: Passkey) {
  return {
    id,
    name,
    createdAt: createdAt === '' ? null : createdAt,
    lastUsedAt: lastUsedAt === '' ? null : lastUsedAt,
  };
}

async function showFailure(
  backend: BackendContext,
  { request, subject, returnTo }: OwnerRequest,
  { fields, error }: FormInput,
): Promise<Reply> {
  const passkeys = await listPasskeys(backend, request, subject.content);
  const passkey = passkeys.find(({ id }) => id === fields.get('rename')?.toLowerCase());
  if (passkey !== undefined)
    return renamePage(backend, request, { passkey, name: fields.get('name'), returnTo, error });
  return passkeysPage(backend, request, {
    passkeys,
    returnTo,
    error,
    isAgain: asksAgain({ error }, fields.has('again')),
  });
}

/** Whether a POST starts to add a passkey. */
function asksToAdd(fields: Fields): boolean {
  return asksForChallenge(fields) && !fields.has('rename') && !fields.has('remove');
}

/** A challenge for a new passkey, or a reply where another step is required first. */
async function start(backend: BackendContext, owner: OwnerRequest): Promise<Ceremony | Reply> {
  const { request, subject } = owner;
  const ask = () => startAdding(backend, request, subject.content);
  return (await firstStep(backend, owner)) ?? backend.attempts.runChallenge(request.req, ask);
}

/** Who adds a passkey has signed in just now, with the second factor where there is one: else a stolen session would become a lasting one. */
async function firstStep(
  backend: BackendContext,
  { request, subject, wayBack }: OwnerRequest,
): Promise<Reply | undefined> {
  const again = signInAgainFirst(request, subject, wayBack);
  if (again !== undefined || subject.session.claims['aal'] === 'aal2') return again;
  const { factors } = await listFactors(backend, request, subject.content);
  return factors.verified.length > 0 ? secondFactorFirst(backend, request, wayBack) : undefined;
}

async function change(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Reply> {
  const { request, subject, returnTo, wayBack } = owner;
  const { content } = subject;
  const [renamed, removed] = [fields.get('rename'), fields.get('remove')];
  if (renamed !== undefined) {
    const passkey = { id: readId(renamed), name: readName(fields) };
    await renamePasskey(backend, request, content, passkey).catch(rethrowGone);
  } else if (removed !== undefined) {
    const id = readId(removed);
    const question =
      fields.get('sure') === 'yes' || request.wantsJson ? undefined : await askRemoval(backend, owner, id);
    if (question !== undefined) return question;
    await removePasskey(backend, request, content, id).catch(rethrowGone);
  } else if (asksForChallenge(fields)) {
    // The page's script got no challenge. Where there is one now, it asks again.
    const started = await start(backend, owner);
    if ('status' in started) return started;
    const passkeys = await listPasskeys(backend, request, content);
    return passkeysPage(backend, request, { passkeys, returnTo, isAgain: !fields.has('again') });
  } else {
    const first = await firstStep(backend, owner);
    if (first !== undefined) return first;
    const answer = readAnswer(backend, request, fields);
    const add = () => addPasskey(backend, request, content, answer);
    await backend.attempts.run(request.req, undefined, add, 'forgives');
  }
  return redirectOrJson(request, wayBack);
}

/** `undefined` where there is no such passkey, which the removal then says. */
async function askRemoval(
  backend: BackendContext,
  { request, subject, returnTo }: OwnerRequest,
  id: string,
): Promise<Reply | undefined> {
  const passkey = (await listPasskeys(backend, request, subject.content)).find((each) => each.id === id);
  return passkey && removePasskeyPage(backend, request, { passkey, returnTo });
}

/** Lower case, as the backend writes it. @throws {AuthError} `invalid_request` where it is no id */
function readId(value: string): string {
  const id = value.toLowerCase();
  if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)) return id;
  throw new AuthError('invalid_request');
}

/** GoTrue's limit, in bytes. */
const maxNameBytes = 120;

/** @throws {FormProblem} where it is no name */
function readName(fields: Fields): string {
  const name = (fields.get('name') ?? '').trim();
  const isName = name !== '' && Buffer.byteLength(name) <= maxNameBytes && !/[\0-\x1f\x7f-\x9f]/.test(name);
  if (isName) return name;
  throw new FormProblem('name', 'passkeyNameInvalid', `A name has 1 to ${maxNameBytes} bytes.`);
}

/** For `catch`: the passkey was removed meanwhile, or never was this user's. */
function rethrowGone(error: unknown): never {
  if (!(error instanceof AuthError) || error.reason !== 'validation_failed') throw error;
  const { cause, reason } = error;
  throw new FormProblem('form', 'passkeyGone', 'This passkey does not exist anymore.', { cause, reason });
}
