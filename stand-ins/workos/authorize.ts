import type { OnLoopback } from '../loopback.ts';
import { newId } from './ids.ts';
import type { AuthorizationCode } from './authenticate.ts';
import type { BrowserSession, BrowserSessions } from './browser-sessions.ts';
import { parseAuthorizationRequest } from './authorization-request.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Switches } from './faults.ts';
import type { OneTimeStore } from './one-time.ts';
import type { Directory } from './directory.ts';
import { organizationPage, signInPage, signUpPage } from './pages.ts';
import { findMembership } from './people.ts';
import type { StandInUser } from './people.ts';
import type { Reply } from './replies.ts';

export interface AuthorizeContext {
  readonly clientId: string;
  readonly redirectUris: string[];
  readonly onRedirectUri: OnLoopback | undefined;
  readonly switches: Switches;
  readonly users: Map<string, StandInUser>;
  readonly directory: Directory;
  readonly codes: OneTimeStore<AuthorizationCode>;
  readonly browsers: BrowserSessions;
  readonly now: () => number;
}

export const authorizePath = '/user_management/authorize';

/** The hosted pages: `show` renders one, `decide` handles the choice on it. */
export function createAuthorize(context: AuthorizeContext) {
  const { switches, users, directory, codes, browsers, now } = context;

  function show(request: AuthorizationRequest, problem?: { text: string; form: URLSearchParams }): Reply {
    const { query, invitationToken } = request;
    const invitation = directory.findInvitation(invitationToken);
    const loginHint = request.loginHint ?? invitation?.email;
    const organizationId = request.organizationId ?? invitation?.organizationId;
    const pageWith = (screenHint: string) => {
      const other = new URLSearchParams(query);
      other.set('screen_hint', screenHint);
      return `${authorizePath}?${other.toString()}`;
    };
    const action = `${authorizePath}?${query.toString()}`;
    if (request.isSignUp) {
      const email = problem?.form.get('email') ?? loginHint ?? '';
      const name = problem?.form.get('name') ?? '';
      return signUpPage({
        action,
        signInUrl: pageWith('sign-in'),
        email,
        name,
        ...(problem && { problem: problem.text }),
      });
    }
    const isWelcome = (user: StandInUser) =>
      invitation === undefined ? isMember(user) : user.email.toLowerCase() === invitation.email.toLowerCase();
    const isMember = (user: StandInUser) =>
      organizationId === undefined ||
      invitationToken !== undefined ||
      findMembership(user, organizationId) !== undefined;
    return signInPage({
      action,
      signUpUrl: query.get('provider') === 'authkit' ? pageWith('sign-up') : undefined,
      users: [...users.values()].filter(isWelcome),
      suggestedEmail: loginHint,
      organizationName: organizationId === undefined ? undefined : directory.findOrganization(organizationId)?.name,
      provider: request.provider,
    });
  }

  function decide(request: AuthorizationRequest, form: URLSearchParams): Reply {
    if (form.get('decision') === 'cancel') {
      return request.sendBack({ error: 'access_denied', error_description: 'The user canceled the sign-in.' });
    }
    if (form.get('decision') === 'sign-up') return signUp(request, form);
    const user = users.get(form.get('user_id') ?? '');
    return user ? begin(request, user, form.get('organization_id') ?? undefined) : show(request);
  }

  function signUp(request: AuthorizationRequest, form: URLSearchParams): Reply {
    const email = (form.get('email') ?? '').trim();
    const name = (form.get('name') ?? '').trim().slice(0, 100);
    const isEmail = email.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(email);
    if (!isEmail || name === '') return show(request, { text: 'Please give a name and an email address.', form });
    if ([...users.values()].some((user) => user.email.toLowerCase() === email.toLowerCase())) {
      return show(request, { text: 'There is an account with this email address already.', form });
    }
    const [firstName = null, ...rest] = name.split(/\s+/);
    const lastName = rest.join(' ') || null;
    const user: StandInUser = { id: newId('user', now()), email, firstName, lastName, organizations: [] };
    users.set(user.id, user);
    return begin(request, user, undefined);
  }

  /** The person has signed in on the page: from here on the browser is known, whatever the application then says. */
  function begin(request: AuthorizationRequest, user: StandInUser, organizationOnPage: string | undefined): Reply {
    const browser = browsers.begin(user);
    return browsers.remember(browser, proceed(request, browser, organizationOnPage));
  }

  function proceed(
    request: AuthorizationRequest,
    browser: BrowserSession,
    organizationOnPage: string | undefined,
  ): Reply {
    const chosen = users.get(browser.user.id) ?? browser.user;
    const { invitationToken } = request;
    const invitation = directory.findInvitation(invitationToken);
    const organizationId = request.organizationId ?? invitation?.organizationId ?? organizationOnPage;
    const user = invitationToken === undefined ? chosen : directory.accept(chosen, organizationId, invitation);
    if (organizationId !== undefined && !findMembership(user, organizationId)) {
      const description = 'The user is not a member of the organization.';
      return request.sendBack({ error: 'access_denied', error_description: description });
    }
    if (organizationId === undefined && switches.hostedOrganizationChoice && user.organizations.length > 1) {
      return organizationPage({ action: `${authorizePath}?${request.query.toString()}`, user });
    }
    const { authenticationMethod, codeChallenge } = request;
    const code = codes.issue({ user, organizationId, authenticationMethod, codeChallenge, browser });
    return request.sendBack({ code });
  }

  return function authorize(query: URLSearchParams, form: URLSearchParams | null, cookieHeader?: string): Reply {
    const parsed = parseAuthorizationRequest(query, context);
    if (parsed.kind === 'refused') return parsed.reply;
    const { request } = parsed;
    if (form !== null) return decide(request, form);
    const browser = request.asksAgain ? undefined : browsers.find(cookieHeader);
    return browser === undefined ? show(request) : proceed(request, browser, undefined);
  };
}
