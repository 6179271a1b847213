import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/request.ts';
import { json, redirect } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { leadsToOwnPage } from '../../http/request/urls.ts';
import { asksForChallenge, bindCeremony, hasAnswer, readAnswer, refusedAnswer } from '../webauthn/challenges.ts';
import type { BackendContext } from '../context.ts';
import type { Factor, Enrollment } from './factors.ts';
import { has, readAction } from '../forms/action.ts';
import { FormProblem } from '../forms/fields.ts';
import { localUrl, readReturnTo, subjectFormRoute } from '../forms/forms.ts';
import type { FormInput, Next } from '../forms/forms.ts';
import { enrollKey, verifyKey } from './key-factors.ts';
import { enrollPage } from './enroll-page.ts';
import { factorsPage, removePage } from './page.ts';
import type { FactorsState } from './page.ts';
import { siteFor } from '../pages/parts.ts';
import { qrCode } from './qr-code.ts';
import { asksAgain } from '../webauthn/page.ts';
import { accountFirst, isInsufficient, secondFactorFirst, signInAgainFirst } from '../sign-in/step-up.ts';
import { advance } from '../sign-in/sign-in.ts';
import { endOver, renewLowered, sessionOf } from '../sign-in/subject.ts';
import { enrollApp, hasKeys, removeFactor, verifyFactor } from './factors.ts';
import { keyKind } from './kinds.ts';
import { askFactors, replyToEnd, readCode } from './request.ts';
import type { FactorRequest } from './request.ts';

/** `/auth/enroll`: lists the signed-in user's second factors, adds authenticator apps and removes factors. */
export function enrollRoute(backend: BackendContext): AuthRoute {
  return subjectFormRoute<FactorRequest>(
    backend,
    {
      path: backend.settings.paths.enroll,
      option: 'paths.enroll',
      isReturnTarget: true,
      hasData: true,
      page: (_request, input, asked) => showFactors(backend, asked, input),
      isShared: (_request, fields) => actionOf(fields) !== 'startKey',
      submit: (_request, fields, _returnTo, asked) => changeFactors(backend, asked, fields),
      leave: async (_request, error, asked) =>
        (await replyToEnd(backend, asked, error)) ??
        (isInsufficient(error) ? raiseAgain(backend, asked, error) : undefined),
    },
    (request, fields) => {
      const returnTo = readReturnTo(request, fields);
      const asked = ask(backend, request, returnTo);
      return isAdvice(request, fields)
        ? asked.catch((error: unknown) => skip(backend, request, returnTo, error))
        : asked;
    },
  );
}

/** Whether the list is shown only because the first factor was added just now. */
function isAdvice({ query, wantsJson }: AuthRequest, fields?: Fields): boolean {
  return fields === undefined && !wantsJson && query.get('added') === 'first';
}

/** The factor is added and the session raised: no failure of the advice keeps the person from where they wanted to go. */
function skip({ explain }: BackendContext, request: AuthRequest, returnTo: string, error: unknown): Reply {
  explain('the advice after the first factor is skipped: %s', String(error));
  return redirect(302, request.urlOf(returnTo));
}

/**
 * @returns a reply where another step is required first: the sign-in, an account, or an existing second factor
 */
async function ask(backend: BackendContext, request: AuthRequest, returnTo: string): Promise<FactorRequest | Reply> {
  const subject = await sessionOf(backend, request);
  const wayBack = wayBackTo(backend, request, returnTo);
  if (subject?.session.user.isAnonymous === true) return accountFirst(backend, request, wayBack);
  const asked = await askFactors(backend, request, subject, returnTo, wayBack);
  if ('status' in asked) return asked;
  const isRaised = asked.subject.session.claims['aal'] === 'aal2';
  const isNeeded = asked.factors.verified.length > 0 && !isRaised;
  return isNeeded ? secondFactorFirst(backend, request, asked.wayBack) : asked;
}

/** This page, which a missing step leads back to. */
function wayBackTo(backend: BackendContext, request: AuthRequest, returnTo: string): string {
  return localUrl(request, backend.settings.paths.enroll, returnTo);
}

function showFactors(
  backend: BackendContext,
  asked: FactorRequest,
  { fields, error }: FormInput,
): Reply | Promise<Reply> {
  const { request, factors } = asked;
  if (error !== undefined) return showFailed(backend, asked, fields, error);
  const { verified } = factors;
  if (request.wantsJson) return json(200, { factors: verified.map(({ id, type }) => ({ id, type })) });
  const removed = ownFactor(asked, request.query.get('remove') ?? undefined);
  if (removed?.isVerified === true) return askRemoval(backend, asked, removed);
  return listPage(backend, asked, { isFirst: isAdvice(request) && verified.length === 1 });
}

