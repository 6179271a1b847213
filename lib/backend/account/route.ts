import { defined } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import { json } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { isHttpUrl } from '../../options/shared.ts';
import type { MailSentBody } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { has, readAction } from '../forms/action.ts';
import { FormProblem, foldAccount, readEmail } from '../forms/fields.ts';
import { localUrl, readReturnTo, redirectUrl, subjectFormRoute } from '../forms/forms.ts';
import type { FormInput, Next } from '../forms/forms.ts';
import { sendMail } from '../forms/mail.ts';
import { siteFor } from '../pages/parts.ts';
import { findOwner, firstStep, otherStep } from '../sign-in/owner.ts';
import type { OwnerRequest } from '../sign-in/owner.ts';
import { endOthersHere } from '../sign-in/sign-out.ts';
import { createSignOut } from '../sign-in/sign-out-route.ts';
import { renewAll, renewOthers } from '../sign-in/subject.ts';
import type { Account, AccountRow } from '../slots.ts';
import { callAs, presentUser } from '../supabase/account.ts';
import { rethrowStaleKeys } from '../supabase/provider-errors.ts';
import {
  createTurns,
  endSessions,
  isLinked,
  isOfOrganization,
  isLinkingOn,
  isReplaceable,
  readIdentities,
  unlinkIdentity,
} from './identities.ts';
import type { Identity } from './identities.ts';
import {
  accountPage,
  changeEmailPage,
  changeSentPage,
  linkPage,
  sentWords,
  signedOutOthersPage,
  unlinkPage,
} from './page.ts';

/** `/auth/account`: what the signed-in user can do with the account. */
export function accountRoute(backend: BackendContext): AuthRoute {
  const { account: path } = backend.settings.paths;
  const inTurn = createTurns(backend.settings.timeoutMs);
  return subjectFormRoute<OwnerRequest>(
    backend,
    {
      path,
      option: 'paths.account',
      isReturnTarget: true,
      hasData: true,
      page: (_request, input, owner) => show(backend, owner, input),
      submit: (_request, fields, _returnTo, owner) => change(backend, owner, fields, inTurn),
      leave: (_request, error, owner) => otherStep(backend, owner, error),
    },
    (request, fields) => findOwner(backend, request, path, readReturnTo(request, fields)),
  );
}

async function show(backend: BackendContext, owner: OwnerRequest, { fields, error }: FormInput): Promise<Reply> {
  const { request } = owner;
  const isChange = error === undefined ? request.query.get('change') === 'email' : fields.has('email');
  try {
    if (isChange && !request.wantsJson) return await showChange(backend, owner, fields.get('email'), error);
    const account = await readAccount(backend, owner);
    const asked = error === undefined && !request.wantsJson ? request.query.get('unlink') : null;
    const question = asked === null ? undefined : await askUnlink(backend, owner, account, asked);
    return question ?? (await showHome(backend, owner, account, error));
  } catch (failure) {
    const step = await otherStep(backend, owner, failure);
    if (step === undefined) throw failure;
    return step;
  }
}

/** The sign-in comes before the page, so that nothing is entered in vain. */
async function showChange(
  backend: BackendContext,
  owner: OwnerRequest,
  email: string | undefined,
  error: AuthError | undefined,
): Promise<Reply> {
  const { request, returnTo } = owner;
  const step = error === undefined ? await firstStep(backend, owner, pageOf(backend, owner, changing)) : undefined;
  return step ?? changeEmailPage(siteFor(backend, request), request, { returnTo, email, error });
}

const changing = { change: 'email' };

/** The page that asks for an address, or whether to unlink. */
function pageOf(
  { settings }: BackendContext,
  { request, returnTo }: OwnerRequest,
  asked: Readonly<Record<string, string>>,
): string {
  return localUrl(request, settings.paths.account, returnTo, asked);
}

async function readAccount(backend: BackendContext, { request, subject }: OwnerRequest): Promise<Account> {
  const { session, content } = subject;
  return { site: siteFor(backend, request), session, content, user: await presentUser(backend, request, content) };
}

