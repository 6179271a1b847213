/**
 * As much as the recipes in docs/ use of libraries that are not installed here, so that their examples can be type-checked. The
 * declarations follow the libraries' own documentation.
 */
declare namespace JSX {
  type Element = unknown;
  type IntrinsicElements = Readonly<Record<string, unknown>>;
}

declare module 'react' {
  export function useState<Value>(): [Value | undefined, (value: Value) => void];
  export function useEffect(effect: () => void, dependencies: readonly unknown[]): void;
}

declare module 'vite' {
  interface ProxyOptions {
    readonly target: string;
    readonly changeOrigin: boolean;
  }
  export function defineConfig(config: {
    readonly server: { readonly proxy: Readonly<Record<string, string | ProxyOptions>> };
  }): object;
}

declare module 'next' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface NextServer {
    prepare(): Promise<void>;
    getRequestHandler(): (req: IncomingMessage, res: ServerResponse) => Promise<void>;
  }
  export default function next(options: { readonly dev: boolean }): NextServer;
}

declare module 'next/headers' {
  export function headers(): Promise<Headers>;
}

declare module '@playwright/test' {
  import type { Browser, Locator } from 'playwright-core';

  type Use<Value> = (value: Value) => Promise<void>;
  type WorkerFixture<Value> = [
    (fixtures: object, use: Use<Value>) => Promise<void>,
    { readonly scope: 'worker' | 'test' },
  ];
  interface Test<Fixtures> {
    (name: string, body: (fixtures: Fixtures) => Promise<void>): void;
    extend<PerTest extends object, PerWorker extends object>(fixtures: {
      readonly [Name in keyof PerWorker]: WorkerFixture<PerWorker[Name]>;
    }): Test<Fixtures & PerTest & PerWorker>;
  }
  export const test: Test<{ readonly browser: Browser }>;
  export function expect(locator: Locator): { toHaveText(text: string): Promise<void> };
}

declare module '@prisma/client' {
  interface Transaction {
    $executeRaw(query: TemplateStringsArray, ...values: readonly unknown[]): Promise<number>;
    /** Generated from the schema's models. */
    readonly notes: { findMany(): Promise<readonly { readonly id: bigint; readonly body: string }[]> };
  }
  export class PrismaClient {
    $transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  }
}
