import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { metrics, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Meter, SpanOptions, Tracer } from '@opentelemetry/api';
import { codeBlocks, markdownFiles } from '../support/markdown.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';

const directory = join(process.cwd(), 'reports', 'docs-watching');

interface Span {
  readonly name: string;
  readonly attributes: unknown;
  readonly status?: number;
}

const spans: Span[] = [];
const durations: object[] = [];
/** In milliseconds and seconds. They are checked in the test: the recipe stays subscribed in this process, where other suites follow. */
const lengths: number[] = [];

/** As much of an SDK as the recipe calls. */
const tracer = {
  startSpan(name: string, { startTime, attributes }: SpanOptions) {
    let status: number | undefined;
    return {
      setStatus: ({ code }: { readonly code: number }) => (status = code),
      end(endTime: number) {
        lengths.push(endTime - Number(startTime));
        spans.push({ name, attributes, ...(status === undefined ? {} : { status }) });
      },
    };
  },
} as unknown as Tracer;
const meter = {
  createHistogram: () => ({
    record(seconds: number, attributes: object) {
      lengths.push(seconds);
      durations.push(attributes);
    },
  }),
} as unknown as Meter;

afterAll(() => {
  trace.disable();
  metrics.disable();
  rmSync(directory, { recursive: true, force: true });
});

it('docs/watching.md: the recipe records spans and a histogram of a failed and a successful sign-in', async () => {
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  metrics.setGlobalMeterProvider({ getMeter: () => meter });
  const [recipe] = markdownFiles()
    .flatMap(codeBlocks)
    .filter(({ code }) => code.includes('@opentelemetry/api'));
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'recipe.ts');
  writeFileSync(file, recipe?.code ?? '');
  await import(file);

  const app = await startBackendApp();
  try {
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', { ...ada, password: 'wrong' });
    await visitor.postJson('/auth/login', ada);
  } finally {
    await app.close();
  }
  expect(lengths).toHaveLength(6);
  expect(Math.min(...lengths)).toBeGreaterThan(0);
  const adapter = 'backend';
  expect(spans).toMatchObject([
    { name: 'auth sign-in', attributes: { adapter, code: 'invalid_credentials' }, status: SpanStatusCode.ERROR },
    { name: 'auth verify', attributes: { adapter, outcome: 'live' } },
    { name: 'auth sign-in', attributes: { adapter, outcome: 'signed_in' } },
  ]);
  expect(durations).toEqual([
    { operation: 'sign-in', adapter, outcome: 'failed' },
    { operation: 'verify', adapter, outcome: 'live' },
    { operation: 'sign-in', adapter, outcome: 'signed_in' },
  ]);
});