async function showHome(
  backend: BackendContext,
  { request, returnTo }: OwnerRequest,
  account: Account,
  error?: AuthError,
): Promise<Reply> {
  const { site, user, content } = account;
  const found = await Promise.all(backend.account.map(async ({ row }) => row?.(backend, request, account)));
  const rows = found.filter((row): row is AccountRow => row !== undefined);
  const identities = readIdentities(user);
  const links = linksOf(backend);
  const hasLinks = identities.some(isLinked) || (links?.names.length ?? 0) > 0;
  const [email, newEmail] = [textOrNone(user.email), textOrNone(user.new_email)];
  if (request.wantsJson) {
    const fields = Object.fromEntries(rows.map(({ field, value }) => [field, value]));
    return json(200, {
      email: email ?? null,
      ...defined({ newEmail }),
      ...fields,
      ...(hasLinks && { identities }),
    });
  }
  const isOn = hasLinks && (await isLinkingOn(backend, request, content));
  const linked = identities.filter(isLinked);
  const free = isOn ? (links?.names ?? []).filter((name) => !linked.some(({ provider }) => provider === name)) : [];
  return accountPage(site, request, {
    returnTo,
    error,
    email,
    newEmail,
    isManaged: identities.some(isOfOrganization),
    rows,
    identities: linked.map((identity) => ({
      ...identity,
      label: labelOf(backend, identity.provider),
      canUnlink: isOn && isReplaceable(backend, identities, identity),
    })),
    links: free.map((name) => ({ name, label: labelOf(backend, name) })),
  });
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function linksOf({ account }: BackendContext) {
  return account.find(({ links }) => links !== undefined)?.links;
}

function labelOf(backend: BackendContext, provider: string): string {
  return linksOf(backend)?.labelOf(provider) ?? provider;
}

const meanings = { email: has('email'), link: has('link'), unlink: has('unlink'), signOut: has('signOut') };

async function change(
  backend: BackendContext,
  owner: OwnerRequest,
  fields: Fields,
  inTurn: ReturnType<typeof createTurns>,
): Promise<Next> {
  switch (readAction(fields, meanings, 'none')) {
    case 'email':
      return changeEmail(backend, owner, fields);
    case 'link':
      return linkProvider(backend, owner, fields);
    case 'unlink':
      return inTurn(owner.subject.session.user.id, () => unlink(backend, owner, fields));
    case 'signOut':
      return signOut(backend, owner, fields);
    case 'none':
      throw new AuthError('invalid_request');
  }
}

/** GoTrue's refusals that concern the account, whatever the new address. */
const aboutAccount = [
  'no_authorization',
  'session_expired',
  'session_not_found',
  'user_banned',
  'user_not_found',
  'user_sso_managed',
];

async function changeEmail(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Next> {
  const { request, subject, returnTo, wayBack } = owner;
  const step = await firstStep(backend, owner, pageOf(backend, owner, changing));
  if (step !== undefined) return step;
  const { content } = subject;
  const email = readEmail(fields);
  // A token may be from before a change.
  const former = textOrNone((await presentUser(backend, request, content)).email);
  if (former !== undefined && foldAccount(email) === foldAccount(former))
    throw new FormProblem('email', 'sameEmail', 'This is your email already.');
  await sendMail(backend, request, {
    email,
    returnTo: wayBack,
    sendsMail: true,
    session: content,
    telling: ['email_exists'],
    plain: aboutAccount,
    async ask({ auth, unwrap }) {
      unwrap(await auth.updateUser({ email }, { emailRedirectTo: redirectUrl(request, backend.settings) }));
      return null;
    },
  }).catch(rethrowStaleKeys(backend, content.access_token));
  const site = siteFor(backend, request);
  if (!request.wantsJson) return changeSentPage(site, request, { email, former, returnTo });
  const body: MailSentBody = {
    email,
    message: sentWords(site, email, former).plain,
    redirectTo: request.urlOf(wayBack),
  };
  return { ...json(200, body), hasTexts: true };
}

async function linkProvider(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Next> {
  const { request, subject, wayBack } = owner;
  const { settings, flows, attempts } = backend;
  const provider = linksOf(backend)?.find(fields.get('link'));
  if (provider === undefined) throw new AuthError('unknown_provider');
  const step = await firstStep(backend, owner, wayBack);
  if (step !== undefined) return step;
  const { name, scopes, queryParams } = provider;
  const options = { redirectTo: redirectUrl(request, settings), ...defined({ scopes, queryParams }) };
  const start = () =>
    callAs(
      backend,
      request,
      async (call) => {
        // The SDK's type lists the providers of today.
        const { url } = call.unwrap(await call.auth.linkIdentity({ provider: name as 'github', options }));
        if (!isHttpUrl(url)) throw new AuthError('provider_refused', { reason: 'malformed' });
        const flow = { kind: 'link', provider: name, returnTo: wayBack } as const;
        return { url: new URL(url).href, writes: flows.remember(call.started(), flow, request.cookies) };
      },
      subject.content,
    );
  const { url, writes } = await attempts.run(request.req, undefined, start);
  request.writeCookies(writes);
  if (request.wantsJson) return json(200, { redirectTo: url });
  return linkPage(siteFor(backend, request), request, { label: labelOf(backend, name), url });
}

/** A page asks first; JSON clients ask by themselves. */
async function unlink(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Next> {
  const { request, subject, wayBack } = owner;
  const id = (fields.get('unlink') ?? '').toLowerCase();
  const step = await firstStep(backend, owner, pageOf(backend, owner, { unlink: id }));
  if (step !== undefined) return step;
  const account = await readAccount(backend, owner);
  const identities = readIdentities(account.user);
  const identity = identities.find((each) => each.id === id && isLinked(each));
  if (identity === undefined) return notLinked(owner);
  if (!isReplaceable(backend, identities, identity)) throw new AuthError('last_sign_in_method', { reason: 'identity' });
  const isSure = fields.get('sure') === 'yes' || request.wantsJson;
  if (!isSure) return askAbout(backend, owner, identity);
  const remove = () => unlinkIdentity(backend, request, subject.content, identity);
  if (!(await backend.attempts.run(request.req, undefined, remove))) return notLinked(owner);
  // Their tokens list the account's providers.
  await renewAll(backend, subject.session.user.id);
  return wayBack;
}

/** It was unlinked in another tab. */
function notLinked({ request, wayBack }: OwnerRequest): string {
  if (!request.wantsJson) return wayBack;
  throw new AuthError('invalid_request', { message: 'Your account doesn’t have this linked sign-in.' });
}

/** `undefined` where there is no such identity, or it is the last way in, which the page shows. */
async function askUnlink(
  backend: BackendContext,
  owner: OwnerRequest,
  { user }: Account,
  id: string,
): Promise<Reply | undefined> {
  const identities = readIdentities(user);
  const identity = identities.find((each) => each.id === id.toLowerCase() && isLinked(each));
  if (identity === undefined || !isReplaceable(backend, identities, identity)) return undefined;
  const step = await firstStep(backend, owner, pageOf(backend, owner, { unlink: identity.id }));
  return step ?? askAbout(backend, owner, identity);
}

function askAbout(backend: BackendContext, { request, returnTo }: OwnerRequest, identity: Identity): Reply {
  const shown = { ...identity, label: labelOf(backend, identity.provider), canUnlink: true };
  return unlinkPage(siteFor(backend, request), request, { returnTo, identity: shown });
}

/** Where the backend does not answer, no session ends here. It may have ended them there, so they renew and find out. */
async function signOut(backend: BackendContext, owner: OwnerRequest, fields: Fields): Promise<Next> {
  const { request, subject, returnTo, wayBack } = owner;
  const scope = fields.get('signOut');
  if (scope !== 'others' && scope !== 'global') throw new AuthError('invalid_request');
  await endSessions(backend, request, subject.content, scope).catch(async (error: unknown) => {
    const { id } = subject.session.user;
    await (scope === 'others' ? renewOthers(backend, id, subject.content) : renewAll(backend, id));
    throw error;
  });
  const facts = backend.source.toStored(subject.content);
  if (scope === 'global') {
    const reply = await createSignOut(backend)(request, 303, returnTo, facts.sessionId);
    await endOthersHere(backend, scope, facts);
    return reply;
  }
  await endOthersHere(backend, scope, facts);
  return request.wantsJson ? wayBack : signedOutOthersPage(siteFor(backend, request), request, { returnTo });
}
