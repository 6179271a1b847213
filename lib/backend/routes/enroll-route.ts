import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import { errorBody } from '../../http/error-reply.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { askFreshSignIn } from '../../http/step-up.ts';
import type { BackendContext } from '../context.ts';
import type { Factor } from '../factors.ts';
import { FormProblem, readCode } from '../form-fields.ts';
import { localUrl, readReturnTo, subjectFormRoute } from '../forms.ts';
import type { FormInput, Next } from '../forms.ts';
import { enrollPage, factorsPage, qrCode, removePage } from '../pages/factors.ts';
import { advance, stepUrl } from '../sign-in.ts';
import { endOver, renewLowered, sessionOf } from '../subject.ts';
import { enrollApp, removeFactor, verifyFactor } from '../factors.ts';
import type { Enrollment } from '../factors.ts';
import { askFactors, replyToEnd } from './factor-request.ts';
import type { FactorRequest } from './factor-request.ts';

/** Seconds since the sign-in within which a first factor may be added. */
const freshSeconds = 600;

/** `/auth/enroll`: lists the signed-in user's second factors, adds authenticator apps and removes factors. */
export function enrollRoute(backend: BackendContext): AuthRoute {
  return subjectFormRoute<FactorRequest>(
    backend,
    {
      path: backend.settings.enrollPath,
      option: 'enrollPath',
      isReturnTarget: true,
      hasData: true,
      page: (_request, input, asked) => showFactors(backend, asked, input),
      submit: (_request, fields, _returnTo, asked) => changeFactors(backend, asked, fields),
      leave: async (_request, error, asked) =>
        (await replyToEnd(backend, asked, error)) ??
        (isInsufficient(error) ? raiseAgain(backend, asked, error) : undefined),
    },
    (request, fields) => ask(backend, request, readReturnTo(request, fields)),
  );
}

/**
 * @returns a reply where another step is required first: the sign-in, or an existing second factor
 * @throws {AuthError} `forbidden` for visitors without an account
 */
async function ask(backend: BackendContext, request: AuthRequest, returnTo: string): Promise<FactorRequest | Reply> {
  const subject = await sessionOf(backend, request);
  if (subject?.session.user.isAnonymous === true) throw new AuthError('forbidden');
  const asked = await askFactors(backend, request, subject, returnTo);
  if ('status' in asked) return asked;
  const isRaised = asked.subject.session.claims['aal'] === 'aal2';
  return asked.factors.verified.length > 0 && !isRaised ? secondFactorFirst(backend, request, returnTo) : asked;
}

/** An old session must not become one with two factors: a thief would lock its owner out. */
function signInAgainFirst(
  backend: BackendContext,
  { request, subject, factors, returnTo }: FactorRequest,
): Reply | undefined {
  if (factors.verified.length > 0) return undefined;
  const wayBack = localUrl(request, backend.settings.enrollPath, returnTo);
  return askFreshSignIn(request, subject.session, freshSeconds, wayBack);
}

/** A password alone must neither add nor remove a factor. */
function secondFactorFirst(backend: BackendContext, request: AuthRequest, returnTo: string): Reply {
  const verifyUrl = stepUrl(backend, request, 'factor', localUrl(request, backend.settings.enrollPath, returnTo));
  if (!request.wantsJson) return redirectOrJson(request, verifyUrl, request.req.method === 'POST' ? 303 : 302);
  const error = new AuthError('second_factor_required');
  if (backend.settings.onError !== undefined) throw error;
  return json(error.status, errorBody(error, verifyUrl));
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
  return removed?.isVerified === true ? askRemoval(backend, asked, removed) : listPage(backend, asked);
}

