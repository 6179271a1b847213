import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/request.ts';
import { fillIn } from '../../pages/texts.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { asksForChallenge, bindCeremony, hasAnswer, readAnswer, refusedAnswer } from '../webauthn/challenges.ts';
import type { Factor } from './factors.ts';
import { sendFactorCode, verifyFactor } from './factors.ts';
import { keyKind, kindOf } from './kinds.ts';
import { has, readAction } from '../forms/action.ts';
import { errorForForm, localUrl, readReturnTo, subjectFormRoute } from '../forms/forms.ts';
import type { FormInput, Next } from '../forms/forms.ts';
import { challengeKey, verifyKey } from './key-factors.ts';
import { unavailablePage, verifyPage } from './page.ts';
import { siteFor } from '../pages/parts.ts';
import { asksAgain } from '../webauthn/page.ts';
import { resendAfter, resendOf } from '../pages/resend.ts';
import type { Resend } from '../pages/resend.ts';
import { asIssued } from '../supabase/account.ts';
import { advance, stepUrl } from '../sign-in/sign-in.ts';
import { subjectOf } from '../sign-in/subject.ts';
import { mailWaitSeconds, tooManyCodes } from '../forms/attempts.ts';
import { askFactors, replyToEnd, readCode } from './request.ts';
import type { FactorRequest } from './request.ts';

/** `/auth/verify`: asks for the second factor of a pending sign-in, or of a session without one. */
export function verifyRoute(backend: BackendContext): AuthRoute {
  return subjectFormRoute<FactorRequest>(
    backend,
    {
      path: backend.settings.paths.verify,
      option: 'paths.verify',
      hasData: true,
      page: (_request, input, asked) => showForm(backend, asked, input),
      isShared: (_request, fields) => actionOf(fields) !== 'startKey',
      submit: (_request, fields, _returnTo, asked) => takeAnswer(backend, asked, fields),
      leave: (_request, error, asked) => replyToEnd(backend, asked, error),
    },
    async (request, fields) => {
      const subject = await subjectOf(backend, request, 'factor');
      return askFactors(backend, request, subject, readReturnTo(request, fields, subject?.pending?.returnTo));
    },
  );
}

function showForm(backend: BackendContext, asked: FactorRequest, { fields, error }: FormInput): Reply {
  const { request, subject, returnTo, factors } = asked;
  const named = fields.get('factorId') ?? request.query.get('factorId') ?? undefined;
  // The named factor may have been removed meanwhile.
  const factor = chosenFactor(backend, asked, named) ?? codeFactors(asked)[0];
  if (error !== undefined) {
    const isAgain = asksAgain({ error }, fields.has('again'));
    return isOutOfReach(asked)
      ? refusedPage(backend, asked, error)
      : formPage(backend, asked, { factor, error, isAgain, ...afterCode(backend, fields, error) });
  }
  // Reloaded, or reached by the back button, after the factor was verified.
  if (isGiven(asked)) return redirectOrJson(request, urlAfter(backend, asked), 302);
  if (subject.pending === undefined && factors.verified.length === 0) {
    return redirectOrJson(request, localUrl(request, backend.settings.paths.enroll, returnTo), 302);
  }
  if (isOutOfReach(asked)) return refusedPage(backend, asked, errorForForm(backend, request, outOfReach()));
  if (request.wantsJson) return json(200, { factors: factors.askable.map(({ id, type }) => ({ id, type })) });
  return formPage(backend, asked, { factor });
}

/** What a refused code or message leaves closed for a while. */
function afterCode({ settings }: BackendContext, fields: Fields, error: AuthError) {
  const now = settings.now();
  // A security key is counted apart from the app's codes.
  const isClosed = error.reason === tooManyCodes && fields.has('code');
  const wait = fields.has('send') ? error.retryAfter : undefined;
  return { isClosed, resend: wait === undefined ? resendOf(fields, now) : resendAfter(wait, now) };
}

/** Whether the user has second factors, and none that this package can ask for. */
const isOutOfReach = ({ factors }: FactorRequest): boolean =>
  factors.verified.length > 0 && factors.askable.length === 0;

