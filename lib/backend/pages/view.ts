import type { Brand } from '../../http/page.ts';
import type { PagesText } from './text.ts';

/** What every page needs. URLs are complete: mount path and query included. */
export interface PageView {
  readonly status: number;
  /** URL of the stylesheet. */
  readonly stylesheet: string;
  readonly brand: Brand;
  readonly text: PagesText;
}

/** A failure, placed where it belongs: at a field, or above the form where it concerns all of it. */
export interface FormError {
  /** Safe to show to anyone. */
  readonly message: string;
  readonly field: 'email' | 'password' | 'form';
  /** Seconds until another try makes sense; said in the page's language. */
  readonly retryAfter?: number | undefined;
}

/** "Continue with GitHub". */
export interface ProviderButton {
  /** Supabase's name of the provider, such as `github`. */
  readonly name: string;
  /** Its name for people, such as `GitHub`. */
  readonly label: string;
  /** Starts OAuth; carries `returnTo`. */
  readonly href: string;
}

/** What is told in passing, above the sign-in form. */
export type SignInNotice = 'signed_out' | 'mail_sent';

interface CredentialsView extends PageView {
  /** Where the form posts to. */
  readonly action: string;
  /** Sanitised; travels on as a hidden field and in the link to the other form. */
  readonly returnTo?: string | undefined;
  /** As it was typed; kept, so that it need not be typed twice. There is no such field for the password. */
  readonly email?: string | undefined;
  readonly providers: readonly ProviderButton[];
  readonly error?: FormError | undefined;
}

export interface SignInView extends CredentialsView {
  /** URL of the sign-up page, without `returnTo`. */
  readonly signUpHref: string;
  /** Where the button that has the confirmation mail sent again posts `email` and `returnTo`. */
  readonly resendAction: string;
  /** Shows that button; needs `email`. */
  readonly offerResend?: boolean | undefined;
  readonly notice?: SignInNotice | undefined;
}

export interface SignUpView extends CredentialsView {
  /** URL of the sign-in page, without `returnTo`. */
  readonly signInHref: string;
}

/** A mail's link lands here; only the button's POST spends its token, so that link scanners spend nothing. */
export interface ConfirmView extends PageView {
  readonly action: string;
  /** Posted as `token_hash`. */
  readonly tokenHash: string;
  /** Posted as `type`. */
  readonly type: string;
  readonly returnTo?: string | undefined;
  readonly error?: FormError | undefined;
}

export interface SignOutView extends PageView {
  readonly action: string;
  readonly returnTo?: string | undefined;
  /** Where "Stay signed in" leads. */
  readonly stayHref: string;
}

interface NoticeBase extends PageView {
  /** URL of the sign-in page, without `returnTo`. */
  readonly signInHref: string;
  readonly returnTo?: string | undefined;
}

/** News without a form of its own. */
export type NoticeView = NoticeBase &
  (
    | {
        /** After sign-up, or after the mail was asked for again: the same words for every address. */
        readonly kind: 'confirmation_sent' | 'mail_sent';
        readonly email: string;
        /** Where "Send it again" posts `email` and `returnTo`; no button without it. */
        readonly resendAction?: string | undefined;
      }
    /** `other_link` leads on to `returnTo`, the others to sign-in. */
    | { readonly kind: 'please_sign_in' | 'other_link' | 'signed_out' }
  );
