import { createHash } from 'node:crypto';
import type { EmailOtpType } from '@supabase/supabase-js';
import { createBoundedMap } from '../../tools/bounded-map.ts';
import { AuthError } from '../../errors.ts';
import type { AuthErrorCode } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { AuthRoute } from '../../http/router.ts';
import { signInFailed } from '../../session/events.ts';
import { answerAccount, askAccount, findQuestion } from './account-question.ts';
import type { AccountQuestion } from './account-question.ts';
import type { BackendContext } from '../context.ts';
import { subjectFormRoute } from '../forms/forms.ts';
import type { Next } from '../forms/forms.ts';
import { changedAnswer, heldSession, prepareLink } from '../sign-in/link-sign-in.ts';
import { otherLinkAnswer } from '../forms/mail.ts';
import { confirmPage } from './page.ts';
import { changeLinkExpiredPage, guestLinkExpiredPage, linkExpiredPage, newLinkPage } from '../pages/notice.ts';
import { siteFor } from '../pages/parts.ts';
import type { FlowKind, SignInFlow } from '../supabase/flow-cookies.ts';
import { isOwnRefusal } from '../supabase/provider-errors.ts';
import { readPending } from '../sign-in/pending.ts';
import { completeGuest, guestSession, guestState } from '../sign-in/guest.ts';
import { needsOf, stepUrl, storeSignIn } from '../sign-in/sign-in.ts';
import type { PreparedSignIn } from '../sign-in/sign-in.ts';
import type { Session } from '../../types.ts';

interface Link {
  readonly tokenHash: string;
  readonly type: EmailOtpType;
  readonly returnTo: string;
  /** In which this browser asked for its mail. */
  readonly flows: readonly SignInFlow[];
}

const types: readonly EmailOtpType[] = ['email', 'signup', 'magiclink', 'invite', 'recovery', 'email_change'];

/** These links lead to a new password before the session starts. Where passwords are off, they sign in like other links. */
function isForPassword({ steps }: BackendContext, type: string): boolean {
  return steps.has('password') && (type === 'recovery' || type === 'invite');
}

/** Without a link's data, the page asks whether a link that was used up may replace another user's session. */
type Confirmation = (Link & { readonly pending?: undefined }) | (AccountQuestion & { readonly tokenHash?: undefined });

/**
 * `/auth/confirm?token_hash&type`, for mail templates that link here. It shows a button, and only its POST
 * spends the token. So link scanners spend nothing, and opening a link alone never signs in.
 *
 * @see https://supabase.com/docs/guides/auth/auth-email-templates#email-prefetching
 */
export function confirmRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  const begun = createBegun(backend);
  return subjectFormRoute<Confirmation>(
    backend,
    {
      path: settings.paths.confirm,
      option: 'paths.confirm',
      hasData: true,
      async page(request, { error }, about) {
        if (about.pending === undefined && isOwnRefusal(error, 'link_expired')) {
          return (await expiredPage(backend, request, about.type))(siteFor(backend, request), request, {
            returnTo: about.returnTo,
            error,
          });
        }
        // What may pass keeps the button for another attempt.
        if (error !== undefined && !passing.has(error.code)) throw error;
        return about.pending === undefined
          ? confirmPage(siteFor(backend, request), request, { ...about, error })
          : askAccount(backend, request, about, error);
      },
      submit: (request, fields, _returnTo, about) =>
        about.pending === undefined
          ? openLink(backend, request, about, begun)
          : answerAccount(backend, request, about, fields),
      async leave(request, error, about) {
        if (about.pending !== undefined || !isOwnRefusal(error, 'link_expired')) return undefined;
        const next =
          (await urlOfGuest(backend, request, about)) ?? (await urlOfFirstPress(backend, request, about, begun));
        if (next !== undefined) backend.emit(signInFailed(error), request.startedAt);
        return next;
      },
    },
    (request, fields) => {
      const parameter = (name: string) => (fields ?? request.query).get(name) ?? undefined;
      const isLink = parameter('token_hash') !== undefined || parameter('type') !== undefined;
      return isLink ? readLink(backend, request, parameter) : findQuestion(backend, request, fields);
    },
  );
}

const passing: ReadonlySet<AuthErrorCode> = new Set(['provider_unavailable', 'rate_limited', 'action_failed']);

/** Each leads to a new link of its kind, where there is one. */
async function expiredPage(
  backend: BackendContext,
  request: AuthRequest,
  type: string,
): Promise<typeof linkExpiredPage> {
  if (isForPassword(backend, type)) return linkExpiredPage;
  if (type !== 'email_change') return newLinkPage;
  // A guest has no address before, so there is no other link.
  return (await guestSession(backend, request)) === undefined ? changeLinkExpiredPage : guestLinkExpiredPage;
}

