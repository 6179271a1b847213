import { withQuery } from '../core/url.ts';
import { AuthError } from '../errors.ts';
import { readFields } from '../http/body.ts';
import type { Fields } from '../http/body.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { json, redirect, redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { signInFailed } from '../session/events.ts';
import type { Emit } from '../session/events.ts';
import type { EmailConfirmationBody } from '../types.ts';
import { FormProblem } from './credentials.ts';
import { formErrorOf, noticePage } from './pages/index.ts';
import { fillIn } from './pages/text.ts';
import { retryHeaders } from './views.ts';
import type { Views } from './views.ts';

/** The same for every address, whether or not a mail was sent. */
export function mailAnswer(
  request: AuthRequest,
  views: Views,
  kind: 'confirmation_sent' | 'mail_sent',
  email: string,
  returnTo: string,
): Reply {
  if (!request.wantsJson) return noticePage(views.mail(request, kind, email, returnTo));
  const words = kind === 'mail_sent' ? views.text.mailSentText : views.text.confirmationSentText;
  const message = fillIn(words, { email });
  const body: EmailConfirmationBody = {
    emailConfirmationRequired: true,
    email,
    message,
    redirectTo: request.signInUrl(returnTo),
  };
  return json(200, body);
}

/** After the first of the two links that confirm a changed address. */
export function otherLinkAnswer(request: AuthRequest, views: Views, returnTo: string): Reply {
  if (request.wantsJson) return redirectOrJson(request, returnTo);
  return noticePage(views.news(request, 'other_link', returnTo));
}

/** The built-in form, or the way to the application's own page; a client that wants JSON is told where the page is. */
export function showForm(
  request: AuthRequest,
  ownPage: string | undefined,
  path: string,
  returnTo: string,
  builtIn: () => Reply,
): Reply {
  if (ownPage === undefined && !request.wantsJson) return builtIn();
  const page = withQuery(ownPage ?? request.localPath(path), returnTo === request.home ? {} : { returnTo });
  return redirectOrJson(request, page, 302);
}

export interface FormState {
  readonly status: number;
  readonly returnTo: string;
  readonly email: string | undefined;
  readonly error: ReturnType<typeof formErrorOf>;
}

/** Reads the form, and on failure shows it again with the message in its place, the email kept and the password not. */
export async function answerForm(
  request: AuthRequest,
  { views, emit }: { readonly views: Views; readonly emit: Emit },
  ownPage: string | undefined,
  submit: (request: AuthRequest, fields: Fields, returnTo: string) => Promise<Reply>,
  showAgain: (state: FormState, error: AuthError) => Reply,
): Promise<Reply> {
  const fields = await readFields(request.req, request.res);
  const returnTo = request.returnTo(fields.get('returnTo') ?? request.query.get('returnTo'));
  try {
    return await submit(request, fields, returnTo);
  } catch (error) {
    emit(signInFailed(error));
    if (!(error instanceof AuthError)) throw error;
    if (request.wantsJson) throw error;
    if (ownPage !== undefined) {
      const state = { error: error.code, ...(returnTo === request.home ? {} : { returnTo }) };
      return redirect(303, withQuery(ownPage, state));
    }
    const reply = showAgain(
      { status: error.status, returnTo, email: fields.get('email'), error: problemOf(error, views) },
      error,
    );
    return { ...reply, headers: retryHeaders(error) };
  }
}

function problemOf(error: AuthError, { text }: Views): FormState['error'] {
  return error instanceof FormProblem ? { field: error.field, message: text[error.text] } : formErrorOf(error, text);
}
