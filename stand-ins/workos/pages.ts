import { cancelButton, escapeHtml, hostedPage, personList } from '../page.ts';
import { isLoopback } from '../loopback.ts';
import { displayName } from './people.ts';
import type { Membership, StandInUser } from './people.ts';
import type { Reply } from './replies.ts';

function layout(status: number, title: string, content: string, owner = 'WorkOS'): Reply {
  return hostedPage({ status, title, owner, content });
}

export interface SignInPage {
  /** The target of the choice: this page's own address with its query. */
  readonly action: string;
  /** The sign-up page; undefined where the application requested one provider's sign-in only. */
  readonly signUpUrl: string | undefined;
  readonly users: readonly StandInUser[];
  readonly suggestedEmail: string | undefined;
  /** The organization that the application asked for. */
  readonly organizationName: string | undefined;
  /** The OAuth provider that the application asked for, such as `Google`. */
  readonly provider: string | undefined;
}

export function signInPage(page: SignInPage): Reply {
  const { action, signUpUrl, users, suggestedEmail, organizationName, provider } = page;
  const people = users.map((user) => ({
    field: ['user_id', user.id] as const,
    name: displayName(user),
    detail: `${user.email} · ${user.organizations.map(membershipText).join(', ') || 'no organization'}`,
    isSuggested: user.email === suggestedEmail,
  }));
  const into = organizationName === undefined ? '' : ` to <strong>${escapeHtml(organizationName)}</strong>`;
  const signUpLink =
    signUpUrl === undefined
      ? ''
      : `<p class="soft">Someone else? <a href="${escapeHtml(signUpUrl)}">Create an account</a></p>`;
  const invitation = users.length > 0 ? `Choose who signs in${into}.` : `There are no users who could sign in${into}.`;
  return layout(
    200,
    provider === undefined ? 'Sign in' : `Sign in with ${provider}`,
    `<p class="soft">${invitation}</p>
<form method="post" action="${escapeHtml(action)}">
${personList(people)}
${cancelButton}
</form>
${signUpLink}`,
    provider,
  );
}

const membershipText = ({ name, role }: Membership): string => (role === undefined ? name : `${name} (${role})`);

export interface SignUpPage {
  readonly action: string;
  readonly signInUrl: string;
  readonly email: string;
  readonly name: string;
  readonly problem?: string;
}

export function signUpPage({ action, signInUrl, email, name, problem }: SignUpPage): Reply {
  const alert = problem === undefined ? '' : `<p class="error" role="alert">${escapeHtml(problem)}</p>`;
  return layout(
    problem === undefined ? 200 : 422,
    'Create an account',
    `${alert}<form method="post" action="${escapeHtml(action)}">
<label>Name <input name="name" value="${escapeHtml(name)}" autocomplete="name" maxlength="100" required></label>
<label>Email <input name="email" type="email" value="${escapeHtml(email)}" autocomplete="email" maxlength="254" required></label>
<button class="primary" name="decision" value="sign-up">Sign up</button>
${cancelButton}
</form>
<p class="soft">Already here? <a href="${escapeHtml(signInUrl)}">Sign in</a></p>`,
  );
}

export function organizationPage({ action, user }: { action: string; user: StandInUser }): Reply {
  const choices = user.organizations.map(
    ({ id, name }) =>
      `<li><button name="organization_id" value="${escapeHtml(id)}"><strong>${escapeHtml(name)}</strong></button></li>`,
  );
  return layout(
    200,
    'Choose an organization',
    `<p class="soft">${escapeHtml(displayName(user))} belongs to several.</p>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="user_id" value="${escapeHtml(user.id)}">
<ul>
${choices.join('\n')}
</ul>
${cancelButton}
</form>`,
  );
}

export interface ProblemPage {
  readonly title: string;
  readonly text: string;
  /** Shown as code below the text. */
  readonly value?: string;
  /** The page that asked. Only an address of this machine is linked. */
  readonly backTo?: string | undefined;
}

/** Errors that cannot be returned to the application, because its address is invalid. */
export function problemPage({ title, text, value, backTo }: ProblemPage): Reply {
  const shown = value === undefined ? '' : `<p><code>${escapeHtml(value)}</code></p>`;
  const origin = localOrigin(backTo);
  const back =
    origin === undefined
      ? '<p class="soft">Go back in your browser.</p>'
      : `<p><a class="button" href="${escapeHtml(origin)}/">Back to ${escapeHtml(origin)}</a></p>`;
  return layout(400, title, `<p class="soft">${escapeHtml(text)}</p>${shown}${back}`);
}

function localOrigin(address: string | undefined): string | undefined {
  return address !== undefined && isLoopback(address) ? new URL(address).origin : undefined;
}

export function signedOutPage(): Reply {
  return layout(
    200,
    'Signed out',
    '<p>The application registered no address to go back to. You may close this page.</p>',
  );
}
