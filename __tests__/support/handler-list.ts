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
 * An application without a framework: handlers one after the other, written as one would by hand. Below a path, `url` is what is
 * left of it and `originalUrl` what came.
 */
export function createHandlerList(): HandlerList {
  const layers: { readonly path: string; readonly handler: Handler | ErrorHandler }[] = [];

  const list = (req: http.IncomingMessage & { originalUrl?: string }, res: http.ServerResponse, next?: Next): void => {
    const url = req.url ?? '/';
    const leave = next ?? ((error?: unknown) => endWith(res, error));
    const run = (index: number, error?: unknown): void => {
      req.url = url;
      const layer = layers[index];
      if (layer === undefined) {
        leave(error);
        return;
      }
      const rest = restBelow(layer.path, url);
      const isForErrors = layer.handler.length === 4;
      if (rest === undefined || isForErrors !== (error !== undefined)) {
        run(index + 1, error);
        return;
      }
      if (layer.path !== '/') req.originalUrl ??= url;
      req.url = rest;
      const goOn: Next = (failure) => run(index + 1, failure);
      try {
        if (isForErrors) (layer.handler as ErrorHandler)(error, req, res, goOn);
        else (layer.handler as Handler)(req, res, goOn);
      } catch (failure) {
        goOn(failure);
      }
    };
    run(0);
  };

  function use(first: string | ErrorHandler, handler?: Handler): void {
    if (typeof first !== 'string') layers.push({ path: '/', handler: first });
    else if (handler !== undefined) layers.push({ path: first, handler });
  }
  return Object.assign(list, { use });
}

function restBelow(path: string, url: string): string | undefined {
  if (path === '/') return url;
  if (!url.toLowerCase().startsWith(path.toLowerCase())) return undefined;
  const rest = url.slice(path.length);
  if (rest !== '' && !/^[/?]/.test(rest)) return undefined;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function endWith(res: http.ServerResponse, error: unknown): void {
  // Half an answer must not look like a whole one.
  if (res.headersSent) {
    res.destroy();
    return;
  }
  res.statusCode = error === undefined ? 404 : 500;
  res.end(error instanceof Error ? error.message : '');
}
