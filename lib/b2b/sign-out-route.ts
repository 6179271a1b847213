import type { Exchange } from '../http/exchange.ts';
import { json, redirect } from '../http/reply.ts';
import type { AuthRoute } from '../http/router.ts';
import type { Emit } from '../session/events.ts';
import type { SessionResolver } from '../session/resolve-session.ts';
import type { SealedContent } from './content.ts';
import type { FlowCookies } from './flow-cookie.ts';
import type { Provider } from './provider.ts';

export interface SignOutParts {
  readonly path: string;
  readonly logoutReturnTo: string | undefined;
  readonly provider: Pick<Provider, 'logoutUrl'>;
  readonly resolver: SessionResolver<SealedContent>;
  readonly flows: FlowCookies;
  readonly emit: Emit;
}

/** `POST /logout`: first the local cookie, then the provider's own sign-out, which is a URL and needs no call. */
export function signOutRoute(parts: SignOutParts): AuthRoute {
  const { provider, resolver, flows, emit } = parts;
  return {
    path: parts.path,
    option: 'logoutPath',
    async post(exchange) {
      const { candidates, cookies } = await resolver.signOut(exchange.req.headers.cookie);
      exchange.writeCookies([...cookies, ...(await flows.cancelAll(exchange.cookies))]);
      const ended = candidates.find(({ sessionId }) => sessionId !== undefined) ?? candidates[0];
      const home = returnUrl(exchange, parts.logoutReturnTo);
      const sessionId = ended?.sessionId;
      const destination = sessionId === undefined ? home : await provider.logoutUrl(sessionId, home);
      if (ended !== undefined) {
        emit({
          type: 'signed_out',
          userId: ended.content.user.id,
          ...(sessionId === undefined ? {} : { sessionId }),
        });
      }
      return {
        ...(exchange.wantsJson ? json(200, { redirectTo: destination }) : redirect(303, destination)),
        isNegotiated: true,
      };
    },
  };
}

/** The provider wants an absolute URL. */
function returnUrl(exchange: Exchange, logoutReturnTo: string | undefined): string {
  return new URL(logoutReturnTo ?? '/', exchange.origin).href;
}
