import type { Finding, Level } from '../../lib/doctor/finding.ts';
import { createPrinter } from '../../lib/doctor/print.ts';
import type { Screen } from '../../lib/doctor/print.ts';

const finding = (level: Level, subject: Finding['subject'] = 'b2b'): Finding => ({
  id: `${subject}.x`,
  subject,
  level,
  message: `It is ${level}`,
});

function print(levels: readonly Level[], hasColor: boolean, screen: Partial<Screen> = {}): string {
  let text = '';
  const printer = createPrinter({ ...screen, write: (part) => (text += part) }, hasColor);
  const findings = levels.map((level) => finding(level));
  for (const each of findings) printer.step({ kind: 'found', finding: each });
  printer.end({ format: 1, ok: true, adapters: ['b2b'], findings });
  return text;
}

it.each([
  [[], 'no problems, no warnings'],
  [['ok', 'note'], 'no problems, no warnings'],
  [['problem', 'warning'], '1 problem, 1 warning'],
  [['warning', 'problem', 'problem', 'warning', 'ok'], '2 problems, 2 warnings'],
] as const)('counts %j', (levels, summary) => {
  expect(print(levels, false).split('\n').at(-2)).toBe(summary);
});

it.each([
  [['ok'], '32'],
  [['ok', 'warning'], '33'],
  [['problem', 'warning'], '31'],
] as const)('gives the summary of %j the color of its worst', (levels, color) => {
  expect(print(levels, true).split('\n').at(-2)).toMatch(new RegExp(`^\u001B\\[${color}m.*\u001B\\[39m$`));
});

it('puts each part under its title once, apart from the one before', () => {
  let text = '';
  const printer = createPrinter({ write: (part) => (text += part) }, false);
  for (const subject of ['application', 'application', 'b2b', 'backend'] as const) {
    printer.step({ kind: 'found', finding: finding('ok', subject) });
  }
  expect(text).toBe(
    [
      'Application',
      '  ok       It is ok',
      '  ok       It is ok',
      '',
      'WorkOS (b2bAuth)',
      '  ok       It is ok',
      '',
      'Supabase (backendAuth)',
      '  ok       It is ok',
      '',
    ].join('\n'),
  );
});

it.each([false, undefined])('does not show what it waits for where nothing can be erased (isTTY: %j)', (isTTY) => {
  let text = '';
  const screen: Screen = { write: (part) => (text += part), ...(isTTY === undefined ? {} : { isTTY }) };
  const printer = createPrinter(screen, false);
  printer.step({ kind: 'started', subject: 'backend', what: 'asking' });
  printer.end({ format: 1, ok: true, adapters: [], findings: [] });
  expect(text).toBe('Supabase (backendAuth)\n\nno problems, no warnings\n');
});