function outOfReach(): AuthError {
  return new AuthError('factor_unavailable', {
    reason: 'factor_type',
    message: 'This account has a second factor that can’t be used here. Use another account, or contact support.',
  });
}

function refusedPage(backend: BackendContext, asked: FactorRequest, error: AuthError): Reply {
  const { request, subject, returnTo, factors } = asked;
  const isPending = subject.pending !== undefined;
  return unavailablePage(siteFor(backend, request), request, { error, returnTo, isPending, factors: factors.verified });
}

const isGiven = ({ subject }: FactorRequest): boolean => subject.session.claims['aal'] === 'aal2';

/** Where a given factor leads. */
function urlAfter(backend: BackendContext, { request, subject, returnTo }: FactorRequest): string {
  return subject.pending === undefined ? returnTo : stepUrl(backend, request, 'password', returnTo);
}

async function takeAnswer(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<Next> {
  const { request, factors } = asked;
  // A form that is sent again must not count as an attempt. A client may ask for a code although the session has its factor.
  if (isGiven(asked) && !request.wantsJson) return urlAfter(backend, asked);
  // An administrator removed the factors, so there is nothing to verify.
  if (factors.verified.length === 0) return goOnWithout(backend, asked);
  if (isOutOfReach(asked)) throw outOfReach();
  switch (actionOf(fields)) {
    case 'startKey':
      return startKey(backend, asked, fields);
    case 'verifyKey':
      return verifyWithKey(backend, asked, fields);
    case 'sendCode':
      return sendCode(backend, asked, fields.get('send') ?? '');
    case 'verifyCode':
      return verify(backend, asked, fields);
  }
}

const meanings = {
  // JSON clients name the key. The page's script leaves its answer empty where it got no challenge.
  startKey: (fields: Fields): boolean =>
    fields.has('challenge') || (fields.has('credential') && asksForChallenge(fields)),
  verifyKey: hasAnswer,
  sendCode: has('send'),
};
const actionOf = (fields: Fields) => readAction(fields, meanings, 'verifyCode');

async function startKey(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<Reply> {
  const { request, subject } = asked;
  const { id } = keyFactor(asked, fields.get('challenge') ?? fields.get('factorId'));
  const ask = () => challengeKey(backend, request, subject.content, id);
  const started = await backend.attempts.runChallenge(request.req, subject.session.user.id, ask);
  if (request.wantsJson) return json(200, { factorId: id, ...bindCeremony(backend, request, started) });
  return formPage(backend, asked, { factor: codeFactors(asked)[0], isAgain: !fields.has('again') });
}

async function verifyWithKey(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<string> {
  const { request, subject, returnTo } = asked;
  const { id: factorId } = keyFactor(asked, fields.get('factorId'));
  const answer = { type: 'request', factorId, ...readAnswer(backend, request, fields) } as const;
  const verify = () => verifyKey(backend, request, subject.content, answer);
  const issued = await backend.attempts.runCode(request.req, `factor:${factorId}`, verify);
  return advance(backend, request, subject, { step: 'factor', issued, returnTo });
}

/** @throws {AuthError} `code_wrong` where it was removed meanwhile, or never belonged to this user */
function keyFactor({ factors }: FactorRequest, named: string | undefined): Factor {
  const keys = factors.askable.filter(({ type }) => type === keyKind.type);
  const key = named === undefined ? keys[0] : keys.find(({ id }) => id === named.toLowerCase());
  if (key === undefined) throw refusedAnswer({ reason: 'factor' });
  return key;
}

const codeFactors = ({ factors }: FactorRequest): readonly Factor[] =>
  factors.askable.filter((factor) => kindOf(factor)?.proof === 'code');

/** A session leads to the page that adds a factor. */
async function goOnWithout(backend: BackendContext, asked: FactorRequest): Promise<string> {
  const { request, subject, returnTo, user } = asked;
  if (subject.pending === undefined) return localUrl(request, backend.settings.paths.enroll, returnTo);
  const issued = asIssued(subject.content, user);
  return advance(backend, request, subject, { step: 'factor', issued, returnTo });
}

async function sendCode(backend: BackendContext, asked: FactorRequest, factorId: string): Promise<Reply> {
  const { request, subject, factors } = asked;
  const factor = factors.askable.find((each) => each.id === factorId.toLowerCase() && kindOf(each)?.isSent === true);
  if (factor === undefined) throw new AuthError('invalid_request');
  const send = () => sendFactorCode(backend, request, subject.content, factor.id);
  const challengeId = await backend.attempts.runMessage(request.req, `factor:${factor.id}`, send);
  writeChallenge(backend, request, { factorId: factor.id, challengeId });
  if (request.wantsJson) {
    const message = fillIn(siteFor(backend, request).text.codeSentText, { digits: factor.digits }).plain;
    return { ...json(200, { factorId: factor.id, message }), hasTexts: true };
  }
  const resend = resendAfter(mailWaitSeconds, backend.settings.now());
  return formPage(backend, asked, { factor, isSent: true, resend });
}

async function verify(backend: BackendContext, asked: FactorRequest, fields: Fields): Promise<string> {
  const { request, subject, returnTo } = asked;
  const factor = chosenFactor(backend, asked, fields.get('factorId'));
  // It was removed meanwhile, or never belonged to this user.
  if (factor === undefined) throw new AuthError('code_wrong', { reason: 'factor' });
  const code = readCode(fields);
  const isSent = kindOf(factor)?.isSent === true;
  const challenge = isSent ? readChallenge(backend, request) : undefined;
  if (isSent && challenge?.factorId !== factor.id) {
    throw new AuthError('code_wrong', { reason: 'no_challenge' });
  }
  const answer = { factorId: factor.id, code, challengeId: challenge?.challengeId };
  const issued = await backend.attempts.runCode(request.req, `factor:${factor.id}`, () =>
    verifyFactor(backend, request, subject.content, answer),
  );
  clearChallenge(backend, request);
  return advance(backend, request, subject, { step: 'factor', issued, returnTo });
}

/** Of those with codes: the named factor, else the one that a code was sent to, else the first. */
function chosenFactor(backend: BackendContext, asked: FactorRequest, named: string | undefined) {
  const wanted = named?.toLowerCase() ?? readChallenge(backend, asked.request)?.factorId;
  const listed = codeFactors(asked);
  return listed.find(({ id }) => id === wanted) ?? (named === undefined ? listed[0] : undefined);
}

function formPage(
  backend: BackendContext,
  { request, returnTo, factors }: FactorRequest,
  state: {
    readonly factor: Factor | undefined;
    readonly isSent?: boolean;
    readonly isClosed?: boolean;
    readonly resend?: Resend | undefined;
    readonly isAgain?: boolean;
    readonly error?: AuthError;
  },
): Reply {
  const { factor } = state;
  return verifyPage(siteFor(backend, request), request, {
    isSent: factor !== undefined && readChallenge(backend, request)?.factorId === factor.id,
    ...state,
    factors: factors.askable,
    returnTo,
  });
}

/** The last text message: its code answers only this challenge. The ids are not secret, and useless without the code. */
interface SentChallenge {
  readonly factorId: string;
  readonly challengeId: string;
}

const challengeForm = /^([\da-f-]{36})\.([\da-f-]{36})$/;

/** The cookie that holds a phone's challenge between two requests, for ten minutes. */
function challengeName({ settings }: BackendContext): string {
  return `${settings.cookieName}-challenge`;
}

function readChallenge(backend: BackendContext, { cookies }: AuthRequest): SentChallenge | undefined {
  const match = challengeForm.exec(cookies.get(challengeName(backend))?.[0] ?? '');
  return match === null ? undefined : { factorId: String(match[1]), challengeId: String(match[2]) };
}

function writeChallenge(backend: BackendContext, request: AuthRequest, challenge: SentChallenge): void {
  const value = `${challenge.factorId}.${challenge.challengeId}`;
  const { attributes } = backend.flows;
  if (challengeForm.test(value)) request.writeCookies([{ name: challengeName(backend), value, attributes }]);
}

function clearChallenge(backend: BackendContext, request: AuthRequest): void {
  const name = challengeName(backend);
  const { attributes } = backend.flows;
  if (request.cookies.has(name)) request.writeCookies([{ name, value: undefined, attributes }]);
}
