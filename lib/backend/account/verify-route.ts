import { createOnce } from '../../core/once.ts';
import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm } from '../form-answers.ts';
import { readCode } from '../form-fields.ts';
import { verifyPage } from '../pages/verify-page.ts';
import { passwordUrl } from '../sign-in/start-flow.ts';
import { createChallengeCookie } from './challenge-cookie.ts';
import type { ChallengeCookie } from './challenge-cookie.ts';
import { isSessionOver } from './factors.ts';
import type { Factor, UserFactors } from './factors.ts';
import { createFactorSubjects } from './factor-subject.ts';
import type { FactorSubject, FactorSubjects, GivenFactor } from './factor-subject.ts';

interface Context {
  readonly backend: BackendContext;
  readonly subjects: FactorSubjects;
  readonly challenges: ChallengeCookie;
  /** A button that is pressed twice posts twice, and the browser shows the second answer. */
  readonly once: ReturnType<typeof createOnce<GivenFactor>>;
}

/** A request to this route, and what the backend says of the user behind it. */
interface Asked extends UserFactors {
  readonly request: AuthRequest;
  readonly subject: FactorSubject;
  readonly returnTo: string;
}

/** `/auth/verify`: asks for the second factor of a sign-in that waits for it, or of a session that has not given it yet. */
export function verifyRoute(backend: BackendContext): AuthRoute {
  const { cookieName, cookieOptions, verifyPath, timeoutMs: ttlMs, now } = backend.settings;
  const challenges = createChallengeCookie(cookieName, cookieOptions?.sameSite);
  const once = createOnce<GivenFactor>({ ttlMs, max: 10_000, now, keeps: 'none' });
  const context: Context = { backend, challenges, subjects: createFactorSubjects(backend), once };
  return {
    path: verifyPath,
    option: 'verifyPath',
    get: (request) => showForm(context, request),
    post: (request) => takeAnswer(context, request),
  };
}

/** @returns a reply where there is no one to ask */
async function ask({ backend, subjects }: Context, request: AuthRequest, fields?: Fields): Promise<Asked | Reply> {
  const subject = await subjects.find(request);
  const { query } = request;
  const returnTo = request.returnTo(fields?.get('returnTo') ?? query.get('returnTo') ?? subject?.waiting?.returnTo);
  if (subject === undefined) return subjects.signInFirst(request, returnTo);
  try {
    const { user, factors } = await backend.factors.list(request, subject.content);
    return { request, subject, returnTo, user, factors: factors.filter(({ isVerified }) => isVerified) };
  } catch (error) {
    if (!isSessionOver(error)) throw error;
    return subjects.endOver(request, subject, returnTo);
  }
}

async function showForm(context: Context, request: AuthRequest): Promise<Reply> {
  const { subjects } = context;
  const asked = await ask(context, request);
  if ('status' in asked) return asked;
  const { subject, returnTo, factors } = asked;
  // Reloaded, or reached by the back button, after it was given.
  if (isGiven(asked)) return redirectOrJson(request, urlAfter(context, asked), 302);
  if (subject.waiting === undefined && factors.length === 0) {
    return redirectOrJson(request, subjects.enrollUrl(request, returnTo), 302);
  }
  if (request.wantsJson) return json(200, { factors: factors.map(({ id, type }) => ({ id, type })) });
  // The one that was named may have been removed meanwhile.
  const factor = chosenFactor(context, asked, request.query.get('factorId') ?? undefined) ?? factors[0];
  return formPage(context, asked, { factor });
}

const isGiven = ({ subject }: Asked): boolean => subject.session.claims['aal'] === 'aal2';

function urlAfter(context: Context, asked: Asked): string {
  const { request, subject, returnTo } = asked;
  const isForPassword = subject.waiting?.kind === 'recovery';
  return isForPassword ? passwordUrl(context.backend.settings, request, returnTo) : nextUrl(context, asked);
}

