import { clientFacts } from '../../http/message.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { BackendContext } from '../context.ts';
import { endOthersHere } from '../sign-in/sign-out.ts';
import type { SignOutScope } from '../sign-in/sign-out.ts';

/**
 * A `fetch` for the request's Supabase client: what the SDK's `signOut` asks the backend to end besides this session also ends here.
 * It ends first, so that a failure of the backend leaves no session alive.
 */
export function endingHere(
  backend: BackendContext,
  request: AuthRequest,
  fetch: typeof globalThis.fetch,
): typeof globalThis.fetch {
  const path = `${backend.settings.url}/auth/v1/logout`;
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (url.startsWith(path)) {
      const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
      await endOthersOf(backend, request, headers.get('authorization'), scopeIn(url));
    }
    return fetch(input, init);
  };
}

/** GoTrue's default is `global`. */
function scopeIn(url: string): SignOutScope {
  const scope = new URL(url).searchParams.get('scope') ?? 'global';
  return scope === 'global' || scope === 'others' ? scope : 'local';
}

/** Only for a token that the backend has issued: `signOut` of the SDK's `admin` takes any text. */
async function endOthersOf(
  backend: BackendContext,
  request: AuthRequest,
  authorization: string | null,
  scope: SignOutScope,
): Promise<void> {
  if (scope === 'local') return;
  const { resolver, source } = backend;
  const token = authorization?.replace(/^bearer +/i, '') ?? '';
  const client = clientFacts(request.req, request.peer);
  const session = await resolver.resolveBearer(token, client, { takesStale: true }).catch(() => undefined);
  if (session !== undefined) await endOthersHere(backend, scope, source.factsOf(session.claims));
}
