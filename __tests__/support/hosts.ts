import type http from 'node:http';
import compression from 'compression';
import connect from 'connect';
import cookieParser from 'cookie-parser';
import express from 'express';
import express4 from 'express4';
import session from 'express-session';
import helmet from 'helmet';

type Next = (error?: unknown) => void;
/** What all four hosts have in common. */
export type Handler = (req: any, res: any, next: Next) => void;

export interface Host {
  use(handler: Handler): void;
  useAt(path: string, handler: Handler): void;
  readonly listener: http.RequestListener;
}

/** Everything that a router can be put into. */
export const hosts: Readonly<Record<string, () => Host>> = {
  'Express 5': () => expressHost(express()),
  'Express 4': () => expressHost(express4()),
  Connect: () => {
    const app = connect();
    return {
      use: (handler) => void app.use(handler),
      useAt: (path, handler) => void app.use(path, handler),
      listener: app,
    };
  },
  'bare node:http': () => bareHost(),
};

function expressHost(app: express.Express): Host {
  return {
    use: (handler) => void app.use(handler),
    useAt: (path, handler) => void app.use(path, handler),
    listener: app,
  };
}

/** No framework at all: handlers one after the other. A mount path needs somebody who strips it, so there is only the root. */
function bareHost(): Host {
  const handlers: Handler[] = [];
  return {
    use: (handler) => void handlers.push(handler),
    useAt: () => {
      throw new Error('bare node:http has no mount paths');
    },
    listener: (req, res) => {
      const run = (index: number, error?: unknown): void => {
        const handler = handlers[index];
        if (error !== undefined || handler === undefined) {
          res.statusCode = error === undefined ? 404 : 500;
          res.end(error instanceof Error ? error.message : '');
          return;
        }
        handler(req, res, (failure) => run(index + 1, failure));
      };
      run(0);
    },
  };
}

/** What applications put in front. */
export const fronts: Readonly<Record<string, () => Handler[]>> = {
  'nothing in front': () => [],
  'body parsers and cookie-parser in front': () => [
    express.json(),
    express.urlencoded({ extended: true }),
    cookieParser(),
  ],
  'helmet, compression and express-session in front': () => [
    helmet() as Handler,
    compression() as Handler,
    session({ secret: 'only for this test', resave: false, saveUninitialized: true }) as Handler,
  ],
};
