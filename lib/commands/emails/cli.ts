import { mkdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { codeOf, readLoosely, writeText } from '../files.ts';
import { Refusal } from '../refusal.ts';
import { parseEmails, usage } from './arguments.ts';
import type { EmailsCommand } from './arguments.ts';
import { templatesFor } from './templates.ts';

/** @param args behind `emails` */
export function runEmails(args: readonly string[]): void {
  try {
    const command = parseEmails(args);
    if (command === 'help') process.stdout.write(usage);
    else process.exitCode = writeTemplates(command);
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof Refusal)) throw error;
    process.stderr.write(`${error.message}\n${error instanceof Refusal ? error.advice : `\n${usage}`}\n`);
    process.exitCode = error instanceof Refusal ? 1 : 2;
  }
}

/** @returns the exit code */
function writeTemplates(command: EmailsCommand): 0 | 1 {
  const { folder, isForced } = command;
  const files = templatesFor(command).map((template) => ({ ...template, path: join(folder, `${template.name}.html`) }));
  const others = files.filter(({ path, html }) => (readLoosely(path) ?? html) !== html);
  if (others.length > 0 && !isForced) {
    const paths = others.map(({ path }) => path).join(', ');
    process.stderr.write(
      `Nothing was written: ${paths} would change. Replace them with --force, or name another --out.\n`,
    );
    return 1;
  }
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new Refusal(`'${folder}' cannot be a folder (${codeOf(error)}).`, 'Name another one with --out.');
  }
  for (const { path, html } of files) writeText(path, html);
  const dashboard = files.map(({ path, label, subject }) => `#   ${label}: ${path}\n#     ${subject}\n`);
  const settings = files.map(
    ({ name, path, subject }) =>
      `[auth.email.template.${name}]\nsubject = ${JSON.stringify(subject)}\ncontent_path = ${JSON.stringify(isAbsolute(path) ? path : `./${path.replaceAll('\\', '/')}`)}\n`,
  );
  process.stdout.write(
    `# In the dashboard, under Authentication, Email Templates: each file's text, and its subject.\n${dashboard.join('')}\n# With the Supabase CLI, in supabase/config.toml:\n${settings.join('\n')}`,
  );
  return 0;
}
