import { partKey } from '../http/adapter.ts';
import type { Brands } from '../pages/page.ts';
import type { Emit, Explain } from '../session/events.ts';
import type { SessionResolver } from '../session/sessions.ts';
import type { SessionWriter } from '../session/source.ts';
import type { SubmitOnce } from './forms/double-submit.ts';
import type { PasswordRule } from './forms/new-password.ts';
import type { BackendOptions } from './options.ts';
import type { PagesTextKey } from './pages/text.ts';
import type { RoomParts, Slots } from './slots.ts';
import type { SessionCookie, StoredContent } from './supabase/session-cookie.ts';
import type { BackendSource } from './supabase/session-source.ts';
import type { FlowCookies } from './supabase/flow-cookies.ts';
import type { Supabase } from './supabase/supabase.ts';

/** Shared by the routes and pages of one `backendAuth()`; `create-context.ts` makes it. */
export interface BackendContext extends Slots<BackendContext>, RoomParts {
  readonly settings: BackendOptions;
  /** What the built-in pages show, in each language. */
  readonly brands: Brands<PagesTextKey>;
  readonly supabase: Supabase;
  /** The length of new passwords, which the pages say before the first try. */
  readonly passwordRule: PasswordRule;
  readonly flows: FlowCookies;
  readonly submitOnce: SubmitOnce;
  readonly cookie: SessionCookie;
  readonly source: BackendSource;
  readonly writer: SessionWriter<StoredContent>;
  readonly resolver: SessionResolver<StoredContent>;
  readonly emit: Emit;
  readonly explain: Explain;
}

/** The context of `backendAuth`, among the parts of its adapter. */
export const backendPart = partKey<BackendContext>('backend');
