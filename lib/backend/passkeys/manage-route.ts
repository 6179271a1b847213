import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import { json } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { asksForChallenge, bindCeremony, readAnswer } from '../webauthn/challenges.ts';
import type { BackendContext } from '../context.ts';
import { has, readAction } from '../forms/action.ts';
import { FormProblem } from '../forms/fields.ts';
import { localUrl, readReturnTo, subjectFormRoute } from '../forms/forms.ts';
import type { FormInput, Next } from '../forms/forms.ts';
import { siteFor } from '../pages/parts.ts';
import { asksAgain } from '../webauthn/page.ts';
import { answerOffer } from './offer.ts';
import { isVisible, passkeysOffPage, passkeysPage, removePasskeyPage, renamePage } from './page.ts';
import { addPasskey, listPasskeys, removePasskey, renamePasskey, startAdding } from './passkeys.ts';
import type { Passkey } from './passkeys.ts';
import { findOwner, firstStep, otherStep } from '../sign-in/owner.ts';
import type { OwnerRequest } from '../sign-in/owner.ts';

/** `/auth/passkeys`: lists the signed-in user's passkeys, adds, renames and removes them. */
export function passkeysRoute(backend: BackendContext): AuthRoute {
  return subjectFormRoute<OwnerRequest>(
    backend,
    {
      path: backend.settings.paths.passkeys,
      option: 'paths.passkeys',
      isReturnTarget: true,
      hasData: true,
      open: (request) => (request.query.has('offer') && !request.wantsJson ? answerOffer(backend, request) : undefined),
      page: async (_request, input, owner) => showPasskeys(backend, owner, input),
      isShared: (_request, fields) => actionOf(fields) !== 'start',
      submit: (_request, fields, _returnTo, owner) => change(backend, owner, fields),
      leave: (_request, error, owner) => otherStep(backend, owner, error),
    },
    (request, fields) => findOwner(backend, request, backend.settings.paths.passkeys, readReturnTo(request, fields)),
  );
}

