import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { Fields } from '../../http/body.ts';
import { errorBody } from '../../http/error-reply.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, localUrl, readCode, readReturnTo } from '../forms.ts';
import { enrollPage, factorsPage, qrCode } from '../pages/factors.ts';
import { endOver, findLive, raiseSubject, signInFirst } from './factor-subject.ts';
import type { FactorSubject } from './factor-subject.ts';
import { enrollApp, isSessionOver, listFactors, removeFactor, verifyFactor } from './factors.ts';
import type { Enrollment, Factor } from './factors.ts';

/** A request of a signed-in user who may change second factors. */
interface Asked {
  readonly request: AuthRequest;
  readonly subject: FactorSubject;
  readonly returnTo: string;
  /** Only verified factors. */
  readonly factors: readonly Factor[];
}

/** `/auth/enroll`: lists the signed-in user's second factors, adds authenticator apps and removes factors. */
export function enrollRoute(backend: BackendContext): AuthRoute {
  return {
    path: backend.settings.enrollPath,
    option: 'enrollPath',
    get: (request) => showFactors(backend, request),
    post: (request) => changeFactors(backend, request),
  };
}

/**
 * @returns a reply where another step is required first: the sign-in, or an existing second factor
 * @throws {AuthError} `forbidden` for visitors without an account
 */
async function ask(backend: BackendContext, request: AuthRequest, returnTo: string): Promise<Asked | Reply> {
  const subject = await findLive(backend, request);
  if (subject === undefined) return signInFirst(request, returnTo);
  if (subject.session.user.isAnonymous) throw new AuthError('forbidden');
  try {
    const { factors } = await listFactors(backend, request, subject.content);
    const verified = factors.filter(({ isVerified }) => isVerified);
    const isRaised = subject.session.claims['aal'] === 'aal2';
    if (verified.length > 0 && !isRaised) return secondFactorFirst(backend, request, returnTo);
    return { request, subject, returnTo, factors: verified };
  } catch (error) {
    if (!isSessionOver(error)) throw error;
    return endOver(backend, request, subject, returnTo);
  }
}

/** A password alone must neither add nor remove a factor. */
function secondFactorFirst({ settings }: BackendContext, request: AuthRequest, returnTo: string): Reply {
  const verifyUrl = localUrl(request, settings.verifyPath, returnTo, { then: 'enroll' });
  if (!request.wantsJson) return redirectOrJson(request, verifyUrl, request.req.method === 'POST' ? 303 : 302);
  const error = new AuthError('second_factor_required');
  if (settings.onError !== undefined) throw error;
  return json(error.status, errorBody(error, verifyUrl));
}

async function showFactors(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  const asked = await ask(backend, request, readReturnTo(request));
  if ('status' in asked) return asked;
  if (request.wantsJson) return json(200, { factors: asked.factors.map(({ id, type }) => ({ id, type })) });
  return factorsPage(backend, request, asked);
}

async function changeFactors(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  const fields = await readFields(request.req, request.res);
  const asked = await ask(backend, request, readReturnTo(request, fields));
  if ('status' in asked) return asked;
  try {
    const removed = fields.get('remove');
    if (removed !== undefined) return await remove(backend, asked, readFactorId(removed));
    return fields.has('code') ? await confirm(backend, asked, fields) : await start(backend, asked);
  } catch (error) {
    if (isSessionOver(error)) return endOver(backend, request, asked.subject, asked.returnTo);
    return await failed(backend, asked, fields, errorForForm(backend, request, error));
  }
}

async function start(backend: BackendContext, { request, subject, returnTo }: Asked): Promise<Reply> {
  const add = () => enrollApp(backend, request, subject.content);
  const enrollment = await backend.attempts.run(request.req, undefined, add, 'forgives');
  return request.wantsJson ? json(200, enrollment) : drawnPage(backend, request, { returnTo, enrollment });
}

async function confirm(backend: BackendContext, asked: Asked, fields: Fields): Promise<Reply> {
  const { request, subject, returnTo } = asked;
  const factorId = readFactorId(fields.get('factorId'));
  const code = readCode(fields);
  const verify = () => verifyFactor(backend, request, subject.content, { factorId, code });
  const issued = await backend.attempts.runCode(request.req, `factor:${factorId}`, verify);
  return redirectOrJson(request, await raiseSubject(backend, request, subject, { issued, returnTo }));
}

async function remove(backend: BackendContext, asked: Asked, factorId: string): Promise<Reply> {
  const { request, subject, returnTo } = asked;
  await removeFactor(backend, request, subject.content, factorId);
  return redirectOrJson(request, localUrl(request, backend.settings.enrollPath, returnTo));
}

/** A wrong code shows the same QR code again, because the app has already scanned it. */
function failed(backend: BackendContext, asked: Asked, fields: Fields, error: AuthError): Reply | Promise<Reply> {
  const { request, returnTo } = asked;
  const enrollment = fields.has('code') ? readEnrollment(fields) : undefined;
  if (enrollment === undefined) return factorsPage(backend, request, { ...asked, error });
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
