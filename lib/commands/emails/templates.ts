import { accentVariables, parseColor } from '../../pages/accent.ts';
import type { Scheme } from '../../pages/accent.ts';
import { html, render } from '../../tools/html.ts';
import type { EmailsCommand } from './arguments.ts';

export interface Template {
  /** Supabase's name of it, in config.toml and in file names. */
  readonly name: string;
  /** As the dashboard calls it. */
  readonly label: string;
  readonly subject: string;
  readonly html: string;
}

interface Kind extends Omit<Template, 'html'> {
  readonly heading: string;
  readonly text: string;
  /** Of the link to `/auth/confirm`, and what its button says. */
  readonly link?: { readonly type: string; readonly button: string };
  readonly hasCode: boolean;
}

/** GoTrue fills in what stands in braces. */
const kindsFor = (title: string): readonly Kind[] => [
  {
    name: 'confirmation',
    label: 'Confirm signup',
    subject: `Confirm your email for ${title}`,
    heading: 'Confirm your email',
    text: `Confirm {{ .Email }} to finish your sign-up at ${title}.`,
    link: { type: 'email', button: 'Confirm email' },
    hasCode: true,
  },
  {
    name: 'invite',
    label: 'Invite user',
    subject: `You're invited to ${title}`,
    heading: `You're invited to ${title}`,
    text: 'Accept the invitation, and choose a password for your account.',
    link: { type: 'invite', button: 'Accept the invitation' },
    hasCode: false,
  },
  {
    name: 'magic_link',
    label: 'Magic link',
    subject: `Sign in to ${title}`,
    heading: `Sign in to ${title}`,
    text: 'Press the button in the browser where you sign in.',
    link: { type: 'magiclink', button: 'Sign in' },
    hasCode: true,
  },
  {
    name: 'recovery',
    label: 'Reset password',
    subject: `Choose a new password for ${title}`,
    heading: 'Choose a new password',
    text: `The new password replaces the one that you have at ${title}, and signs you out everywhere else.`,
    link: { type: 'recovery', button: 'Choose a new password' },
    hasCode: false,
  },
  {
    name: 'email_change',
    label: 'Change email address',
    subject: `Confirm your new email for ${title}`,
    heading: 'Confirm your new email',
    text: `{{ .NewEmail }} becomes the address of your account at ${title}.`,
    link: { type: 'email_change', button: 'Confirm the change' },
    hasCode: false,
  },
  {
    name: 'reauthentication',
    label: 'Reauthentication',
    subject: `Your code for ${title}`,
    heading: 'Your code',
    text: `${title} asks for this code before it makes a change.`,
    hasCode: true,
  },
];

/** The colors of the pages' stylesheet. */
const colors = {
  light: { ink: '#16181d', soft: '#5a616d', paper: '#f4f5f7', card: '#ffffff', line: '#e3e5ea', accent: '#1d1f26' },
  dark: { ink: '#eceef2', soft: '#a3abb8', paper: '#0e1014', card: '#16191f', line: '#292e37', accent: '#f1f2f5' },
} as const;

// Without quotes, which an attribute would have to escape.
const font = 'system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Noto Sans, Arial, sans-serif';
const mono = 'ui-monospace, SFMono-Regular, Menlo, Consolas, Liberation Mono, monospace';

/** Supabase's templates, in the look of the built-in pages. */
export function templatesFor(command: EmailsCommand): readonly Template[] {
  return kindsFor(command.title).map(({ name, label, subject, ...kind }) => ({
    name,
    label,
    subject,
    html: templateOf({ name, label, subject, ...kind }, command),
  }));
}

