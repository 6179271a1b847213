import { providerLabel } from '../../../lib/backend/oauth/buttons.ts';

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
])('uses the owner’s spelling of %s', (name, label) => expect(providerLabel(name)).toBe(label));

it.each([
  ['google', 'Google'],
  ['custom:acme-sso', 'Acme Sso'],
  ['custom:__acme--sso_', 'Acme Sso'],
  ['my-custom:x', 'My Custom:x'],
  ['constructor', 'Constructor'],
])('derives a label from any other name: %s', (name, label) => expect(providerLabel(name)).toBe(label));
