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
  export type GetServerSideProps = (context: {
    readonly req: IncomingMessage;
  }) => Promise<{ readonly props: Readonly<Record<string, unknown>> }>;
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

declare module '@modelcontextprotocol/server' {
  export interface AuthInfo {
    token: string;
    clientId: string;
    scopes: string[];
    expiresAt?: number;
    resource?: URL;
    extra?: Record<string, unknown>;
  }
  interface Result {
    readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  }
  interface ToolContext {
    readonly http?: { readonly authInfo?: AuthInfo };
    readonly mcpReq: { readonly signal: AbortSignal };
  }
  type Tool = (context: ToolContext) => Result | Promise<Result>;
  export class McpServer {
    constructor(info: { readonly name: string; readonly version: string });
    registerTool(name: string, config: { readonly description: string }, tool: Tool): void;
  }
  export function createMcpHandler(create: () => McpServer): { fetch(request: Request): Promise<Response> };
  export class OAuthError extends Error {
    constructor(code: string, message: string);
  }
}

declare module '@modelcontextprotocol/node' {
  import type { RequestHandler } from 'express';
  export function toNodeHandler(handler: { fetch(request: Request): Promise<Response> }): RequestHandler;
}

declare module '@modelcontextprotocol/express' {
  import type { AuthInfo } from '@modelcontextprotocol/server';
  import type { RequestHandler } from 'express';
  export function requireBearerAuth(options: {
    readonly verifier: { verifyAccessToken(token: string): Promise<AuthInfo> };
    readonly expectedResource: URL;
    readonly resourceMetadataUrl: string;
  }): RequestHandler;
  export function getOAuthProtectedResourceMetadataUrl(url: URL): string;
}

declare module '@modelcontextprotocol/sdk/server/streamableHttp.js' {
  import type { IncomingMessage, ServerResponse } from 'node:http';
  export class StreamableHTTPServerTransport {
    constructor(options: object);
    handleRequest(req: IncomingMessage, res: ServerResponse, body: unknown): Promise<void>;
  }
}

declare module '@modelcontextprotocol/sdk/server/mcp.js' {
  import type { AuthInfo } from '@modelcontextprotocol/server';
  export class McpServer {
    constructor(info: { readonly name: string; readonly version: string });
    registerTool(
      name: string,
      config: { readonly description: string },
      tool: (context: { readonly authInfo?: AuthInfo }) => {
        readonly content: readonly { readonly type: 'text'; readonly text: string }[];
      },
    ): void;
    connect(transport: object): Promise<void>;
  }
}

declare module 'reflect-metadata' {}

declare module '@nestjs/common' {
  export interface ArgumentsHost {
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as NestJS declares it
    switchToHttp(): { getRequest<Given>(): Given; getResponse<Given>(): Given };
  }
  export type ExecutionContext = ArgumentsHost;
  export interface ExceptionFilter {
    catch(exception: unknown, host: ArgumentsHost): void;
  }
  export interface CanActivate {
    canActivate(context: ExecutionContext): boolean | Promise<boolean>;
  }
  export function Catch(...exceptions: readonly (new (...given: never[]) => unknown)[]): ClassDecorator;
  export function Controller(prefix: string): ClassDecorator;
  export function Injectable(): ClassDecorator;
  export function Module(metadata: { readonly controllers: readonly (new () => object)[] }): ClassDecorator;
  export function UseGuards(...guards: readonly (new () => CanActivate)[]): ClassDecorator;
  export function Get(path?: string): MethodDecorator;
  export function Req(): ParameterDecorator;
}

declare module '@nestjs/core' {
  import type { RequestHandler } from 'express';
  import type { ExceptionFilter } from '@nestjs/common';

  interface NestApplication {
    use(path: string, handler: RequestHandler): void;
    use(handler: RequestHandler): void;
    useGlobalFilters(filter: ExceptionFilter): void;
    listen(port: number): Promise<unknown>;
  }
  export const NestFactory: {
    create(module: new () => object, options: { readonly logger: readonly string[] }): Promise<NestApplication>;
  };
}

declare module 'react-router' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- applications add its members
  export interface AppLoadContext {}
  export function redirectDocument(url: string): Response;
}

declare module '@react-router/express' {
  import type { Request, RequestHandler } from 'express';
  import type { AppLoadContext } from 'react-router';

  export function createRequestHandler(options: {
    readonly build: () => Promise<unknown>;
    readonly getLoadContext: (req: Request) => Promise<AppLoadContext>;
  }): RequestHandler;
}

declare module 'serverless-http' {
  import type { RequestListener } from 'node:http';

  export default function serverless(app: RequestListener): (event: object, context: object) => Promise<object>;
}

declare module '@vercel/functions' {
  export function waitUntil(promise: Promise<unknown>): void;
}