async function takeAnswer(context: Context, request: AuthRequest): Promise<Reply> {
  const { backend, subjects } = context;
  const fields = await readFields(request.req, request.res);
  const asked = await ask(context, request, fields);
  if ('status' in asked) return asked;
  const { subject, returnTo, factors } = asked;
  // The form is that of a sign-in which is over: no try to count for the user whose session this is.
  if (isGiven(asked) && thenOf(request) === 'sign-in') {
    if (request.wantsJson) throw new AuthError('unauthenticated');
    return redirectOrJson(request, urlAfter(context, asked));
  }
  try {
    // Removed by an administrator: nothing is left to ask for.
    if (factors.length === 0) return redirectOrJson(request, await subjects.goOnWithout(request, subject, asked));
    const send = fields.get('send');
    return send === undefined ? await verify(context, asked, fields) : await sendCode(context, asked, send);
  } catch (error) {
    if (isSessionOver(error)) return subjects.endOver(request, subject, returnTo);
    const shown = errorForForm(backend, request, error);
    const factor = chosenFactor(context, asked, fields.get('factorId')) ?? factors[0];
    return formPage(context, asked, { factor, error: shown });
  }
}

async function sendCode({ backend, challenges, ...rest }: Context, asked: Asked, factorId: string): Promise<Reply> {
  const { request, subject, factors } = asked;
  const factor = factors.find(({ id, type }) => id === factorId.toLowerCase() && type === 'phone');
  if (factor === undefined) throw new AuthError('invalid_request');
  const send = () => backend.factors.sendCode(request, subject.content, factor.id);
  const challengeId = await backend.attempts.run(request.req, `factor:${factor.id}`, send, 'counts');
  challenges.write(request, { factorId: factor.id, challengeId });
  if (request.wantsJson) return json(200, { factorId: factor.id, message: backend.text.codeSentText.plain });
  return formPage({ backend, challenges, ...rest }, asked, { factor, isSent: true });
}

async function verify(context: Context, asked: Asked, fields: Fields): Promise<Reply> {
  const { backend, subjects, challenges } = context;
  const { request, subject } = asked;
  const factor = chosenFactor(context, asked, fields.get('factorId'));
  // It was removed meanwhile, or never was this user's.
  if (factor === undefined) throw new AuthError('code_wrong', { reason: 'factor' });
  const code = readCode(fields);
  const challenge = factor.type === 'phone' ? challenges.read(request) : undefined;
  if (factor.type === 'phone' && challenge?.factorId !== factor.id) {
    throw new AuthError('code_wrong', { reason: 'no_challenge' });
  }
  const answer = { factorId: factor.id, code, challengeId: challenge?.challengeId };
  const next = nextUrl(context, asked);
  const given = await context.once([subject.content.access_token, factor.id, code, next], async () => {
    const issued = await backend.attempts.runCode(request.req, `factor:${factor.id}`, () =>
      backend.factors.verify(request, subject.content, answer),
    );
    return subjects.accept(request, subject, issued, next);
  });
  challenges.clear(request);
  return redirectOrJson(request, await subjects.raise(request, subject, given, next));
}

/** What the code is for, where the URL says so. */
function thenOf({ query }: AuthRequest): 'enroll' | 'sign-in' | undefined {
  const then = query.get('then');
  return then === 'enroll' || then === 'sign-in' ? then : undefined;
}

/** The page of the factors, or the one page that led here. */
function nextUrl({ subjects }: Context, { request, returnTo }: Asked): string {
  return thenOf(request) === 'enroll' ? subjects.enrollUrl(request, returnTo) : returnTo;
}

/** The one that was named, else that to which a code was sent, else the first. */
function chosenFactor({ challenges }: Context, { request, factors }: Asked, named: string | undefined) {
  const wanted = named?.toLowerCase() ?? challenges.read(request)?.factorId;
  return factors.find(({ id }) => id === wanted) ?? (named === undefined ? factors[0] : undefined);
}

function formPage(
  { backend, challenges }: Context,
  { request, returnTo, subject, factors }: Asked,
  state: { readonly factor: Factor | undefined; readonly isSent?: boolean; readonly error?: AuthError },
): Reply {
  const { factor } = state;
  return verifyPage(backend, request, {
    isSent: factor !== undefined && challenges.read(request)?.factorId === factor.id,
    ...state,
    factors,
    returnTo,
    // A session that another tab stores meanwhile must not get the code of the sign-in that waits.
    then: subject.waiting === undefined ? thenOf(request) : 'sign-in',
    isPending: subject.waiting !== undefined,
  });
}
