/** Names as their owners write them, where capitals alone would not do. */
const labels: ReadonlyMap<string, string> = new Map(
  Object.entries({
    azure: 'Microsoft',
    bitbucket: 'Bitbucket',
    github: 'GitHub',
    gitlab: 'GitLab',
    linkedin: 'LinkedIn',
    linkedin_oidc: 'LinkedIn',
    slack_oidc: 'Slack',
    twitter: 'X',
    x: 'X',
    workos: 'WorkOS',
  }),
);

/** A provider's name for people; `custom:acme-sso` becomes `Acme Sso`, which the `label` option can better. */
export function providerLabel(name: string): string {
  return (
    labels.get(name) ??
    name
      .replace(/^custom:/, '')
      .split(/[_-]+/)
      .filter((word) => word !== '')
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join(' ')
  );
}
