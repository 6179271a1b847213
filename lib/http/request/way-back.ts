import { pathOf } from '../../tools/paths/request-path.ts';
import { header } from '../message.ts';
import type { HostRequest } from '../message.ts';

/** What the person asked for. A gateway asks in a request of its own, and says so in headers. */
export interface Asked {
  readonly method: string | undefined;
  /** Path and query as the browser shows them; `undefined` where a gateway names none. */
  readonly target: string | undefined;
}

/** The parts of an `AuthRequest` that the way back depends on. */
interface Person {
  readonly req: HostRequest;
  readonly wantsJson: boolean;
  /** @throws where the request names no usable host */
  readonly origin: string;
  readonly home: string;
  readonly definition: { readonly frontendOrigin?: string | undefined };
  returnTo(value: unknown, fallback?: string): string;
}

/**
 * Where the person goes once they have signed in, or done what a guard asks for: the page where they are. All guards, step-ups and errors
 * ask here.
 *
 * - A document's GET or HEAD asks for that page itself.
 * - A form's POST comes from it, as its `Referer` says. Without one of this origin it is the form's own path.
 * - A script asks for data, which is no page: only the `Referer` can name one, else it is the start page.
 *
 * @returns sanitized, and never an own route
 */
export function wayBackOf(person: Person, { method, target }: Asked): string {
  const own = person.wantsJson ? person.home : pathIn(person, target, person.home);
  const isDocument = !person.wantsJson && (method === 'GET' || method === 'HEAD');
  return isDocument ? own : pathIn(person, refererPath(person), own);
}

/** A path that is too long with its query goes without it: the page is what matters. */
function pathIn(person: Person, target: string | undefined, fallback: string): string {
  return target === undefined ? fallback : person.returnTo(target, person.returnTo(pathOf(target), fallback));
}

/** The path and query of the page that the request comes from; `undefined` for a page of another origin (RFC 9110 §10.1.3). */
function refererPath(person: Person): string | undefined {
  const from = URL.parse(header(person.req, 'referer') ?? '');
  return from !== null && from.origin === originOf(person) ? from.pathname + from.search : undefined;
}

/** The origin of the application's pages; `undefined` where the request names no usable host. */
export function originOf(person: Pick<Person, 'definition' | 'origin'>): string | undefined {
  try {
    return person.definition.frontendOrigin ?? person.origin;
  } catch {
    return undefined;
  }
}
