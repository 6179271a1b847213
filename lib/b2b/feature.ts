import type { AuthenticationResponse } from '@workos-inc/node';
import type { Reply } from '../http/reply.ts';
import type { AuthRequest } from '../http/request.ts';
import type { AuthRoute } from '../http/router.ts';
import type { ClientFacts, SessionSource } from '../session/source.ts';
import type { B2bContext } from './context.ts';
import type { Flow } from './flow-cookie.ts';
import type { B2bOptions } from './options.ts';
import type { ProviderFailure } from './provider-errors.ts';

/** A capability of `b2bAuth`. Everything that knows of it lies in its room, the folder that exports this. */
export interface Feature {
  /** What it adds to the source of the sessions. */
  readonly source?: (settings: B2bOptions) => SourcePart;
  readonly routes?: (context: B2bContext) => readonly AuthRoute[];
  /** What it asks the person between WorkOS' refusal of a code and the session: one room has it. */
  readonly question?: Question;
}

export type SourcePart = Pick<SessionSource<unknown>, 'lifetime'>;

/** A question to the person, while the flow waits with what the room keeps of it. */
export interface Question {
  /**
   * What a refusal at the token endpoint asks for.
   *
   * @returns a call where the sign-in itself has the answer; `undefined` where the refusal asks for something else
   * @throws {AuthError} where the options leave no choice
   */
  readonly of: (context: B2bContext, failure: ProviderFailure, asked: AskedTokens) => TokenCall | Asking | undefined;
  /**
   * The answer in a callback of a flow that waits for one.
   *
   * @returns the page again where the answer is missing; `undefined` where only WorkOS has the page's data, by the same code
   */
  readonly answer: (context: B2bContext, request: AuthRequest, flow: Flow) => Answer | Again | undefined;
}

export interface AskedTokens {
  /** What the sign-in was started for, or the person has chosen. */
  readonly organizationId: string | undefined;
  /** Whether this room has already made a call in the same callback. */
  readonly isSecond?: true;
}

export interface TokenCall {
  readonly kind: 'call';
  readonly call: (client: ClientFacts) => Promise<AuthenticationResponse>;
}

export interface Asking {
  readonly kind: 'question';
  readonly show: (context: B2bContext, request: AuthRequest, flow: Flow) => Promise<Reply>;
}

export interface Answer extends Omit<TokenCall, 'kind'> {
  readonly kind: 'answer';
  /** Tells the answers of one flow apart. */
  readonly key: string;
  readonly organizationId: string;
  /** Writes what the browser keeps of the answer once the session is stored. */
  readonly remember: () => void;
}

export interface Again {
  readonly kind: 'again';
  /** Spends nothing: after a failure the same request may succeed. */
  readonly show: () => Promise<Reply>;
}
