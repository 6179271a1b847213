import { providerLabel } from '../../lib/backend/pages/providers.ts';

it.each([
  ['github', 'GitHub'],
  ['gitlab', 'GitLab'],
  ['azure', 'Microsoft'],
  ['bitbucket', 'Bitbucket'],
  ['linkedin', 'LinkedIn'],
  ['linkedin_oidc', 'LinkedIn'],
  ['slack_oidc', 'Slack'],
  ['twitter', 'X'],
  ['x', 'X'],
  ['workos', 'WorkOS'],
])('writes %s as its owner does', (name, label) => expect(providerLabel(name)).toBe(label));

it.each([
  ['google', 'Google'],
  ['custom:acme-sso', 'Acme Sso'],
  ['custom:__acme--sso_', 'Acme Sso'],
  ['my-custom:x', 'My Custom:x'],
  ['constructor', 'Constructor'],
])('makes a label of any other name: %s', (name, label) => expect(providerLabel(name)).toBe(label));
