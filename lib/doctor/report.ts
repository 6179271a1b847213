import { stripVTControlCharacters, styleText } from 'node:util';
import type { AdapterName } from '../types.ts';

/** `problem`: sign-in fails or is unsafe. `warning`: it works, with an unexpected effect. `note`: information. */
export type Level = 'ok' | 'note' | 'warning' | 'problem';

export type Subject = 'application' | AdapterName;

/** One result of a check. Never holds a key, a password or a part of one. */
export interface Finding {
  /** Stable, such as `b2b.api_key`. */
  readonly id: string;
  readonly subject: Subject;
  readonly level: Level;
  readonly message: string;
  /** How to fix it. */
  readonly fix?: string;
  /** For scripts, such as the redirect URI. */
  readonly values?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Adds a finding about one subject. @param id without the subject */
export type Add = (level: Level, id: string, message: string, details?: Pick<Finding, 'fix' | 'values'>) => void;

/** The output of `--json`. Members may be added; existing ones stay as long as `format` does. */
export interface DoctorReport {
  readonly format: 1;
  /** Whether no finding is a problem. */
  readonly ok: boolean;
  readonly adapters: readonly AdapterName[];
  readonly findings: readonly Finding[];
}

const titles: Readonly<Record<Subject, string>> = {
  application: 'Application',
  b2b: 'WorkOS (b2bAuth)',
  backend: 'Supabase (backendAuth)',
};

const colors = { ok: 'green', note: 'cyan', warning: 'yellow', problem: 'red' } as const;

interface PrintOptions {
  /** Whether the output supports escape sequences. Each level is also a word, so no information is lost without color. */
  readonly hasColor: boolean;
  /** Problems and warnings only; empty where there are none. */
  readonly isQuiet: boolean;
}

/** The report as text: a summary, then the findings of each subject under its title. */
export function print({ findings }: DoctorReport, { hasColor, isQuiet }: PrintOptions): string {
  const paint = (format: Parameters<typeof styleText>[0], text: string): string =>
    hasColor ? styleText(format, text, { validateStream: false }) : text;
  const count = (level: Level): number => findings.filter((finding) => finding.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const shown = findings.filter(({ level }) => !isQuiet || level === 'problem' || level === 'warning');
  if (shown.length === 0) return '';
  const color = problems > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green';
  const lines = [paint(color, `${plural(problems, 'problem')}, ${plural(warnings, 'warning')}`)];
  for (const [subject, title] of Object.entries(titles)) {
    const own = shown.filter((finding) => finding.subject === subject);
    if (own.length > 0) lines.push('', paint('bold', title));
    for (const { level, message, fix } of own) {
      lines.push(`  ${paint(colors[level], level.padEnd(8))} ${oneLine(message)}`);
      if (fix !== undefined) lines.push(`${' '.repeat(11)}${paint('dim', oneLine(fix))}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

const plural = (count: number, noun: string): string => `${count || 'no'} ${noun}${count === 1 ? '' : 's'}`;

/** Host names and paths come from the environment and must not contain control sequences. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(/\p{Cc}+/gu, ' ');
}
