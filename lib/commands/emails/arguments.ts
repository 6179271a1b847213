import { isPathPrefix } from '../../options/shared.ts';
import { prefixPath } from '../../options/paths.ts';
import { parseColor } from '../../pages/accent.ts';
import { parseOptions } from '../arguments.ts';

export const usage = `Usage: express-auth-adapters emails --title TITLE [options]

Writes Supabase's email templates in the look of the built-in pages, with links that lead to your app and work in every browser.

  --title TITLE         the name of your app, as in the option pages.title
  --accent COLOR        its color, such as #5e6ad2, as in the option pages.accent
  --out FOLDER          default: supabase/templates
  --path-prefix PATH    the option pathPrefix of your app
  --confirm-path PATH   where /auth/confirm is: the option paths.confirm, with the path that the adapter is mounted at
  --return-to PATH      the page after the link, where the browser knows no better one
  --force               replaces files that are there
  -h, --help            this text

Exit code: 0 done, 1 files are there and nothing was written, 2 wrong usage.
`;

export interface EmailsCommand {
  readonly title: string;
  readonly accent: string | undefined;
  readonly folder: string;
  readonly confirmPath: string;
  readonly returnTo: string | undefined;
  readonly isForced: boolean;
}

const options = {
  title: { type: 'string' },
  accent: { type: 'string' },
  out: { type: 'string', default: 'supabase/templates' },
  'path-prefix': { type: 'string' },
  'confirm-path': { type: 'string' },
  'return-to': { type: 'string' },
  force: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/**
 * @param args behind `emails`
 * @throws {TypeError} with a reason for the user
 */
export function parseEmails(args: readonly string[]): EmailsCommand | 'help' {
  const { values, positionals } = parseOptions(args, options);
  if (values.help) return 'help';
  const { title = '', accent, out: folder, force: isForced } = values;
  const { 'path-prefix': prefix, 'confirm-path': confirmPath, 'return-to': returnTo } = values;
  if (positionals.length > 0) throw new TypeError(`Unknown: ${positionals.join(' ')}`);
  // GoTrue would take braces for a template's commands.
  if (!/^[^\p{Cc}{}]{1,100}$/u.test(title.trim()))
    throw new TypeError('--title must be the name of your app: up to 100 characters, without { and }');
  if (accent !== undefined && parseColor(accent) === undefined)
    throw new TypeError('--accent must be a color of the form #rgb or #rrggbb, such as #5e6ad2');
  for (const [name, path] of [
    ['--path-prefix', prefix],
    ['--confirm-path', confirmPath],
  ] as const)
    if (path !== undefined && !isPathPrefix(path))
      throw new TypeError(`${name} must be a path such as /v1/auth, without a trailing slash`);
  if (returnTo !== undefined && !/^\/(?![/\\])[^\s\\]*$/.test(returnTo))
    throw new TypeError('--return-to must be a path of your app, such as /welcome');
  return {
    title: title.trim(),
    accent,
    folder,
    confirmPath: confirmPath ?? prefixPath(prefix, '/auth/confirm'),
    returnTo,
    isForced,
  };
}
