import type { AuthRequest } from '../../http/request.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendContext } from '../context.ts';
import { localUrl } from '../forms/forms.ts';
import { hasFactor, isSessionOver, presentUser } from '../supabase/account.ts';
import { accountFirst, secondFactorFirst, signInAgainFirst, stepAfter } from './step-up.ts';
import { endOver, sessionOf, signInFirst } from './subject.ts';
import type { Subject } from './subject.ts';

/** A request of the user whose account it is about. */
export interface OwnerRequest {
  readonly request: AuthRequest;
  readonly subject: Subject;
  readonly returnTo: string;
  /** This page, which a missing step leads back to. */
  readonly wayBack: string;
}

/** @param path of the page @returns a reply where there is no session, or that of a guest */
export async function findOwner(
  backend: BackendContext,
  request: AuthRequest,
  path: string,
  returnTo: string,
): Promise<OwnerRequest | Reply> {
  const wayBack = localUrl(request, path, returnTo);
  const subject = await sessionOf(backend, request);
  if (subject === undefined) return signInFirst(request, wayBack);
  if (subject.session.user.isAnonymous) return accountFirst(backend, request, wayBack);
  return { request, subject, returnTo, wayBack };
}

/** A reply where the backend has ended the session, or asks for the second factor. */
export async function otherStep(
  backend: BackendContext,
  { request, subject, wayBack }: OwnerRequest,
  error: unknown,
): Promise<Reply | undefined> {
  if (isSessionOver(error)) return endOver(backend, request, subject, wayBack);
  return stepAfter(backend, request, { subject, wayBack }, error);
}

/**
 * Who changes the ways to sign in has signed in just now, with the second factor where there is one: else a stolen session would
 * become a lasting one, or take its owner's way in.
 */
export async function firstStep(
  backend: BackendContext,
  { request, subject }: OwnerRequest,
  wayBack: string,
): Promise<Reply | undefined> {
  const again = signInAgainFirst(request, subject, wayBack);
  if (again !== undefined || subject.session.claims['aal'] === 'aal2') return again;
  const user = await presentUser(backend, request, subject.content);
  return hasFactor(user) ? secondFactorFirst(backend, request, wayBack) : undefined;
}
