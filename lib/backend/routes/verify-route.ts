import { createSharedOutcomes } from '../../core/shared-outcomes.ts';
import type { SharedOutcomes } from '../../core/shared-outcomes.ts';
import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, localUrl, readCode } from '../forms.ts';
import type { Factor } from '../factor-list.ts';
import { unavailablePage, verifyPage } from '../pages/factors.ts';
import { acceptFactor, endOver, endRejected, findSubject, goOnWithout, raiseSubject } from '../subject.ts';
import { signInFirst } from '../subject.ts';
import type { FactorSubject, GivenFactor } from '../subject.ts';
import { isRejected, isSessionOver, listFactors, sendFactorCode, verifyFactor } from '../factors.ts';
import type { UserFactors } from '../factors.ts';

interface Context {
  readonly backend: BackendContext;
  /** A double click posts twice, and the browser shows the second response. */
  readonly given: SharedOutcomes<GivenFactor>;
}

/** A request to this route, with the backend's data about its user. */
interface Asked extends UserFactors {
  readonly request: AuthRequest;
  readonly subject: FactorSubject;
  readonly returnTo: string;
}

/** `/auth/verify`: asks for the second factor of a pending sign-in, or of a session without one. */
export function verifyRoute(backend: BackendContext): AuthRoute {
  const { verifyPath, now } = backend.settings;
  const given = createSharedOutcomes<GivenFactor>({ now });
  return {
    path: verifyPath,
    option: 'verifyPath',
    get: (request) => showForm(backend, request),
    post: (request) => takeAnswer({ backend, given }, request),
  };
}

/** @returns a reply where there is neither a pending sign-in nor a session */
async function ask(backend: BackendContext, request: AuthRequest, fields?: Fields): Promise<Asked | Reply> {
  const subject = await findSubject(backend, request);
  const { query } = request;
  const returnTo = request.returnTo(fields?.get('returnTo') ?? query.get('returnTo') ?? subject?.waiting?.returnTo);
  if (subject === undefined) return signInFirst(request, returnTo);
  try {
    return { request, subject, returnTo, ...(await listFactors(backend, request, subject.content)) };
  } catch (error) {
    if (!isSessionOver(error)) throw error;
    return endOver(backend, request, subject, returnTo);
  }
}

async function showForm(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  const asked = await ask(backend, request);
  if ('status' in asked) return asked;
  const { subject, returnTo, factors } = asked;
  // Reloaded, or reached by the back button, after the factor was verified.
  if (isGiven(asked)) return redirectOrJson(request, urlAfter(backend, asked), 302);
  if (subject.waiting === undefined && factors.verified.length === 0) {
    return redirectOrJson(request, localUrl(request, backend.settings.enrollPath, returnTo), 302);
  }
  if (isOutOfReach(asked)) return refuseFactors(backend, asked);
  if (request.wantsJson) return json(200, { factors: factors.askable.map(({ id, type }) => ({ id, type })) });
  // The named factor may have been removed meanwhile.
  const factor = chosenFactor(backend, asked, request.query.get('factorId') ?? undefined) ?? factors.askable[0];
  return formPage(backend, asked, { factor });
}

/** Whether the user has second factors, and none that this package can ask for. */
const isOutOfReach = ({ factors }: Asked): boolean => factors.verified.length > 0 && factors.askable.length === 0;

/** @throws {AuthError} `factor_unavailable` for clients that want JSON */
function refuseFactors(backend: BackendContext, { request, subject, returnTo, factors }: Asked): Reply {
  const failure = new AuthError('factor_unavailable', {
    reason: 'factor_type',
    message: 'This account has a second factor that can’t be used here. Use another account, or contact support.',
  });
  const error = errorForForm(backend, request, failure);
  const isPending = subject.waiting !== undefined;
  return unavailablePage(backend, request, { error, returnTo, isPending, factors: factors.verified });
}

const isGiven = ({ subject }: Asked): boolean => subject.session.claims['aal'] === 'aal2';

function urlAfter(backend: BackendContext, asked: Asked): string {
  const { request, subject, returnTo } = asked;
  const isForPassword = subject.waiting?.kind === 'recovery';
  return isForPassword ? localUrl(request, backend.settings.passwordPath, returnTo) : nextUrl(backend, asked);
}

