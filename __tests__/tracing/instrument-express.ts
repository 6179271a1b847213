/**
 * Switches OpenTelemetry's instrumentation of Express on, for the variant OpenTelemetry of the HTTP suites. Jest's own module loader
 * does not call the hooks that it sets up by itself, so it gets the modules here. Each request has a span, as that of http would make
 * one: without it the instrumentation only passes on.
 */
import type { RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { context, trace } from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/api';
import express from 'express';
import express4 from 'express4';

interface Instrumentation {
  setTracerProvider(provider: TracerProvider): void;
  getModuleDefinitions(): readonly { readonly patch: (moduleExports: unknown) => unknown }[];
}

/** The parts of the packages that are used here; they are installed only for this variant. */
interface Packages {
  readonly ExpressInstrumentation: new (config: { readonly enabled: boolean }) => Instrumentation;
  readonly NodeTracerProvider: new () => TracerProvider & { register(): void };
}

const load = createRequire(join(process.cwd(), '__tests__/tracing/package.json'));

function loadPackages(): Packages {
  const names = ['@opentelemetry/instrumentation-express', '@opentelemetry/sdk-trace-node'];
  try {
    return Object.assign({}, ...names.map((name) => load(name) as object)) as Packages;
  } catch (cause) {
    throw new Error('The variant OpenTelemetry needs: npm ci --prefix __tests__/tracing', { cause });
  }
}

const { ExpressInstrumentation, NodeTracerProvider } = loadPackages();
const provider = new NodeTracerProvider();
provider.register();
const tracer = trace.getTracer('http');

for (const moduleExports of [express, express4]) {
  const instrumentation = new ExpressInstrumentation({ enabled: false });
  instrumentation.setTracerProvider(provider);
  for (const { patch } of instrumentation.getModuleDefinitions()) patch(moduleExports);
  // An application inside another one continues the span of the request.
  const { application } = moduleExports as unknown as { readonly application: { handle: RequestListener } };
  const { handle } = application;
  application.handle = function (this: unknown, req, res, ...rest: unknown[]) {
    const go = (): unknown => Reflect.apply(handle, this, [req, res, ...rest]);
    if (trace.getSpan(context.active()) !== undefined) return void go();
    const span = tracer.startSpan('request');
    res.once('close', () => span.end());
    context.with(trace.setSpan(context.active(), span), go);
  };
}
