import type http from 'node:http';

export type Next = (error?: unknown) => void;
/** What all hosts have in common. */
export type Handler = (req: any, res: any, next: Next) => unknown;
export type ErrorHandler = (error: any, req: any, res: any, next: Next) => void;

/** What Connect is, and what one writes over `node:http` in its place. */
export interface HandlerList {
  (req: http.IncomingMessage, res: http.ServerResponse, next?: Next): void;
  use(path: string, handler: Handler): unknown;
  use(handler: ErrorHandler): unknown;
}

/**
 * Handlers one after the other, as one writes them over `node:http` by hand: nothing catches what a handler throws, and every call
 * of `next` goes on.
 */
export function createHandlerList(): HandlerList {
  const handlers: Handler[] = [];
  const errorHandlers: ErrorHandler[] = [];

  const list = (
    req: http.IncomingMessage,
    res: http.ServerResponse,
    leave: Next = (error) => end(res, error),
  ): void => {
    const fail = (index: number, error: unknown): void => {
      const handler = errorHandlers[index];
      if (handler === undefined) leave(error);
      else handler(error, req, res, (next) => fail(index + 1, next));
    };
    const run = (index: number): void => {
      const handler = handlers[index];
      if (handler === undefined) leave();
      else handler(req, res, (error) => (error ? fail(0, error) : run(index + 1)));
    };
    run(0);
  };

  function use(first: string | ErrorHandler, handler?: Handler): void {
    if (typeof first !== 'string') errorHandlers.push(first);
    else if (handler !== undefined) handlers.push(first === '/' ? handler : below(first, handler));
  }
  return Object.assign(list, { use });
}

/** Below a path, `url` is what is left of it and `originalUrl` what came. */
function below(path: string, handler: Handler): Handler {
  return (req, res, next) => {
    const url = String(req.url);
    const rest = url.slice(path.length);
    if (!url.toLowerCase().startsWith(path.toLowerCase()) || !/^(?:$|[/?])/.test(rest)) {
      next();
      return;
    }
    req.originalUrl ??= url;
    req.url = rest.startsWith('/') ? rest : `/${rest}`;
    handler(req, res, (error) => {
      req.url = url;
      next(error);
    });
  };
}

function end(res: http.ServerResponse, error: unknown): void {
  // Half an answer must not look like a whole one.
  if (res.headersSent) {
    res.destroy();
    return;
  }
  res.statusCode = error ? 500 : 404;
  res.end(error instanceof Error ? error.message : '');
}
