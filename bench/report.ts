import { cpus, release, type } from 'node:os';
import { readFileSync } from 'node:fs';
import {
  accepting,
  control,
  controlRange,
  cookieSizes,
  overExpress,
  overFormer,
  overPeers,
  patterns,
  peers,
  tail,
} from './cases.ts';
import type { Case } from './cases.ts';
import type { ImportResult } from './imports.ts';
import { connections, isPinned, median, quartiles } from './measure.ts';
import type { Round, Sample } from './measure.ts';
import type { StepResults } from './steps.ts';

export interface Run {
  /** Of each pair of processes. */
  readonly rounds: number;
  /** The number of process pairs of each case. */
  readonly pairs: { readonly usual: number; readonly tight: number };
  readonly isQuick: boolean;
  readonly measured: ReadonlyMap<Case, readonly Round[]>;
  readonly imports: readonly ImportResult[];
  readonly steps: StepResults | undefined;
}

export interface Report {
  readonly markdown: string;
  /** One line for each ratio below its minimum. */
  readonly shortfalls: readonly string[];
}

export function reportOf(run: Run): Report {
  const shortfalls: string[] = [];
  const judge = (title: string, isGood: boolean, wanted: string): string => {
    if (!isGood) shortfalls.push(`${title}: wanted ${wanted}`);
    return isGood ? wanted : `**${wanted}, missed**`;
  };
  const ratioRow = (each: Case, digits = 3): string[] | undefined => {
    const ratios = ratiosOf(run, each, ({ requests }) => requests);
    if (ratios.length === 0) return undefined;
    const ratio = median(ratios);
    const { atLeast } = each;
    return [
      each.title,
      requestsOf(run, each, 'variant'),
      requestsOf(run, each, 'over'),
      `${ratio.toFixed(digits)} (${quartiles(ratios)
        .map((value) => value.toFixed(digits))
        .join('–')})`,
      median(ratiosOf(run, each, ({ cpu }) => 1 / cpu)).toFixed(digits),
      middleOf(run, each, ({ variant }) => variant.cpu).toFixed(1),
      atLeast === undefined ? '' : judge(each.title, ratio >= atLeast, `≥ ${atLeast}`),
    ];
  };
  const columns = [
    '',
    'requests/s',
    'the other',
    'ratio (middle half)',
    'ratio by CPU time',
    'CPU µs/request',
    'wanted',
  ];
  const section = (title: string, cases: readonly Case[], digits?: number): string[] => {
    const rows = cases.map((each) => ratioRow(each, digits)).filter((row) => row !== undefined);
    return rows.length === 0 ? [] : [`## ${title}`, '', ...table(columns, rows), ''];
  };

  const controlRatio = median(ratiosOf(run, control, ({ requests }) => requests));
  const isVoid = !(controlRatio >= controlRange[0] && controlRatio <= controlRange[1]);
  if (isVoid) shortfalls.push(`control: ${controlRatio.toFixed(3)}, so the run is void`);
  const generatorLoad = highestLoad(run);
  if (generatorLoad > 0.95) shortfalls.push('load generator: it set the pace, so the run is void');
  const markdown = [
    '# Side by side with the peers',
    '',
    ...introduction(run),
    '',
    isVoid
      ? `**Void**: the same server twice came to ${controlRatio.toFixed(3)}; the machine was too restless.`
      : `Control: the same server twice came to ${controlRatio.toFixed(3)} (${controlRange.join(' to ')} counts).`,
    `The load generator was busy for ${Math.round(generatorLoad * 100)} % of the time at most.`,
    '',
    ...section('Against a bare Express handler that receives the same cookie', overExpress),
    ...section('Against a former build of the same programs', overFormer),
    ...section('Peers against the same', peers),
    ...section('Against peers', overPeers, 2),
    ...section('Options', [patterns, accepting]),
    ...section('By size of the Cookie header, signed in, B2B', cookieSizes),
    ...tailSection(run, judge),
    ...importSection(run.imports, judge),
    ...stepSections(run.steps),
  ].join('\n');
  return { markdown, shortfalls };
}

