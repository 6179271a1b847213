import { print } from '../../lib/doctor/report.ts';
import type { DoctorReport, Finding, Level } from '../../lib/doctor/report.ts';

const finding = (level: Level, subject: Finding['subject'] = 'b2b'): Finding => ({
  id: `${subject}.x`,
  subject,
  level,
  message: `It is ${level}`,
});

const report = (...findings: readonly Finding[]): DoctorReport => ({ format: 1, ok: true, adapters: [], findings });
const plain = { hasColor: false, isQuiet: false };

it.each([
  [['ok', 'note'], 'no problems, no warnings'],
  [['problem', 'warning'], '1 problem, 1 warning'],
  [['warning', 'problem', 'problem', 'warning', 'ok'], '2 problems, 2 warnings'],
] as const)('starts with a summary of %j', (levels, summary) => {
  expect(print(report(...levels.map((level) => finding(level))), plain).split('\n')[0]).toBe(summary);
});

it.each([
  [['ok'], '32'],
  [['ok', 'warning'], '33'],
  [['problem', 'warning'], '31'],
] as const)('gives the summary of %j the color of its worst finding', (levels, color) => {
  const text = print(report(...levels.map((level) => finding(level))), { ...plain, hasColor: true });
  expect(text.split('\n')[0]).toMatch(new RegExp(`^\u001B\\[${color}m.*\u001B\\[39m$`));
});

it('prints each part under its title once, separated from the one before', () => {
  const subjects = ['application', 'application', 'b2b', 'backend'] as const;
  expect(print(report(...subjects.map((subject) => finding('ok', subject))), plain)).toBe(
    [
      'no problems, no warnings',
      '',
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

it('prints only problems and warnings with --quiet, and nothing if there are none', () => {
  const quiet = { ...plain, isQuiet: true };
  expect(print(report(finding('ok'), finding('note')), quiet)).toBe('');
  const text = print(report(finding('ok', 'application'), finding('warning')), quiet);
  expect(text).toBe('no problems, 1 warning\n\nWorkOS (b2bAuth)\n  warning  It is warning\n');
});

it('removes cursor controls from texts, and indents the advice', () => {
  const broken = { ...finding('problem'), message: 'Broken\u001B[2J\nbadly', fix: 'Mend it' };
  expect(print(report(broken), plain)).toContain('  problem  Broken badly\n           Mend it\n');
  expect(print(report(broken), { ...plain, hasColor: true })).toContain('\u001B[31mproblem');
});
