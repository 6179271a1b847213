import { readFileSync } from 'node:fs';
import { serve } from '../../support/servers.ts';
import type { RunningServer } from '../../support/servers.ts';

/** GoTrue's name of a template, and the name that docs/accounts.md gives its row. */
const rows: Readonly<Record<string, string>> = {
  confirmation: 'Confirm signup',
  invite: 'Invite user',
  magic_link: 'Magic link',
  email_change: 'Change email address',
  recovery: 'Reset password',
};

/**
 * Serves the mail templates that docs/accounts.md tells people to use. GoTrue's own link and code follow, so that a test can
 * take either way.
 */
export function serveMailTemplates(port: number): Promise<RunningServer> {
  const page = readFileSync('docs/accounts.md', 'utf8');
  const [, template = ''] = /```html\n(.*token_hash=.*)\n```/.exec(page) ?? [];
  const typeOf = (row = ''): string | undefined => new RegExp(`\\| ${row} +\\| \`(\\w+)\``).exec(page)?.[1];
  return serve((req, res) => {
    const name = (req.url ?? '').slice(1);
    const type = typeOf(rows[name]) ?? name;
    res.setHeader('content-type', 'text/html');
    res.end(`${template.replace('type=email', `type=${type}`)}
<p><a href="{{ .ConfirmationURL }}">GoTrue's own link</a></p>
<p><code>{{ .Token }}</code></p>`);
  }, port);
}