function introduction({ rounds, pairs, isQuick }: Run): string[] {
  const versions = [
    ['express', '../node_modules'],
    ['@workos-inc/node', 'node_modules'],
    ['@workos/authkit-session', 'node_modules'],
    ['@supabase/ssr', '../node_modules'],
    ['@supabase/supabase-js', '../node_modules'],
    ['express-openid-connect', 'node_modules'],
    ['@auth/express', 'node_modules'],
    ['express-session', '../node_modules'],
    ['iron-session', '../node_modules'],
    ['jose', '../node_modules'],
  ].map(([name = '', folder = '']) => `${name} ${versionOf(`${folder}/${name}`)}`);
  return [
    `Written by \`npm run bench\`, ${new Date().toISOString().slice(0, 10)}${isQuick ? ', quick run for development' : ''}.`,
    '',
    `- Machine: ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${type()} ${release()}, Node ${process.version}.`,
    `- Versions: ${versions.join(', ')}.`,
    `- Each ratio by itself: two fresh server processes that are asked in turn, ${rounds} times each; ${pairs.usual} such pairs, ${pairs.tight} where a few`,
    '  percent decide (the control, bare Express against warm requests, the options), in shuffled order.',
    `- ${connections} connections that each wait for their answer; server and load generator ${isPinned ? 'on a core of their own each' : 'not pinned to cores'}; the generator never`,
    '  sleeps. Ratios are taken within a round; medians, and the middle half.',
  ];
}

/** A generator that is always busy limits the throughput. */
function highestLoad({ measured }: Run): number {
  const loads = [...measured.values()].map((rounds) =>
    median(rounds.flatMap(({ variant, over }) => [variant.ownLoad, over.ownLoad])),
  );
  return Math.max(...loads);
}

function versionOf(folder: string): string {
  try {
    const text = readFileSync(new URL(`${folder}/package.json`, import.meta.url), 'utf8');
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return '(not installed)';
  }
}

function ratiosOf({ measured }: Run, each: Case, of: (sample: Sample) => number): number[] {
  return (measured.get(each) ?? []).map(({ variant, over }) => of(variant) / of(over));
}

function middleOf({ measured }: Run, each: Case, of: (round: Round) => number): number {
  return median((measured.get(each) ?? []).map(of));
}

function requestsOf(run: Run, each: Case, side: keyof Round): string {
  return middleOf(run, each, (round) => round[side].requests).toFixed(0);
}

type Judge = (title: string, isGood: boolean, wanted: string) => string;

function tailSection(run: Run, judge: Judge): string[] {
  const ratio = median(ratiosOf(run, tail.of, ({ p99 }) => p99));
  if (Number.isNaN(ratio)) return [];
  const of = (side: keyof Round, which: 'p50' | 'p99'): string =>
    `${middleOf(run, tail.of, (round) => round[side][which]).toFixed(2)} ms`;
  const title = `p99, ${tail.of.title}`;
  return [
    `## Latency at ${connections} connections`,
    '',
    ...table(
      ['', 'p50', 'p99', 'p99 as a multiple', 'wanted'],
      [
        ['bare Express', of('over', 'p50'), of('over', 'p99'), '', ''],
        [
          title,
          of('variant', 'p50'),
          of('variant', 'p99'),
          ratio.toFixed(2),
          judge(title, ratio <= tail.atMost, `≤ ${tail.atMost}`),
        ],
      ],
    ),
    '',
  ];
}

function importSection(results: readonly ImportResult[], judge: Judge): string[] {
  if (results.length === 0) return [];
  const rows = results.map(({ title, sdk, own, ofSdk, ratio, atMost }) => [
    title,
    `${own.toFixed(1)} ms`,
    `${ofSdk.toFixed(1)} ms (${sdk})`,
    ratio.toFixed(2),
    judge(`import of ${title}`, ratio <= atMost, `≤ ${atMost}`),
  ]);
  return ['## Imports, with Express', '', ...table(['', 'entry', 'its SDK', 'ratio', 'wanted'], rows), ''];
}

function stepSections(results: StepResults | undefined): string[] {
  if (results === undefined) return [];
  const steps = results.steps.map(({ title, cost }) => [title, `${cost.toFixed(2)} µs`]);
  const memory = results.memory.map(({ sessions, bytesEach }) => [
    sessions.toLocaleString('en'),
    `${((bytesEach * sessions) / 2 ** 20).toFixed(1)} MB`,
    `${(bytesEach / 1024).toFixed(1)} KB`,
  ]);
  return [
    '## Shared steps',
    '',
    ...table(['', 'each'], steps),
    '',
    '## Memory of cached sessions',
    '',
    'The cache holds 10,000 sessions at most.',
    '',
    ...table(['sessions', 'together', 'each'], memory),
    '',
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}
