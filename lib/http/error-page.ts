import { html, safeHref } from '../core/html.ts';
import type { AuthError } from '../errors.ts';
import type { Reply } from './reply.ts';
import { builtInPage } from './page.ts';
import type { Brand } from './page.ts';

export interface ErrorPageParts {
  readonly error: AuthError;
  readonly signInUrl: string;
  /** Whether the same page may well open a moment later. */
  readonly canReload: boolean;
  /** The application's start page. */
  readonly home: string;
  readonly stylesheet: string;
  readonly brand: Brand;
}

/** What went wrong in plain words, and a way on. */
export function errorPage({ error, signInUrl, canReload, home, stylesheet, brand }: ErrorPageParts): Reply {
  return builtInPage({
    status: error.status,
    heading: headingFor(error),
    stylesheet,
    brand,
    content: html`<p role="alert">${error.message}</p>
<p class="actions"><a class="button" href="${canReload ? '' : safeHref(signInUrl)}">${error.status >= 500 ? 'Try again' : 'Sign in'}</a> <a href="${safeHref(home)}">Back to the start page</a></p>
<p class="code">Code: ${error.code}</p>`,
  });
}

function headingFor(error: AuthError): string {
  if (error.code === 'access_denied') return 'Sign-in was cancelled';
  if (error.status >= 500) return 'Sign-in is not available right now';
  if (error.status === 401) return 'Please sign in';
  if (error.status === 403) return 'This is not open to you';
  if (error.status === 429) return 'Too many attempts';
  return 'That did not work';
}
