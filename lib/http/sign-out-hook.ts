import type { Request, Response } from 'express';
import { withDeadline } from '../tools/deadline.ts';
import { causeOf } from '../errors.ts';
import type { Session } from '../types.ts';
import { partKey } from './adapter.ts';
import type { AuthRequest } from './request.ts';
import { asError } from './next.ts';
import type { Reply } from './reply.ts';

/** A sign-out by the adapter's own route. */
export interface SignOutOf<S extends Session> {
  /** The session that has just ended; `null` where the browser had none that could be read. */
  readonly session: S | null;
  readonly req: Request;
  readonly res: Response;
}

/** For side effects at sign-out, such as `req.session.regenerate`. What it throws is reported, and stops no sign-out. */
export type OnSignOutOf<S extends Session> = (signOut: SignOutOf<S>) => unknown;

/**
 * Signs out, and then tells `onSignOut`, before the response. The session is looked up first, as nothing can be read of it later. The
 * hook has `timeoutMs`.
 *
 * @param isLookedUp whether the session is looked up also where there is no hook
 * @param signOut ends the session and writes its cookies; it gets what was looked up, whose tokens may be newer than the cookies'
 */
export async function withSignOutHook<S extends Session>(
  request: AuthRequest,
  onSignOut: OnSignOutOf<S> | undefined,
  isLookedUp: boolean,
  signOut: (session: S | null) => Promise<Reply>,
): Promise<Reply> {
  if (onSignOut === undefined && !isLookedUp) return signOut(null);
  const { req, res, definition } = request;
  // An outage, or what `accept` throws, must not keep anyone signed in.
  const session = (await request.resolveSession().catch(() => null)) as S | null;
  const reply = await signOut(session);
  if (onSignOut === undefined) return reply;
  // Outside Express, `req` and `res` lack Express' additions.
  const tell = async (): Promise<unknown> => await onSignOut({ session, req: req as Request, res: res as Response });
  try {
    await withDeadline(tell, definition.timeoutMs, () => new Error(`no answer within ${definition.timeoutMs} ms`));
  } catch (error) {
    report(request, error);
  }
  return reply;
}

/** The causes that the adapter has warned of, of this many at most. */
const warnedPart = partKey<Set<string>>('failures of onSignOut');
const maxCauses = 20;

/** One warning for each cause: anyone can sign out again and again, also without a session. */
function report({ definition }: AuthRequest, thrown: unknown): void {
  const { name, emit, parts } = definition;
  const error = asError(thrown);
  const causes = parts.find(warnedPart) ?? parts.set(warnedPart, new Set());
  const cause = causeIn(error);
  if (!causes.has(cause) && causes.size < maxCauses) {
    causes.add(cause);
    process.emitWarning(`${name}: onSignOut failed, and the person is signed out: ${error.message}`, {
      code: 'EXPRESS_AUTH_ADAPTERS_SIGN_OUT_HOOK',
      ...(error.stack === undefined ? {} : { detail: error.stack }),
    });
  }
  emit({ type: 'hook_failed', hook: 'onSignOut', ...causeOf(thrown) });
}

/** What went wrong, and where. Not the message: it may repeat what a request says, and would be another cause each time. */
function causeIn({ name, stack, ...fields }: Error): string {
  const code: unknown = Reflect.get(fields, 'code');
  const [place = ''] = /^ +at .*$/m.exec(stack ?? '') ?? [];
  return [name, typeof code === 'string' ? code : '', place].join(' ');
}
