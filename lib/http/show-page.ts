import type { Request, Response } from 'express';
import type { AuthRequest } from './request.ts';
import { asError, goOn } from './go-on.ts';
import type { Next } from './go-on.ts';
import { isHeadOpen } from './message.ts';
import { openHead, sendReply } from './reply.ts';
import type { Reply } from './reply.ts';

/**
 * Sends a reply. A page first goes to `pages.render`, with the status and the headers of the built-in one, except for its
 * Content-Security-Policy. Where `render` declines, the built-in page is sent; its error is the application's own and goes to `next`.
 * It has no deadline: where the built-in page was sent meanwhile, a late `res.render` would throw outside of every `try`.
 */
export async function showReply(request: AuthRequest, reply: Reply, next: Next): Promise<void> {
  const { req, res, definition } = request;
  const view = reply.body?.kind === 'page' ? reply.body.view : undefined;
  if (definition.renderPage === undefined || view === undefined || !isHeadOpen(res)) {
    sendReply(request, reply);
    return;
  }
  openHead(request, reply);
  try {
    // Outside Express, `req` and `res` lack Express' additions. `res.render` adds members to the object that it is given.
    const isRendered = await definition.renderPage(req as Request, res as Response, { ...view });
    if ((isRendered as unknown) === true || !isHeadOpen(res)) return;
  } catch (error) {
    closeHead(request, reply);
    goOn(next, asError(error));
    return;
  }
  sendReply(request, reply);
}

/** An error handler chooses the status itself, and must not send the visitor on. */
function closeHead({ res }: AuthRequest, { headers = {} }: Reply): void {
  if (!isHeadOpen(res)) return;
  res.statusCode = 200;
  for (const name of Object.keys(headers)) res.removeHeader(name);
}
