import type { Request, Response } from 'express';
import { defined } from '../tools/json.ts';

/** Which of the built-in pages it is. A later version may have more. */
export type PageKind =
  | 'address_change'
  | 'address_changed'
  | 'apps'
  | 'code'
  | 'code_request'
  | 'confirm'
  | 'confirmation_sent'
  | 'consent'
  | 'disconnect_app'
  | 'enroll'
  | 'error'
  | 'factor_rejected'
  | 'factor_unavailable'
  | 'factors'
  | 'forgot'
  | 'forgot_sent'
  | 'link_expired'
  | 'mail_sent'
  | 'no_address'
  | 'organizations'
  | 'passkeys'
  | 'password'
  | 'please_sign_in'
  | 'remove_factor'
  | 'remove_passkey'
  | 'rename_passkey'
  | 'sign_in'
  | 'sign_out'
  | 'sign_up'
  | 'signed_in'
  | 'signing_out'
  | 'sso'
  | 'start_again'
  | 'switch_account'
  | 'to_app'
  | 'verify';

/** A built-in page as data, for `pages.render`. It holds no password, code, token or other secret. */
export interface BuiltInPage {
  readonly kind: PageKind;
  /** The heading. */
  readonly title: string;
  /** The language of the texts, as a BCP 47 tag: `pages.lang`, or the one that `Accept-Language` picked. */
  readonly lang: string;
  /** Why the page is shown; the response has its status. */
  readonly error?: { readonly code: string; readonly message: string };
  /**
   * What was entered, such as `email`, and what the form sends back in hidden fields, such as `returnTo`. Any person can write
   * these values into a URL or a form, so escape them.
   */
  readonly values: Readonly<Record<string, string | undefined>>;
  /** What the visitor fills in, each with the message that belongs to it. */
  readonly fields: readonly { readonly name: string; readonly error?: string }[];
  /** Where the form posts; absent where the page has none. */
  readonly action?: string;
  /** The pages that it leads to, by name: root-relative, or absolute where they are on another site. */
  readonly links: Readonly<Record<string, string | undefined>>;
  /** What the visitor chooses from: providers, organizations, factors, passkeys, apps. */
  readonly choices: readonly { readonly name: string; readonly href: string }[];
}

/** Answers with a page of the application's own (`true`), or leaves it to the built-in one (`false`). */
export type RenderPage = (req: Request, res: Response, page: BuiltInPage) => boolean | Promise<boolean>;

/** What a page says of itself. */
export interface PageFacts {
  readonly kind: PageKind;
  /** Without values that no visitor needs to see again. */
  readonly values?: Readonly<Record<string, string | undefined>>;
  /** The names of what the visitor fills in. */
  readonly fields?: readonly string[];
  /** The form's URL. */
  readonly action?: string | undefined;
  readonly links?: Readonly<Record<string, string | false | undefined>>;
  readonly choices?: BuiltInPage['choices'];
}

/** An error with the messages that belong to fields. */
interface ShownError {
  readonly code: string;
  readonly message: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/** Frozen, because the answers to a double submit share it. */
export function pageView(title: string, lang: string, facts: PageFacts, error?: ShownError): BuiltInPage {
  const { kind, values = {}, fields = [], action, links = {}, choices = [] } = facts;
  const messages = new Map(Object.entries(error?.fields ?? {}));
  const names = [...new Set([...fields, ...messages.keys()])];
  return Object.freeze({
    kind,
    title,
    lang,
    ...(error && { error: Object.freeze({ code: error.code, message: error.message }) }),
    values: Object.freeze(defined(values)),
    fields: frozen(
      names.map((name) => {
        const message = messages.get(name);
        return { name, ...(message !== undefined && { error: message }) };
      }),
    ),
    ...defined({ action }),
    links: Object.freeze(
      Object.fromEntries(
        Object.entries(links).flatMap(([name, href]) => (href ? [[name, withoutInvitation(href)] as const] : [])),
      ),
    ),
    choices: frozen(choices),
  });
}

/** The built-in page's own link names an invitation again, by its token. */
function withoutInvitation(href: string): string {
  return href.replace(/([?&])invitation_token=[^&#]*(&?)/, (_, before: string, after) => (after === '' ? '' : before));
}

function frozen<Item extends object>(items: readonly Item[]): readonly Item[] {
  return Object.freeze(items.map((item) => Object.freeze({ ...item })));
}
