import type { ServerResponse } from 'node:http';
import type { WaitingTime } from '../../tools/deadline.ts';
import type { CookieWrite } from '../../tools/cookies.ts';
import type { Resolution } from '../../session/source.ts';
import type { Session } from '../../types.ts';
import type { Adapter } from '../adapter.ts';
import type { Delivery } from '../cookie-jar.ts';
import { clientFacts, isHeadOpen } from '../message.ts';
import type { HostRequest } from '../message.ts';

/** What is known of the session of one request. */
export type Visit =
  | { readonly is: 'unresolved' }
  /** Where the provider did not answer, it stays so: the request does not ask again. */
  | { readonly is: 'asked'; readonly answer: Promise<Session | null> }
  | { readonly is: 'resolved'; readonly session: Session | null }
  /** `accept` has refused the session of the cookies; the request counts as one without a session. */
  | { readonly is: 'refused'; readonly session: Session }
  /** A guard of this adapter has let the request pass. */
  | { readonly is: 'admitted'; readonly session: Session };

/** One for all requests: most ask for no session. */
export const unresolved: Visit = { is: 'unresolved' };

/** The parts of an `AuthRequest` whose session is asked for. */
interface Visitor {
  visit: Visit;
  signIn: Readonly<Record<string, string>> | undefined;
  readonly isBearer: boolean;
  readonly definition: Adapter;
  readonly req: HostRequest;
  readonly res: ServerResponse;
  readonly peer: string | undefined;
  readonly arrivedAt: number;
  readonly waits: WaitingTime;
  accepts(session: Session): Promise<boolean>;
  settled(): Promise<void> | undefined;
  writeCookies(writes: readonly CookieWrite[], delivery: Omit<Delivery, 'onLost'>): void;
}

/** Asks for the session of the cookies. A guard may admit the request by its bearer token meanwhile, which then stays. */
export function ask(visitor: Visitor): Promise<Session | null> {
  const answer = find(visitor).then((found) => {
    if (visitor.visit.is === 'asked') visitor.visit = found;
    return found.is === 'resolved' ? found.session : null;
  });
  visitor.visit = { is: 'asked', answer };
  return answer;
}

async function find(visitor: Visitor): Promise<Extract<Visit, { is: 'resolved' | 'refused' }>> {
  const { resolver } = visitor.definition;
  const resolution = await resolve(visitor);
  // Before `accept` is asked: the tokens that these cookies replace may be spent.
  deliver(visitor, resolution);
  if (resolution.later !== undefined) resolver.background.run(deliverLater(visitor, resolution.later));
  visitor.signIn ??= resolution.signIn;
  const { session } = resolution;
  try {
    return session === null || (await visitor.accepts(session))
      ? { is: 'resolved', session }
      : { is: 'refused', session };
  } finally {
    // Last, because it may take all the time that is left.
    const settled = visitor.settled();
    if (settled !== undefined) await settled;
  }
}

async function resolve({ definition: { resolver }, req, res, peer, arrivedAt, waits }: Visitor): Promise<Resolution> {
  const { cookie } = req.headers;
  // In the cache and not accepted: its token need not be verified again.
  const verified = resolver.cachedSession(cookie);
  if (verified !== undefined) return { session: verified, cookies: [] };
  return waits.count(resolver.resolve(cookie, () => !isHeadOpen(res), clientFacts(req, peer), arrivedAt));
}

function deliver(visitor: Visitor, { cookies, isCurrent, onDelivered, recheck }: Resolution): void {
  // A sign-in of this request may have replaced the session meanwhile; its cookies have the same names.
  if (isCurrent?.() === false) return;
  visitor.writeCookies(cookies, {
    isCurrent: () => !visitor.isBearer && (isCurrent?.() ?? true),
    onDelivered: () => (visitor.isBearer ? undefined : onDelivered?.()),
    recheck,
  });
}

/** A refresh ahead of time sets its cookies if it completes before the head is sent; otherwise the next request gets them. */
async function deliverLater(visitor: Visitor, later: Promise<Resolution | undefined>): Promise<void> {
  try {
    const resolution = await later;
    if (resolution !== undefined && isHeadOpen(visitor.res)) deliver(visitor, resolution);
  } catch (error) {
    visitor.definition.explain('refresh ahead of time failed: %s', String(error));
  }
}
