import { postForm } from '../../support/backend-app.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import type { Mail } from './mail-sink.ts';

/** What the link that the docs recommend carries. */
export function linkFields({ links }: Pick<Mail, 'links'>): { readonly token_hash: string; readonly type: string } {
  const { searchParams } = new URL(links[0]!);
  return { token_hash: searchParams.get('token_hash')!, type: searchParams.get('type')! };
}

/** Presses the button behind the link that the docs recommend. */
export function press(visitor: Visitor, mail: Pick<Mail, 'links'>): Promise<Answer> {
  return postForm(visitor, '/auth/confirm', { ...linkFields(mail), returnTo: '/account' });
}

/** The six digits that the mail shows beside its links. */
export function codeIn({ body }: Pick<Mail, 'body'>): string {
  return /<code[^>]*>(\d+)<\/code>/.exec(body)?.[1] ?? '';
}

/** GoTrue lets three seconds pass between two mails to one address (GOTRUE_SMTP_MAX_FREQUENCY). */
export const anotherMailIsAllowed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 3_100));
