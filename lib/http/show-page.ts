import type { Request, Response } from 'express';
import { withDeadline } from '../core/deadline.ts';
import type { AuthRequest } from './auth-request.ts';
import { asError, goOn } from './go-on.ts';
import type { Next } from './go-on.ts';
import { isHeadOpen } from './message.ts';
import { openHead, sendReply } from './reply.ts';
import type { Reply } from './reply.ts';
import type { BuiltInPage } from './page-view.ts';

/**
 * Sends a reply. A page first goes to `pages.render`, with the status and the headers of the built-in one, except for its
 * Content-Security-Policy. Where `render` does not answer within `timeoutMs`, or declines, the built-in page is sent; its error
 * is the application's own and goes to `next`.
 */
export async function showReply(request: AuthRequest, reply: Reply, next: Next): Promise<void> {
  const view = reply.body?.kind === 'page' ? reply.body.view : undefined;
  if (request.definition.renderPage === undefined || view === undefined || !isHeadOpen(request.res)) {
    sendReply(request, reply);
    return;
  }
  openHead(request, reply);
  let failure: Error | undefined;
  try {
    if (await isRendered(request, view)) return;
  } catch (error) {
    failure = asError(error);
  }
  if (failure === undefined) {
    sendReply(request, reply);
    return;
  }
  closeHead(request, reply);
  goOn(next, failure);
}

/** @throws whatever `render` throws */
async function isRendered({ req, res, definition }: AuthRequest, view: BuiltInPage): Promise<boolean> {
  const { renderPage, timeoutMs, explain } = definition;
  const late = new Error('pages.render');
  try {
    // Outside Express, `req` and `res` lack Express' additions.
    const work = async (): Promise<unknown> => renderPage?.(req as Request, res as Response, view);
    return (await withDeadline(work, timeoutMs, () => late)) === true || !isHeadOpen(res);
  } catch (error) {
    if (error !== late) throw error;
    explain('pages.render did not answer within %d ms, so the built-in page is shown', timeoutMs);
    return !isHeadOpen(res);
  }
}

/** An error handler chooses the status itself, and must not send the visitor on. */
function closeHead({ res }: AuthRequest, { headers = {} }: Reply): void {
  if (!isHeadOpen(res)) return;
  res.statusCode = 200;
  for (const name of Object.keys(headers)) res.removeHeader(name);
}