async function takeAnswer(context: Context, request: AuthRequest): Promise<Reply> {
  const { backend } = context;
  const fields = await readFields(request.req, request.res);
  const asked = await ask(backend, request, fields);
  if ('status' in asked) return asked;
  const { subject, returnTo, factors } = asked;
  // The form belongs to a sign-in that has ended: the attempt must not count against the user of this session.
  if (isGiven(asked) && thenOf(request) === 'sign-in') {
    if (request.wantsJson) throw new AuthError('unauthenticated');
    return redirectOrJson(request, urlAfter(backend, asked));
  }
  try {
    // An administrator removed the factors, so there is nothing to verify.
    if (factors.verified.length === 0) {
      return redirectOrJson(request, await goOnWithout(backend, request, subject, asked));
    }
    if (isOutOfReach(asked)) return refuseFactors(backend, asked);
    const send = fields.get('send');
    return send === undefined ? await verify(context, asked, fields) : await sendCode(backend, asked, send);
  } catch (error) {
    if (isSessionOver(error)) return endOver(backend, request, subject, returnTo);
    if (isRejected(error)) return endRejected(backend, request, subject, { error, returnTo });
    const shown = errorForForm(backend, request, error);
    const factor = chosenFactor(backend, asked, fields.get('factorId')) ?? factors.askable[0];
    return formPage(backend, asked, { factor, error: shown });
  }
}

async function sendCode(backend: BackendContext, asked: Asked, factorId: string): Promise<Reply> {
  const { request, subject, factors } = asked;
  const factor = factors.askable.find(({ id, type }) => id === factorId.toLowerCase() && type === 'phone');
  if (factor === undefined) throw new AuthError('invalid_request');
  const send = () => sendFactorCode(backend, request, subject.content, factor.id);
  const challengeId = await backend.attempts.run(request.req, `factor:${factor.id}`, send, 'counts');
  writeChallenge(backend, request, { factorId: factor.id, challengeId });
  if (request.wantsJson) return json(200, { factorId: factor.id, message: backend.text.codeSentText.plain });
  return formPage(backend, asked, { factor, isSent: true });
}

async function verify({ backend, given: shared }: Context, asked: Asked, fields: Fields): Promise<Reply> {
  const { request, subject } = asked;
  const factor = chosenFactor(backend, asked, fields.get('factorId'));
  // It was removed meanwhile, or never belonged to this user.
  if (factor === undefined) throw new AuthError('code_wrong', { reason: 'factor' });
  const code = readCode(fields);
  const challenge = factor.type === 'phone' ? readChallenge(backend, request) : undefined;
  if (factor.type === 'phone' && challenge?.factorId !== factor.id) {
    throw new AuthError('code_wrong', { reason: 'no_challenge' });
  }
  const answer = { factorId: factor.id, code, challengeId: challenge?.challengeId };
  const next = nextUrl(backend, asked);
  const given = await shared.share([subject.content.access_token, factor.id, code, next], async () => {
    const issued = await backend.attempts.runCode(request.req, `factor:${factor.id}`, () =>
      verifyFactor(backend, request, subject.content, answer),
    );
    return acceptFactor(backend, request, subject, { issued, returnTo: next });
  });
  clearChallenge(backend, request);
  return redirectOrJson(request, await raiseSubject(backend, request, subject, { ...given, returnTo: next }));
}

const purposes = ['enroll', 'password', 'sign-in'] as const;

/** The purpose of the code, where the URL names it. */
function thenOf({ query }: AuthRequest): (typeof purposes)[number] | undefined {
  const then = query.get('then');
  return purposes.find((purpose) => purpose === then);
}

/** The factors page, the form for a new password, or the page that led here. */
function nextUrl({ settings }: BackendContext, { request, returnTo }: Asked): string {
  const then = thenOf(request);
  if (then === 'password') return localUrl(request, settings.passwordPath, returnTo);
  return then === 'enroll' ? localUrl(request, settings.enrollPath, returnTo) : returnTo;
}

/** The named factor, else the one that a code was sent to, else the first. */
function chosenFactor(backend: BackendContext, { request, factors }: Asked, named: string | undefined) {
  const wanted = named?.toLowerCase() ?? readChallenge(backend, request)?.factorId;
  const { askable } = factors;
  return askable.find(({ id }) => id === wanted) ?? (named === undefined ? askable[0] : undefined);
}

function formPage(
  backend: BackendContext,
  { request, returnTo, subject, factors }: Asked,
  state: { readonly factor: Factor | undefined; readonly isSent?: boolean; readonly error?: AuthError },
): Reply {
  const { factor } = state;
  return verifyPage(backend, request, {
    isSent: factor !== undefined && readChallenge(backend, request)?.factorId === factor.id,
    ...state,
    factors: factors.askable,
    returnTo,
    // A session that another tab stores meanwhile must not receive the code of the pending sign-in.
    then: subject.waiting === undefined ? thenOf(request) : 'sign-in',
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
