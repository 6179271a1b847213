import type { User as SdkUser } from '@supabase/supabase-js';
import type { Html, Text } from '../tools/html.ts';
import type { AuthError } from '../errors.ts';
import type { Fields } from '../http/body.ts';
import type { Reply } from '../http/reply.ts';
import type { AuthRequest } from '../http/request.ts';
import type { Button, Form } from '../pages/form.ts';
import type { List, Page, PageScript, Parts } from '../pages/page.ts';
import type { Attempts } from './forms/attempts.ts';
import type { HeldProviderTokens } from './supabase/issued-tokens.ts';
import type { PasswordRule } from './forms/new-password.ts';
import type { BackendOptions } from './options.ts';
import type { PagesText } from './pages/text.ts';
import type { BackendSession } from '../types.ts';
import type { StoredContent } from './supabase/session-cookie.ts';

/** The adapter's data that pages show, in the language of a request. */
export interface Site extends Pick<Slots<never>, 'signIn' | 'ways'> {
  readonly settings: BackendOptions;
  readonly text: PagesText;
  /** The length of new passwords. */
  readonly passwordRule: Pick<PasswordRule, 'minLength'>;
  /** The way in that this browser used last, where the sign-in page has it and others. */
  readonly lastWay?: string | undefined;
}

/** The parts of a request that pages use: complete URLs, with mount path and base path. */
export type PageRequest = Pick<
  AuthRequest,
  'localPath' | 'publicUrl' | 'signInUrl' | 'urlOf' | 'home' | 'stylesheetUrl' | 'brand'
>;

/** The state of every form, shown for the first time or again. */
export interface FormState {
  /** Sanitized; passed on in a hidden field and in links to other forms. */
  readonly returnTo: string;
  /** As the user typed it, so that it need not be typed again. Passwords have no such field. */
  readonly email?: string | undefined;
  /** For another account than before: OAuth providers must ask which one. */
  readonly isOtherAccount?: boolean | undefined;
  /** The only OAuth providers that know the account. Default: any may. */
  readonly providers?: readonly string[] | undefined;
  /** Why the form is shown again; it sets the page's status. */
  readonly error?: AuthError | undefined;
}

/** Parts of the context that one room makes and the kernel uses. */
export interface RoomParts {
  /** Limits attempts per account and network. */
  readonly attempts: Attempts;
  /** The OAuth providers' tokens of sign-ins that wait for their second factor. */
  readonly providerTokens: HeldProviderTokens;
}

/**
 * What a sign-in needs before it is a session: an answer where it would replace another user's session, the second factor, then a new
 * password after a recovery or invitation link.
 */
export type Step = 'account' | 'factor' | 'password';

/** A step between the first factor and the session, by the path of its page. */
export interface SignInStep {
  readonly name: Step;
  readonly path: string;
}

/** Paths that the kernel's pages lead to, where their room is there. */
export interface Ways {
  /** Sends a link to choose a new password. */
  readonly forgot?: string;
  /** Creates an account, which keeps a guest's data. */
  readonly signUp?: string;
  /** Sends the email again that confirms an address. */
  readonly resend?: string;
  /** Sends a code and a link that sign in. */
  readonly code?: string;
  /** Lists what can be done with the account. */
  readonly account?: string;
}

/** What a room adds to the sign-in page and to its route. */
export interface SignInPart<Context> {
  /** The names of the ways in that it adds to the page. */
  readonly ways?: readonly string[];
  /** Answers a GET of the sign-in page's path in the page's place. */
  readonly open?: (backend: Context, request: AuthRequest) => Promise<Reply> | Reply | undefined;
  /** Answers the POST of the sign-in page's path: one room has it. */
  readonly submit?: (
    backend: Context,
    request: AuthRequest,
    fields: Fields,
    returnTo: string,
  ) => Promise<Reply | string>;
  /** The URL of what it offers after a sign-in by password, on the way to `returnTo`. */
  readonly offer?: (backend: Context, request: AuthRequest, returnTo: string) => string | undefined;
  /** Buttons above the form, also on the page of a new account. */
  readonly buttons?: (site: Site, request: PageRequest, state: FormState) => List | undefined;
  readonly show?: (site: Site, request: PageRequest, state: SignInState) => SignInShown;
}

export interface SignInState extends FormState {
  /** The person signs in again to an account without an email address, which no form of an address can sign in to. */
  readonly hasNoAddress?: boolean;
  /** Whether the script asks the browser at once, because the answer before came too late. */
  readonly isAgain?: boolean;
}

export interface SignInShown {
  /** The form with the address: the first room that has one shows it. */
  readonly form?: (parts: SignInFormParts) => Form;
  /** A button in the form, where it is another room's. */
  readonly button?: Button;
  /** Below the form. */
  readonly below?: Parts;
  /** For the page as data: a way that the page shows as another room's button. */
  readonly links?: Page['links'];
  readonly script?: PageScript;
  /** Whether it also signs in to an account without an email address. */
  readonly needsNoAddress?: true;
  /** Of the address' field, where browsers offer more than addresses there. */
  readonly autocomplete?: 'username webauthn';
}

export interface SignInFormParts {
  readonly autocomplete: 'username' | 'username webauthn';
  /** Of other rooms. */
  readonly buttons: readonly Button[];
}

/** Whose account home it is. */
export interface Account {
  readonly site: Site;
  readonly session: BackendSession;
  readonly content: StoredContent;
  /** As the backend describes them now. */
  readonly user: SdkUser;
}

/** A row of the account home. */
export interface AccountRow {
  /** Its field of the JSON, with `value`. */
  readonly field: string;
  readonly value: boolean | number;
  readonly label: Text;
  /** What it is now, in a word or a number. */
  readonly state?: Text | undefined;
  /** The path of the page that changes it. */
  readonly path: string;
  readonly icon: Html;
}

/** A provider whose accounts can be linked. */
export interface LinkedProvider {
  readonly name: string;
  readonly scopes?: string | undefined;
  readonly queryParams?: Readonly<Record<string, string>> | undefined;
}

export interface AccountLinks {
  /** Those that the page offers. */
  readonly names: readonly string[];
  /** @throws {AuthError} `unknown_provider` */
  readonly find: (name: string | undefined) => LinkedProvider;
  /** The name of any provider, as pages show it. */
  readonly labelOf: (name: string) => string;
}

/** What a room adds to the account home. */
export interface AccountPart<Context> {
  /** `undefined` where the project has it switched off. @throws {AuthError} where the backend does not tell */
  readonly row?: (
    backend: Context,
    request: AuthRequest,
    account: Account,
  ) => Promise<AccountRow | undefined> | AccountRow;
  /** Whether an identity of this provider, such as `email` or `github`, is a way to sign in here. */
  readonly signsIn?: (provider: string) => boolean;
  /** Whose accounts can be linked: one room knows it. */
  readonly links?: AccountLinks;
}

/** What the rooms give to the kernel's pages and routes. */
export interface Slots<Context> {
  readonly signIn: readonly SignInPart<Context>[];
  readonly steps: ReadonlyMap<Step, string>;
  readonly ways: Ways;
  readonly account: readonly AccountPart<Context>[];
}
