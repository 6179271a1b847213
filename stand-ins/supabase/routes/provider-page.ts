import { cancelButton, hostedPage, personList } from '../../page.ts';
import type { Reply } from '../http.ts';
import type { Person } from '../types.ts';

/** Names that their owners write in another way than with one capital letter. */
const names: Readonly<Record<string, string>> = {
  azure: 'Microsoft',
  github: 'GitHub',
  gitlab: 'GitLab',
  linkedin: 'LinkedIn',
  linkedin_oidc: 'LinkedIn',
  saml: 'your company',
  slack_oidc: 'Slack',
  twitter: 'X',
  workos: 'WorkOS',
};

/** The page of an OAuth provider: its user is one of these people, or anyone with an address. */
export function providerPage(provider: string, people: readonly Person[]): Reply {
  const plain = decodeURIComponent(provider).replace(/^custom:/, '');
  const owner = names[provider] ?? plain.charAt(0).toUpperCase() + plain.slice(1);
  const buttons = people.map(({ name, email }) => ({ field: ['email', email] as const, name, detail: email }));
  return hostedPage({
    title: `Sign in with ${owner}`,
    owner,
    content: `<p class="soft">Choose who signs in.</p>
<form method="post">
${personList(buttons)}
</form>
<form method="post">
<label>Someone else <input name="email" type="email" placeholder="name@example.com" required></label>
<button class="primary" name="decision" value="approve">Continue</button>
${cancelButton}
</form>`,
  });
}