function templateOf(kind: Kind, command: EmailsCommand): string {
  const { ink, soft, paper, card, line } = colors.light;
  const accent = accentIn('light', command.accent);
  const text = `margin:0 0 24px;color:${soft};font-size:15px;line-height:1.5;word-break:break-word`;
  const head = html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="supported-color-schemes" content="light dark">
    <title>${kind.subject}</title>
`;
  const body = html`  </head>
  <body class="paper" style="margin:0;padding:0;background:${paper};color:${ink};font-family:${font}">
    <table class="paper" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:${paper}">
      <tr>
        <td align="center" style="padding:40px 16px">
          <table class="card" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:480px;background:${card};border:1px solid ${line};border-radius:14px">
            <tr>
              <td style="padding:36px 36px 32px">
                <table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 24px">
                  <tr>
                    <td class="accent" width="40" height="40" align="center" style="background:${accent.color};color:${accent.ink};border-radius:10px;font-size:17px;font-weight:600;line-height:40px">${initialOf(command.title)}</td>
                    <td class="ink" style="padding-left:12px;color:${ink};font-size:16px;font-weight:500">${command.title}</td>
                  </tr>
                </table>
                <h1 class="ink" style="margin:0 0 8px;color:${ink};font-size:21px;font-weight:600;line-height:1.3">${kind.heading}</h1>
                <p class="soft" style="${text}">${kind.text}</p>
${kind.link !== undefined && button(kind.link, command, accent)}${kind.hasCode && code(kind)}                <p class="soft" style="margin:0;color:${soft};font-size:13px;line-height:1.5">If you didn't ask for this email, you can ignore it.</p>
              </td>
            </tr>
          </table>
        </td>
      </tr>
    </table>
  </body>
</html>
`;
  return render(head) + styleFor(command.accent) + render(body);
}

function button({ type, button: label }: NonNullable<Kind['link']>, command: EmailsCommand, accent: Accent) {
  const { confirmPath, returnTo } = command;
  const next = returnTo === undefined ? '' : `&returnTo=${encodeURIComponent(returnTo)}`;
  const url = `{{ .SiteURL }}${confirmPath}?token_hash={{ .TokenHash }}&type=${type}${next}`;
  return html`                <table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 24px">
                  <tr>
                    <td class="accent" align="center" style="background:${accent.color};border-radius:8px">
                      <a class="accent" href="${url}" style="display:inline-block;padding:12px 20px;border-radius:8px;color:${accent.ink};font-size:15px;font-weight:500;line-height:20px;text-decoration:none">${label}</a>
                    </td>
                  </tr>
                </table>
`;
}

function code({ link }: Kind) {
  const { ink, soft, paper } = colors.light;
  const lead = html`                <p class="soft" style="margin:0 0 8px;color:${soft};font-size:15px;line-height:1.5">Where you're asked for a code, enter this one:</p>
`;
  return html`${link !== undefined && lead}                <p class="code" style="margin:0 0 24px;padding:12px 16px;background:${paper};border-radius:8px;text-align:center"><code class="ink" style="color:${ink};font-family:${mono};font-size:28px;font-weight:600;letter-spacing:4px;line-height:36px">{{ .Token }}</code></p>
`;
}

interface Accent {
  readonly color: string;
  readonly ink: string;
}

/** As on the pages: text on it is readable, and on the dark card it is lightened until it shows. */
function accentIn(scheme: Scheme, accent: string | undefined): Accent {
  const color = parseColor(accent ?? colors[scheme].accent);
  const variables = color === undefined ? '' : accentVariables(color, scheme);
  const valueOf = (name: string): string => new RegExp(`--${name}: (#\\w+);`).exec(variables)?.[1] ?? '';
  return { color: valueOf('accent'), ink: valueOf('accent-ink') };
}

/** The dark scheme, for mail programs that know it; every value is a color of this file. */
function styleFor(accent: string | undefined): string {
  const { ink, soft, paper, card, line } = colors.dark;
  const { color, ink: onAccent } = accentIn('dark', accent);
  return `    <style>
      @media (prefers-color-scheme: dark) {
        .paper, .code { background: ${paper} !important; }
        .card { background: ${card} !important; border-color: ${line} !important; }
        .ink { color: ${ink} !important; }
        .soft { color: ${soft} !important; }
        .accent { background: ${color} !important; color: ${onAccent} !important; }
      }
    </style>
`;
}

/** As on the pages. */
const initialOf = (title: string): string => Array.from(title)[0]?.toLocaleUpperCase('en') ?? '';
