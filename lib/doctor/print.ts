import { stripVTControlCharacters, styleText } from 'node:util';
import type { DoctorReport } from './run-doctor.ts';
import type { Level, Step, Subject } from './finding.ts';

export interface Screen {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface Printer {
  step(step: Step): void;
  end(report: DoctorReport): void;
}

const titles: Readonly<Record<Subject, string>> = {
  application: 'Application',
  b2b: 'WorkOS (b2bAuth)',
  backend: 'Supabase (backendAuth)',
};

const colors = { ok: 'green', note: 'cyan', warning: 'yellow', problem: 'red' } as const;

const indent = ' '.repeat(11);

/** Every mark is a word, so that nothing is lost without colour. @param hasColor whether escape sequences are understood */
export function createPrinter(screen: Screen, hasColor: boolean): Printer {
  let subject: Subject | undefined;
  let isWaiting = false;

  const paint = (format: Parameters<typeof styleText>[0], text: string): string =>
    hasColor ? styleText(format, text, { validateStream: false }) : text;
  const mark = (level: Level): string => paint(colors[level], level.padEnd(8));

  function head(next: Subject): void {
    if (next === subject) return;
    screen.write(`${subject === undefined ? '' : '\n'}${paint('bold', titles[next])}\n`);
    subject = next;
  }

  /** The line that says what is being waited for gives way to what came of it. */
  function eraseWaiting(): void {
    if (isWaiting) screen.write('\r\u001B[2K');
    isWaiting = false;
  }

  return {
    step(step) {
      eraseWaiting();
      head(step.kind === 'started' ? step.subject : step.finding.subject);
      if (step.kind === 'started') {
        if (screen.isTTY !== true) return;
        screen.write(`  ${'…'.padEnd(8)} ${oneLine(step.what)}`);
        isWaiting = true;
        return;
      }
      const { level, message, fix } = step.finding;
      screen.write(`  ${mark(level)} ${oneLine(message)}\n`);
      if (fix !== undefined) screen.write(`${indent}${paint('dim', oneLine(fix))}\n`);
    },
    end({ findings }) {
      eraseWaiting();
      const count = (level: Level): number => findings.filter((finding) => finding.level === level).length;
      const problems = count('problem');
      const warnings = count('warning');
      const summary = `${plural(problems, 'problem')}, ${plural(warnings, 'warning')}`;
      screen.write(`\n${paint(problems > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green', summary)}\n`);
    },
  };
}

const plural = (count: number, noun: string): string =>
  `${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`;

/** Host names and paths come from the environment: none of them may move the cursor. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(/\p{Cc}+/gu, ' ');
}
