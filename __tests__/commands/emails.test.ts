import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, writtenEmails } from '../support/commands.ts';

const folder = mkdtempSync(join(tmpdir(), 'emails-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: readonly string[]) => runCommand(folder, ['emails', ...args]);

const linkIn = (html: string): string | undefined => /href="([^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');

it('has a template for each email, with the link type of that email, and a code where one is typed in', () => {
  const shown = Object.entries(writtenEmails('--title', 'Northwind')).map(([name, html]) => [
    name,
    linkIn(html)?.replace('{{ .SiteURL }}/auth/confirm?token_hash={{ .TokenHash }}&type=', ''),
    html.includes('>{{ .Token }}<'),
  ]);
  expect(shown).toEqual([
    ['confirmation', 'email', true],
    ['email_change', 'email_change', false],
    ['invite', 'invite', false],
    ['magic_link', 'magiclink', true],
    ['reauthentication', undefined, true],
    ['recovery', 'recovery', false],
  ]);
});

it('uses what GoTrue fills in, and nothing else in braces', () => {
  const actions = Object.values(writtenEmails('--title', 'Northwind')).flatMap((html) => [
    ...html.replace(/<style>.*<\/style>/s, '').matchAll(/\{[^}]*\}+/g),
  ]);
  expect(new Set(actions.map(([action]) => action))).toEqual(
    new Set(['{{ .SiteURL }}', '{{ .TokenHash }}', '{{ .Token }}', '{{ .Email }}', '{{ .NewEmail }}']),
  );
});

it.each([
  [['--path-prefix', '/v1/auth'], '/v1/auth/confirm?token_hash={{ .TokenHash }}&type=invite'],
  [['--confirm-path', '/app/auth/mail'], '/app/auth/mail?token_hash={{ .TokenHash }}&type=invite'],
  [['--return-to', '/ab?c=d&e'], '/auth/confirm?token_hash={{ .TokenHash }}&type=invite&returnTo=%2Fab%3Fc%3Dd%26e'],
])('%j: links to %s', (args, expected) => {
  expect(linkIn(writtenEmails('--title', 'Northwind', ...args)['invite']!)).toBe(`{{ .SiteURL }}${expected}`);
});

it('shows any title as a text', () => {
  const { invite } = writtenEmails('--title', ' <img src=x onerror="alert(1)"> & Söhne ');
  expect(invite).not.toContain('<img');
  expect(invite).toContain('&lt;img src=x onerror=&quot;alert(1)&quot;&gt; &amp; Söhne</h1>');
  expect(invite).toContain('<title>You&#39;re invited to &lt;img src=x');
});

it('takes the accent in both schemes, as the pages do', () => {
  const { invite } = writtenEmails('--title', 'Northwind', '--accent', '#123');
  expect(invite).toContain('background:#112233;color:#ffffff');
  // Lightened, so that it shows on a dark card.
  expect(invite).toMatch(
    /\.accent \{ background: #(?!112233)[0-9a-f]{6} !important; color: #[0-9a-f]{6} !important; \}/,
  );
});

it.each([
  [[], '--title must be the name of your app'],
  [['--title', '{{ .Token }}'], '--title must be'],
  [['--title', 'a\nb'], '--title must be'],
  [['--title', 'a'.repeat(101)], '--title must be'],
  [['--title', 'Northwind', '--accent', 'red'], '--accent must be a color'],
  [['--title', 'Northwind', '--confirm-path', '/auth/"onclick'], '--confirm-path must be a path'],
  [['--title', 'Northwind', '--confirm-path', 'https://evil.example'], '--confirm-path must be a path'],
  [['--title', 'Northwind', '--path-prefix', '/v1/'], '--path-prefix must be a path'],
  [['--title', 'Northwind', '--return-to', '//evil.example'], '--return-to must be a path'],
  [['Northwind'], 'Unknown: Northwind'],
])('refuses %j', (args, reason) => {
  const { status, stdout, stderr } = run(...args);
  expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: expect.stringContaining(reason) });
});

describe('the command', () => {
  it('writes the files, and prints the subjects for the dashboard and for config.toml', () => {
    const { status, stdout } = run('--title', 'Northwind');
    expect(status).toBe(0);
    const files = readdirSync(join(folder, 'supabase/templates'));
    expect(files).toEqual(
      ['confirmation', 'email_change', 'invite', 'magic_link', 'reauthentication', 'recovery'].map(
        (name) => `${name}.html`,
      ),
    );
    expect(stdout).toContain('#   Magic link: supabase/templates/magic_link.html\n#     Sign in to Northwind\n');
    expect(stdout).toContain(
      '[auth.email.template.magic_link]\nsubject = "Sign in to Northwind"\ncontent_path = "./supabase/templates/magic_link.html"\n',
    );
  });

  it('replaces no file that would change, and says which, unless --force is given', () => {
    run('--title', 'Northwind', '--out', 'mails');
    const changed = join(folder, 'mails/invite.html');
    writeFileSync(changed, 'my own');
    const { status, stdout, stderr } = run('--title', 'Northwind', '--out', 'mails');
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'Nothing was written: mails/invite.html would change. Replace them with --force, or name another --out.\n',
    });
    expect(readFileSync(changed, 'utf8')).toBe('my own');
    expect(run('--title', 'Northwind', '--out', 'mails', '--force').status).toBe(0);
    expect(readFileSync(changed, 'utf8')).toContain('You&#39;re invited to Northwind');
    // What is as it would be written is no reason to stop.
    expect(run('--title', 'Northwind', '--out', 'mails').status).toBe(0);
  });

  it('says where no folder can be made, or a folder is in the place of a file', () => {
    writeFileSync(join(folder, 'taken'), '');
    const inFile = run('--title', 'Northwind', '--out', 'taken');
    expect(inFile).toEqual({
      status: 1,
      stdout: '',
      stderr: "'taken' cannot be a folder (EEXIST).\nName another one with --out.\n",
    });
    mkdirSync(join(folder, 'full/invite.html'), { recursive: true });
    expect(run('--title', 'Northwind', '--out', 'full')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^full.invite\.html is a folder, not a file\./),
    });
  });

  it('prints its usage, also where the title is missing', () => {
    expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Usage: .* emails --title/) });
    expect(run('--out', 'none')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('Usage: express-auth-adapters emails'),
    });
    expect(run('--title', 'Northwind', '--acent', 'x').stderr).toContain("'--acent'; did you mean --accent?");
    expect(existsSync(join(folder, 'none'))).toBe(false);
  });
});
