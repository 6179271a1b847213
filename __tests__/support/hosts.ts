import type http from 'node:http';
import compression from 'compression';
import connect from 'connect';
import cookieParser from 'cookie-parser';
import express from 'express';
import express4 from 'express4';
import session from 'express-session';
import helmet from 'helmet';
import { createHandlerList } from './handler-list.ts';
import type { ErrorHandler, Handler, HandlerList, Next } from './handler-list.ts';
import type { FrontName, HostName } from './variant.ts';
import { frontCookie } from './visitor.ts';

/** The path exactly, as Express compares it by default, or anything that the expression matches. */
export type Paths = string | readonly string[] | RegExp;

/** An application, or the part of one below a path: Express' words, as far as every host can follow. */
export interface Host {
  use(...handlers: readonly Handler[]): void;
  use(path: string, ...handlers: readonly Handler[]): void;
  get(paths: Paths, ...handlers: readonly Handler[]): void;
  all(paths: Paths, ...handlers: readonly Handler[]): void;
  onError(handler: ErrorHandler): void;
  /** The Express application; throws on the other hosts, which have no settings. */
  readonly express: express.Express;
  /** A part of its own below a path. */
  below(path: string): Host;
  readonly listener: http.RequestListener & Handler;
}

/** Everything that a router can be put into. */
export const hosts: Readonly<Record<HostName, () => Host>> = {
  'Express 5': () => expressHost(express(), () => express.Router()),
  'Express 4': () => expressHost(express4(), () => express4.Router()),
  Connect: () => plainHost(() => connect()),
  'bare node:http': () => plainHost(createHandlerList),
};

function expressHost(app: express.Express, createRouter: () => express.Router, router: express.Router = app): Host {
  return {
    use: (...layers: readonly unknown[]) => void router.use(...(layers as [Handler])),
    get: (paths, ...handlers) => void router.get(paths as string, ...(handlers as [Handler])),
    all: (paths, ...handlers) => void router.all(paths as string, ...(handlers as [Handler])),
    // Express knows it by its four parameters.
    onError: (handler) =>
      void router.use((error: unknown, req: unknown, res: unknown, next: Next) => handler(error, req, res, next)),
    express: app,
    below(path) {
      const part = createRouter();
      router.use(path, part);
      return expressHost(app, createRouter, part);
    },
    listener: router as unknown as Host['listener'],
  };
}

/** Neither methods nor exact paths are known here: handlers that need them ask the request. */
function plainHost(create: () => HandlerList): Host {
  const list = create();
  const addRoutes = (paths: Paths, handlers: readonly Handler[], isMine: (req: http.IncomingMessage) => boolean) => {
    for (const handler of handlers)
      list.use('/', (req, res, next) => (isMine(req) && isAt(paths, req.url) ? handler(req, res, next) : next()));
  };
  return {
    use(first: string | Handler, ...rest: readonly Handler[]) {
      const [path, handlers] = typeof first === 'string' ? [first, rest] : ['/', [first, ...rest]];
      for (const handler of handlers) list.use(path, handler);
    },
    get: (paths, ...handlers) => addRoutes(paths, handlers, ({ method }) => method === 'GET' || method === 'HEAD'),
    all: (paths, ...handlers) => addRoutes(paths, handlers, () => true),
    onError: (handler) =>
      void list.use((error: unknown, req: unknown, res: unknown, next: Next) => handler(error, req, res, next)),
    get express(): never {
      throw new Error('This test needs Express: say so with itOnExpress or describeOnExpress');
    },
    below(path) {
      const part = plainHost(create);
      list.use(path, part.listener);
      return part;
    },
    listener: list,
  };
}

function isAt(paths: Paths, url: string): boolean {
  const [path = '/'] = url.split('?', 1);
  if (paths instanceof RegExp) return paths.test(path);
  const wanted = path.toLowerCase().replace(/(?<=.)\/$/, '');
  return [paths].flat().some((each) => each.toLowerCase() === wanted);
}

/** `res.send` for every host. */
export function sendText(res: http.ServerResponse, text: string, status = 200): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  res.end(text);
}

/** `res.json` for every host. */
export function sendJson(res: http.ServerResponse, value: unknown, status = 200): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.end(JSON.stringify(value));
}

/** Body parsers and cookie-parser. */
const parsers = (): Handler[] => [express.json(), express.urlencoded({ extended: true }), cookieParser()];
/** Helmet, compression and express-session. */
const hardening = (): Handler[] => [
  // Without its `form-action`, which turns the redirect after a sign-out into a page: the suite of sign-out looks at that.
  helmet({ contentSecurityPolicy: { directives: { 'form-action': null } } }) as Handler,
  compression() as Handler,
  session({ name: frontCookie, secret: 'only for this test', resave: false, saveUninitialized: true }) as Handler,
];

/** What applications put in front. */
export const fronts: Readonly<Record<FrontName, () => Handler[]>> = {
  nothing: () => [],
  parsers,
  hardening,
  everything: () => [...hardening(), ...parsers()],
};
