import type { Emit, Explain } from '../session/events.ts';
import type { SessionResolver } from '../session/sessions.ts';
import type { Factors } from './account/factors.ts';
import type { SendMail } from './account/send-mail.ts';
import type { BackendOptions } from './options.ts';
import type { PagesText } from './pages/text.ts';
import type { StoredContent } from './session-cookie.ts';
import type { BackendSource } from './session-source.ts';
import type { FlowCookies } from './sign-in/flow-cookies.ts';
import type { PendingSignIns } from './sign-in/pending.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import type { Supabase } from './supabase.ts';
import type { Attempts } from './throttle-options.ts';

/** What the routes and pages of one `backendAuth()` share; `index.ts` makes it. */
export interface BackendContext {
  readonly settings: BackendOptions;
  /** The words of the built-in pages. */
  readonly text: PagesText;
  readonly supabase: Supabase;
  /** Calls that may send an email, with the same answer for every address. */
  readonly sendMail: SendMail;
  /** Limits attempts per account and network. */
  readonly attempts: Attempts;
  /** Verifies what the backend issued, and stores it as the session. */
  readonly signIn: SignIn;
  /** Sign-ins that need a new password or a second factor first. */
  readonly pending: PendingSignIns;
  /** Second factors at the backend. */
  readonly factors: Factors;
  readonly flows: FlowCookies;
  readonly source: BackendSource;
  readonly resolver: SessionResolver<StoredContent>;
  readonly emit: Emit;
  readonly explain: Explain;
}