async function changeFactors(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<Next> {
  const removed = fields.get('remove');
  if (removed !== undefined) return remove(backend, asked, readFactorId(removed), fields.get('sure') === 'yes');
  const signIn = signInAgainFirst(backend, asked);
  if (signIn !== undefined) return signIn;
  return fields.has('code') ? confirm(backend, asked, fields) : start(backend, asked);
}

/** GoTrue's `insufficient_aal`, for a token that claims `aal2`: the factor that raised the session was removed elsewhere. */
function isInsufficient(error: unknown): error is AuthError {
  return error instanceof AuthError && error.code === 'second_factor_required';
}

/** @throws {AuthError} the given error, where new tokens claim the same again */
async function raiseAgain(backend: BackendContext, asked: FactorRequest, error: AuthError): Promise<Reply> {
  const { request, subject, returnTo } = asked;
  const isLowered = await renewLowered(backend, request, subject);
  if (isLowered === undefined) return endOver(backend, request, subject, returnTo);
  if (!isLowered) throw error;
  return secondFactorFirst(backend, request, returnTo);
}

async function start(backend: BackendContext, { request, subject, returnTo, user }: FactorRequest): Promise<Reply> {
  // The app shows it beside the code, so GoTrue fails without one.
  if ((user.email ?? '') === '') {
    throw new FormProblem('form', 'factorNeedsEmail', 'An authenticator app needs an account with an email address.', {
      code: 'factor_unavailable',
      reason: 'no_email',
    });
  }
  const add = () => enrollApp(backend, request, subject.content);
  const enrollment = await backend.attempts.run(request.req, undefined, add, 'forgives');
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
  return advance(backend, request, subject, { step: 'factor', issued, returnTo });
}

function ownFactor({ factors }: FactorRequest, factorId: string | undefined): Factor | undefined {
  return factors.all.find(({ id }) => id !== '' && id.toLowerCase() === factorId?.toLowerCase());
}

/** A page asks first; JSON clients ask by themselves. */
async function remove(backend: BackendContext, asked: FactorRequest, factorId: string, isSure: boolean): Promise<Next> {
  const { request, subject, returnTo, factors } = asked;
  const factor = ownFactor(asked, factorId);
  const left = (list: readonly Factor[]): number => list.filter(({ id }) => id !== factor?.id).length;
  // What remains could not be asked for here, so the user could not sign in anymore.
  if (factor?.isVerified === true && left(factors.askable) === 0 && left(factors.verified) > 0) {
    throw new FormProblem(
      'form',
      'factorStillNeeded',
      'This is the only second factor that can be used here, and the account has others. Add another one first.',
      { code: 'factor_unavailable', reason: 'last_askable' },
    );
  }
  if (factor?.isVerified === true && !isSure && !request.wantsJson) return askRemoval(backend, asked, factor);
  await removeFactor(backend, request, subject.content, factorId);
  const isLowered = await renewLowered(backend, request, subject).catch((error: unknown) => {
    backend.explain('the session will be renewed by the next request: %s', String(error));
    return true;
  });
  if (isLowered === undefined) return endOver(backend, request, subject, returnTo);
  return localUrl(request, backend.settings.enrollPath, returnTo);
}

function askRemoval(backend: BackendContext, { request, returnTo, factors }: FactorRequest, factor: Factor): Reply {
  return removePage(backend, request, { factor, returnTo, isLast: factors.verified.length === 1 });
}

function listPage(backend: BackendContext, { request, returnTo, factors }: FactorRequest, error?: AuthError): Reply {
  return factorsPage(backend, request, { factors: factors.verified, returnTo, error });
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
  if (enrollment === undefined) return listPage(backend, asked, error);
  return drawnPage(backend, request, { returnTo, enrollment, error });
}

async function drawnPage(
  backend: BackendContext,
  request: AuthRequest,
  state: { readonly returnTo: string; readonly enrollment: Enrollment; readonly error?: AuthError },
): Promise<Reply> {
  const picture = await qrCode(state.enrollment.uri, backend.text.qrCodeLabel.plain);
  return enrollPage(backend, request, { ...state, picture });
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