async function changeFactors(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<Next> {
  const action = actionOf(fields);
  if (action === 'remove') return remove(backend, asked, fields);
  const { request, subject, factors, returnTo } = asked;
  const wayBack = wayBackTo(backend, request, returnTo);
  const signIn = factors.verified.length > 0 ? undefined : signInAgainFirst(request, subject, wayBack);
  if (signIn !== undefined) return signIn;
  switch (action) {
    case 'startKey':
      return startKey(backend, asked, fields);
    case 'confirmKey':
      return confirmKey(backend, asked, fields);
    case 'confirmApp':
      return confirm(backend, asked, fields);
    case 'startApp':
      return start(backend, asked);
  }
}

const meanings = {
  remove: has('remove'),
  // The page's script leaves its answer empty where it got no challenge.
  startKey: (fields: Fields): boolean => fields.get('type') === keyKind.type && asksForChallenge(fields),
  confirmKey: hasAnswer,
  confirmApp: has('code'),
};
const actionOf = (fields: Fields) => readAction(fields, meanings, 'startApp');

async function startKey(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<Reply> {
  const { request, subject } = asked;
  if (!hasKeys(backend)) throw new AuthError('factor_unavailable', { reason: 'factor_type' });
  const add = () => enrollKey(backend, request, subject.content);
  const started = await backend.attempts.runChallenge(request.req, subject.session.user.id, add);
  const { factorId } = started;
  if (request.wantsJson) return json(200, { factorId, ...bindCeremony(backend, request, started) });
  return listPage(backend, asked, { isAgain: !fields.has('again') });
}

async function confirmKey(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<string> {
  const { request, subject, returnTo } = asked;
  const factorId = readFactorId(fields.get('factorId'));
  const factor = ownFactor(asked, factorId);
  // A verified key is not replaced: its owner adds another one.
  if (factor?.type !== keyKind.type || factor.isVerified) throw refusedAnswer({ reason: 'factor' });
  const answer = { type: 'create', factorId, ...readAnswer(backend, request, fields) } as const;
  const verify = () => verifyKey(backend, request, subject.content, answer);
  const issued = await backend.attempts.runCode(request.req, `factor:${factorId}`, verify);
  const next = await advance(backend, request, subject, { step: 'factor', issued, returnTo });
  return afterAdding(backend, asked, next);
}

/** After the first one the list says once why a second one helps, unless the way leads to another page of ours. */
function afterAdding(
  { settings }: BackendContext,
  { request, factors, returnTo }: FactorRequest,
  next: string,
): string {
  const isFirst = factors.verified.length === 0 && !request.wantsJson;
  if (!isFirst || next !== returnTo || leadsToOwnPage(request, returnTo)) return next;
  return localUrl(request, settings.paths.enroll, returnTo, { added: 'first' });
}

/** @throws {AuthError} the given error, where new tokens claim the same again */
async function raiseAgain(backend: BackendContext, asked: FactorRequest, error: AuthError): Promise<Reply> {
  const { request, subject, wayBack } = asked;
  const isLowered = await renewLowered(backend, request, subject);
  if (isLowered === undefined) return endOver(backend, request, subject, wayBack);
  if (!isLowered) throw error;
  return secondFactorFirst(backend, request, wayBack);
}

const hasAddress = ({ email }: FactorRequest['user']): boolean => (email ?? '') !== '';

async function start(backend: BackendContext, { request, subject, returnTo, user }: FactorRequest): Promise<Reply> {
  // The app shows it beside the code, so GoTrue fails without one.
  if (!hasAddress(user)) {
    throw new FormProblem(
      'form',
      'factorNeedsEmail',
      'An authenticator app needs an email address, and this account has none.',
      {
        code: 'factor_unavailable',
        reason: 'no_email',
      },
    );
  }
  const add = () => enrollApp(backend, request, subject.content);
  const enrollment = await backend.attempts.run(request.req, undefined, add);
  return request.wantsJson ? json(200, enrollment) : drawnPage(backend, request, { returnTo, enrollment });
}

async function confirm(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<string> {
  const { request, subject, returnTo } = asked;
  const factorId = readFactorId(fields.get('factorId'));
  const code = readCode(fields);
  // Attempts for the factor of another user would close it for its owner.
  if (ownFactor(asked, factorId) === undefined) throw new AuthError('code_wrong', { reason: 'factor' });
  const verify = () => verifyFactor(backend, request, subject.content, { factorId, code });
  const issued = await backend.attempts.runCode(request.req, `factor:${factorId}`, verify);
  return afterAdding(backend, asked, await advance(backend, request, subject, { step: 'factor', issued, returnTo }));
}

function ownFactor({ factors }: FactorRequest, factorId: string | undefined): Factor | undefined {
  return factors.all.find(({ id }) => id !== '' && id.toLowerCase() === factorId?.toLowerCase());
}

/** A page asks first; JSON clients ask by themselves. */
async function remove(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<Next> {
  const { request, subject, factors } = asked;
  const factorId = readFactorId(fields.get('remove'));
  const isSure = fields.get('sure') === 'yes';
  const factor = ownFactor(asked, factorId);
  if (factor?.isVerified === true) {
    const left = (list: readonly Factor[]): number => list.filter(({ id }) => id !== factor.id).length;
    // What remains could not be asked for here, so the user could not sign in anymore.
    if (left(factors.askable) === 0 && left(factors.verified) > 0) {
      throw new FormProblem(
        'form',
        'factorStillNeeded',
        'This is the only second factor that can be used here, and the account has others. Add another one first.',
        { code: 'factor_unavailable', reason: 'last_askable' },
      );
    }
    if (!isSure && !request.wantsJson) return askRemoval(backend, asked, factor);
  }
  await removeFactor(backend, request, subject.content, factorId).catch((error: unknown) => passGone(request, error));
  const isLowered = await renewLowered(backend, request, subject).catch((error: unknown) => {
    backend.explain('the session will be renewed by the next request: %s', String(error));
    return true;
  });
  return isLowered === undefined ? endOver(backend, request, subject, asked.wayBack) : asked.wayBack;
}

/** On a page it was removed in another tab meanwhile. A client learns that it is not this user's. */
function passGone({ wantsJson }: AuthRequest, error: unknown): void {
  const isGone = error instanceof AuthError && error.reason === 'mfa_factor_not_found';
  if (!isGone) throw error;
  if (!wantsJson) return;
  const { code, cause, reason } = error;
  throw new AuthError(code, { message: 'Your account doesn’t have this second factor.', cause, reason });
}

function askRemoval(backend: BackendContext, { request, returnTo, factors }: FactorRequest, factor: Factor): Reply {
  return removePage(siteFor(backend, request), request, { factor, returnTo, isLast: factors.verified.length === 1 });
}

function listPage(
  backend: BackendContext,
  { request, returnTo, factors, user }: FactorRequest,
  state: Pick<FactorsState, 'error' | 'isAgain' | 'isFirst'> = {},
): Reply {
  const isOfOurs = leadsToOwnPage(request, returnTo);
  const shown = { factors: factors.verified, returnTo, isOfOurs, hasAddress: hasAddress(user), ...state };
  return factorsPage(siteFor(backend, request), request, shown);
}

/** A wrong code shows the same QR code again, because the app has already scanned it. */
function showFailed(
  backend: BackendContext,
  asked: FactorRequest,
  fields: Fields,
  error: AuthError,
): Reply | Promise<Reply> {
  const { request, returnTo } = asked;
  const enrollment = fields.has('code') ? readEnrollment(fields) : undefined;
  const isAgain = asksAgain({ error }, fields.has('again'));
  if (enrollment === undefined) return listPage(backend, asked, { error, isAgain });
  return drawnPage(backend, request, { returnTo, enrollment, error });
}

async function drawnPage(
  backend: BackendContext,
  request: AuthRequest,
  state: { readonly returnTo: string; readonly enrollment: Enrollment; readonly error?: AuthError },
): Promise<Reply> {
  const site = siteFor(backend, request);
  const picture = await qrCode(state.enrollment.uri, site.text.qrCodeLabel.plain);
  return enrollPage(site, request, { ...state, picture });
}

/** Lower case, as the backend writes it, so that all spellings count as one. @throws {AuthError} `invalid_request` where it is not an id */
function readFactorId(value = ''): string {
  const id = value.toLowerCase();
  if (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)) return id;
  throw new AuthError('invalid_request');
}

/** The enrollment that the form resends after a wrong code, to draw the QR code again. Only its sender sees it. */
function readEnrollment(fields: Fields): Enrollment | undefined {
  const [factorId = '', uri = ''] = [fields.get('factorId'), fields.get('uri')];
  if (uri.length > 1_024 || !/^otpauth:\/\/totp\/[\x21-\x7e]+$/.test(uri)) return undefined;
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  return /^[A-Z2-7]{16,128}$/.test(secret) ? { factorId, secret, uri } : undefined;
}