async function openLink(backend: BackendContext, request: AuthRequest, link: Link, begun: Begun): Promise<Next> {
  const { tokenHash, type, returnTo } = link;
  const { supabase, attempts } = backend;
  const verify = () =>
    supabase.call(request, async ({ auth, unwrap }) => unwrap(await auth.verifyOtp({ token_hash: tokenHash, type })));
  const held = await heldSession(request);
  const { session: issued } = await attempts.runLink(request.req, verify).catch((error: unknown) => {
    throw type === 'email_change' ? asChangeFailed(error) : error;
  });
  // A changed address requires both links; after the first there is no session yet.
  if (issued === null) return otherLinkAnswer(backend, request, returnTo);
  const needs = needsOf(issued, isForPassword(backend, type));
  const isChange = type === 'email_change';
  const prepared = await prepareLink(backend, request, held, { issued, returnTo, needs, isChange });
  // They would lead the next person's link here, too.
  const ended = link.flows.flatMap(({ id }) => backend.flows.end(id));
  if (prepared === undefined) return changedAnswer(backend, request, returnTo);
  const next = await storeSignIn(backend, request, prepared, ended);
  begun.add(tokenHash, prepared);
  return next;
}

/** GoTrue fails with a 500 for good where another account has taken the new address meanwhile, and names no cause. */
function asChangeFailed(error: unknown): unknown {
  if (!isOwnRefusal(error, 'provider_unavailable') || error.reason !== 'unexpected_failure') return error;
  return new AuthError('action_failed', { cause: error.cause, reason: error.reason });
}

/** A guest's link was used in another browser: it has completed the account, and this browser still holds the guest's tokens. */
async function urlOfGuest(
  backend: BackendContext,
  request: AuthRequest,
  { type, returnTo }: Link,
): Promise<string | undefined> {
  const guest = type === 'email_change' ? await guestSession(backend, request) : undefined;
  if (guest === undefined || typeof (await guestState(backend, request, guest)) !== 'object') return undefined;
  return completeGuest(backend, request, guest, returnTo);
}

/** The button was pressed again; where the first press has already succeeded, its next URL. */
async function urlOfFirstPress(
  backend: BackendContext,
  request: AuthRequest,
  { tokenHash, type, returnTo }: Link,
  begun: Begun,
): Promise<string | undefined> {
  const needs = (await readPending(backend, request))?.needs ?? [];
  if (needs[0] === 'account') return stepUrl(backend, request, 'account', returnTo);
  if (isForPassword(backend, type))
    return needs.includes('password') ? stepUrl(backend, request, 'password', returnTo) : undefined;
  return begun.has(tokenHash, await request.resolveSession()) ? returnTo : undefined;
}

/** The sign-ins that links began here just now. Any other session says nothing of a link that was used up. */
interface Begun {
  add(tokenHash: string, signIn: Pick<PreparedSignIn, 'content'>): void;
  /** Whether the link began this session. */
  has(tokenHash: string, session: Session | null): boolean;
}

/** Milliseconds in which a second press leads on like the first. */
const secondPressMs = 60_000;

function createBegun({ source, settings }: BackendContext): Begun {
  const sessions = createBoundedMap({ max: 10_000, ttlMs: secondPressMs, now: settings.now });
  // The token is no longer valid, but no process keeps one.
  const nameOf = (tokenHash: string) => createHash('sha256').update(tokenHash).digest('base64url');
  return {
    add(tokenHash, { content }) {
      const { sessionId } = source.toStored(content);
      if (sessionId !== undefined) sessions.set(nameOf(tokenHash), sessionId);
    },
    has(tokenHash, session) {
      const sessionId = sessions.get(nameOf(tokenHash));
      return sessionId !== undefined && sessionId === source.factsOf(session?.claims ?? {}).sessionId;
    },
  };
}

/** @throws {AuthError} `invalid_request` */
function readLink(
  backend: BackendContext,
  request: AuthRequest,
  parameter: (name: string) => string | undefined,
): Link {
  const given = parameter('type');
  const type = types.find((known) => known === given);
  const tokenHash = parameter('token_hash') ?? '';
  if (type === undefined || !/^[A-Za-z0-9_-]{1,256}$/.test(tokenHash)) throw new AuthError('invalid_request');
  // Supabase's own templates call it `next`.
  const ofTemplate = request.returnTo(parameter('returnTo') ?? parameter('next'));
  const flows = mailFlows(backend, request, type);
  const asked = request.returnTo(flows[0]?.returnTo);
  return { tokenHash, type, returnTo: asked === request.home ? ofTemplate : asked, flows };
}

/** The flows in which this browser asked for the mail: they may know where the person was going, and a template is the same for everyone. */
function mailFlows({ flows }: BackendContext, request: AuthRequest, type: EmailOtpType): readonly SignInFlow[] {
  const kind = flowKinds.get(type);
  const asked = flows.pending(request.cookies).filter((flow) => flow.kind === kind);
  // Where they differ, only the mail says which one it is.
  return new Set(asked.map(({ returnTo }) => returnTo)).size === 1 ? asked : [];
}

/** No browser asks for an invitation. A guest's sign-up adds an address to the guest's user. */
const flowKinds: ReadonlyMap<EmailOtpType, FlowKind> = new Map([
  ['email', 'mail'],
  ['signup', 'mail'],
  ['magiclink', 'mail'],
  ['email_change', 'mail'],
  ['recovery', 'recovery'],
]);