async function showPasskeys(backend: BackendContext, owner: OwnerRequest, input: FormInput): Promise<Reply> {
  const { request, subject, returnTo } = owner;
  const { fields, error } = input;
  let passkeys: readonly Passkey[];
  try {
    passkeys = await listPasskeys(backend, request, subject.content);
  } catch (failure) {
    const step = await otherStep(backend, owner, failure);
    if (step !== undefined) return step;
    const isOff = failure instanceof FormProblem && failure.text === 'passkeysOff';
    if (!isOff || request.wantsJson) throw failure;
    return passkeysOffPage(siteFor(backend, request), request, { returnTo, error: failure });
  }
  if (request.wantsJson) return json(200, { passkeys: passkeys.map(toBody) });
  const named = (kind: 'rename' | 'remove'): Passkey | undefined => {
    const id = (error === undefined ? request.query.get(kind) : fields.get(kind))?.toLowerCase();
    return passkeys.find((passkey) => passkey.id === id);
  };
  const [renamed, removed] = [named('rename'), error === undefined ? named('remove') : undefined];
  const asked = renamed === undefined ? removed && { remove: removed.id } : { rename: renamed.id };
  // Before the page, so that nothing is entered in vain.
  const step = asked && (await firstStep(backend, owner, pageOf(backend, owner, asked)));
  if (step !== undefined) return step;
  if (renamed !== undefined) {
    return renamePage(siteFor(backend, request), request, {
      passkey: renamed,
      name: fields.get('name'),
      returnTo,
      error,
    });
  }
  if (removed !== undefined)
    return removePasskeyPage(siteFor(backend, request), request, { passkey: removed, returnTo });
  return passkeysPage(siteFor(backend, request), request, {
    passkeys,
    returnTo,
    error,
    isAgain: asksAgain({ error }, fields.has('again')),
  });
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

const meanings = { rename: has('rename'), remove: has('remove'), start: asksForChallenge };
const actionOf = (fields: Fields) => readAction(fields, meanings, 'add');

async function change(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Next> {
  const { wayBack } = owner;
  switch (actionOf(fields)) {
    case 'rename':
      return rename(backend, owner, fields);
    case 'remove':
      return remove(backend, owner, fields);
    case 'start':
      return (await firstStep(backend, owner, wayBack)) ?? start(backend, owner, fields);
    case 'add':
      return (await firstStep(backend, owner, wayBack)) ?? add(backend, owner, fields);
  }
}

async function rename(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Next> {
  const { request, subject, wayBack } = owner;
  const passkey = { id: readId(fields.get('rename')), name: readName(fields) };
  const step = await firstStep(backend, owner, pageOf(backend, owner, { rename: passkey.id }));
  if (step !== undefined) return step;
  await renamePasskey(backend, request, subject.content, passkey).catch(rethrowGone);
  return wayBack;
}

/** The page that asks for a name, or for the removal. */
function pageOf(
  { settings }: BackendContext,
  { request, returnTo }: OwnerRequest,
  asked: Readonly<Record<string, string>>,
): string {
  return localUrl(request, settings.paths.passkeys, returnTo, asked);
}

async function start(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Reply> {
  const { request, subject, returnTo } = owner;
  const ask = () => startAdding(backend, request, subject.content);
  const started = await backend.attempts.runChallenge(request.req, subject.session.user.id, ask);
  if (request.wantsJson) return json(200, bindCeremony(backend, request, started));
  // The page's script got no challenge. As there is one now, it asks again.
  const passkeys = await listPasskeys(backend, request, subject.content);
  return passkeysPage(siteFor(backend, request), request, { passkeys, returnTo, isAgain: !fields.has('again') });
}

async function add(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Next> {
  const { request, subject, wayBack } = owner;
  const answer = readAnswer(backend, request, fields);
  const verify = () => addPasskey(backend, request, subject.content, answer);
  await backend.attempts.run(request.req, undefined, verify);
  return wayBack;
}

/** A page asks first; JSON clients ask by themselves. */
async function remove(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Next> {
  const { request, subject, wayBack } = owner;
  const id = readId(fields.get('remove'));
  const step = await firstStep(backend, owner, pageOf(backend, owner, { remove: id }));
  if (step !== undefined) return step;
  const isSure = fields.get('sure') === 'yes';
  const question = isSure || request.wantsJson ? undefined : await askRemoval(backend, owner, id);
  if (question !== undefined) return question;
  await removePasskey(backend, request, subject.content, id).catch(rethrowGone);
  return wayBack;
}

/** `undefined` where there is no such passkey, which the removal then says. */
async function askRemoval(
  backend: BackendContext,
  { request, subject, returnTo }: OwnerRequest,
  id: string,
): Promise<Reply | undefined> {
  const passkey = (await listPasskeys(backend, request, subject.content)).find((each) => each.id === id);
  return passkey && removePasskeyPage(siteFor(backend, request), request, { passkey, returnTo });
}

/** Lower case, as the backend writes it. @throws {AuthError} `invalid_request` where it is no id */
function readId(value = ''): string {
  const id = value.toLowerCase();
  if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)) return id;
  throw new AuthError('invalid_request');
}

/** GoTrue's limit, in bytes. */
const maxNameBytes = 120;

/** @throws {FormProblem} where it is no name */
function readName(fields: Fields): string {
  const name = (fields.get('name') ?? '').trim();
  const isName = isVisible(name) && Buffer.byteLength(name) <= maxNameBytes && !/[\0-\x1f\x7f-\x9f]/.test(name);
  if (isName) return name;
  throw new FormProblem('name', 'passkeyNameInvalid', `A name has 1 to ${maxNameBytes} bytes.`);
}

/** For `catch`: the passkey was removed meanwhile, or never was this user's. */
function rethrowGone(error: unknown): never {
  if (!(error instanceof AuthError) || error.reason !== 'validation_failed') throw error;
  const { cause, reason } = error;
  throw new FormProblem('form', 'passkeyGone', 'This passkey does not exist anymore.', { cause, reason });
}
