import { parseEmails } from '../../../lib/commands/emails/arguments.ts';
import { templatesFor } from '../../../lib/commands/emails/templates.ts';
import { serve } from '../../support/servers.ts';
import type { RunningServer } from '../../support/servers.ts';

/**
 * Serves the templates that `express-auth-adapters emails` writes. GoTrue's own link and code follow, so that a test can take
 * either way.
 */
export function serveMailTemplates(port: number): Promise<RunningServer> {
  const command = parseEmails(['--title', "Ada's <app> & more", '--accent', '#5e6ad2']);
  const templates = command === 'help' ? [] : templatesFor(command);
  return serve((req, res) => {
    const template = templates.find(({ name }) => `/${name}` === req.url);
    res.setHeader('content-type', 'text/html');
    res.end(`${template?.html ?? ''}
<p><a href="{{ .ConfirmationURL }}">GoTrue's own link</a></p>
<p><code>{{ .Token }}</code></p>`);
  }, port);
}
