import { stripVTControlCharacters, styleText } from 'node:util';
import type { DoctorReport } from './run-doctor.ts';
import type { Level, Subject } from './finding.ts';

const titles: Readonly<Record<Subject, string>> = {
  application: 'Application',
  b2b: 'WorkOS (b2bAuth)',
  backend: 'Supabase (backendAuth)',
};

const colors = { ok: 'green', note: 'cyan', warning: 'yellow', problem: 'red' } as const;

export interface PrintOptions {
  /** Whether escape sequences are understood. Each level is also a word, so that nothing is lost without color. */
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

/** Host names and paths come from the environment, and must not move the cursor. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(/\p{Cc}+/gu, ' ');
}
