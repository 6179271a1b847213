import type { AuthError } from '../errors.ts';
import { defined } from '../tools/json.ts';
import type { Flow } from './flow-cookie.ts';
import type { AuthorizationRequest } from './workos.ts';

export type Screen = 'sign-in' | 'sign-up';

/** What a link to `/login` or `/signup` may name besides `returnTo`, in the order in which a full flow cookie keeps it. */
const forms = {
  organization_id: /^org_[A-Za-z0-9]{1,64}$/,
  invitation_token: /^[A-Za-z0-9_-]{1,256}$/,
  provider: /^[A-Za-z]{2,40}$/,
  max_age: /^\d{1,9}$/,
  // To sign in with an account other than the one that is signed in at the provider.
  prompt: /^login$/,
  screen_hint: /^sign-(?:in|up)$/,
  login_hint: /^[^\s\0-\x1f\x7f-\x9f]{1,320}$/u,
  domain_hint: /^(?=.{1,253}$)[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i,
};

/** What a sign-in was asked with, by the names of the query: every way on from its failure names it again. */
export type Asked = Readonly<Partial<Record<keyof typeof forms, string>>>;

/** The well-formed parameters of a query, and no others. */
export function askedIn(query: URLSearchParams, screen: Screen): Asked {
  const wellFormed = Object.entries(forms).flatMap(([name, form]) => {
    const value = query.get(name);
    return value !== null && form.test(value) ? [[name, value] as const] : [];
  });
  return { ...(screen === 'sign-up' && { screen_hint: screen }), ...Object.fromEntries(wellFormed) };
}

/** What a flow was asked with. */
export function askedOf({ asked, organizationId }: Pick<Flow, 'asked' | 'organizationId'>): Asked {
  return { ...asked, ...defined({ organization_id: organizationId }) };
}

/**
 * What the links of an error page name. They say "Sign in", so they lead to that screen, also from a sign-up. Neither a used-up
 * invitation nor a provider that the organization refuses is named again: the same refusal would follow.
 */
export function askedAfter(asked: Asked, code?: AuthError['code']): Readonly<Record<string, string>> {
  return defined({
    ...asked,
    screen_hint: undefined,
    ...(code === 'invitation_invalid' && { invitation_token: undefined }),
    ...(code === 'sign_in_method_refused' && { provider: undefined }),
  });
}

type Parameters = Omit<AuthorizationRequest, 'redirectUri' | 'state' | 'codeChallenge'>;

/** The parameters of the provider's URL. @param connectionId the only connection, where WorkOS named it */
export function authorizationParameters(asked: Asked, connectionId?: string): Parameters {
  const { provider = 'authkit', screen_hint: screen = 'sign-in', max_age: maxAge } = asked;
  const hints = defined({
    loginHint: asked.login_hint,
    invitationToken: asked.invitation_token,
    maxAge: maxAge === undefined ? undefined : Number(maxAge),
    prompt: asked.prompt,
  });
  // WorkOS takes one way to choose a connection.
  if (connectionId !== undefined) return { ...hints, connectionId };
  return {
    ...hints,
    provider,
    ...(provider === 'authkit' && { screenHint: screen as Screen }),
    ...defined({ organizationId: asked.organization_id, domainHint: asked.domain_hint }),
  };
}
