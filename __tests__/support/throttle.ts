import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { AuthError } from '../../lib/errors.ts';
import { createAttempts } from '../../lib/backend/throttle/limits.ts';
import type { ThrottleRedisClient } from '../../lib/backend/throttle/options.ts';
import type { End } from '../../lib/backend/throttle/counter.ts';
import type { Emit } from '../../lib/session/events.ts';

export interface ThrottleParts {
  readonly store?: ThrottleRedisClient | undefined;
  readonly keyPrefix: string;
  readonly emit: Emit;
  readonly maxKeys?: number;
  readonly now?: () => number;
}

/** An attempt that was let through; its work lasts until `end`. */
export interface OpenAttempt {
  end(how: End): Promise<void>;
}

/** The throttle with attempts that end when the test says so. Each rejects with `rate_limited` where it is refused. */
export interface Throttle {
  attempt(account: string | undefined, address: string | undefined): Promise<OpenAttempt>;
  link(address: string | undefined): Promise<OpenAttempt>;
  message(account: string, address: string | undefined): Promise<OpenAttempt>;
  code(subject: string): Promise<OpenAttempt>;
  mailedCode(account: string, address: string | undefined): Promise<OpenAttempt>;
  mail(account: string): Promise<OpenAttempt>;
}

const failures = {
  keep: () => new AuthError('code_wrong'),
  cancel: () => new AuthError('provider_unavailable'),
};

export function createThrottle({ store, keyPrefix, now = Date.now, ...parts }: ThrottleParts): Throttle {
  let address: string | undefined;
  const throttle = { redis: store, keyPrefix };
  const attempts = createAttempts({ ...parts, now, throttle, clientAddress: () => address });
  const req = new IncomingMessage(new Socket());

  /** @param from the visitor's address, which is read before the first wait */
  function open(
    from: string | undefined,
    run: (work: () => Promise<undefined>) => Promise<undefined>,
  ): Promise<OpenAttempt> {
    address = from;
    const opened = Promise.withResolvers<OpenAttempt>();
    const ended = run(() => {
      const work = Promise.withResolvers<undefined>();
      opened.resolve({
        async end(how) {
          if (how === 'forgive') work.resolve(undefined);
          else work.reject(failures[how]());
          await ended.catch(() => undefined);
        },
      });
      return work.promise;
    });
    ended.catch(opened.reject);
    return opened.promise;
  }

  return {
    attempt: (account, from) => open(from, (work) => attempts.run(req, account, work)),
    link: (from) => open(from, (work) => attempts.runLink(req, work)),
    message: (account, from) => open(from, (work) => attempts.runMessage(req, account, work)),
    code: (subject) => open(undefined, (work) => attempts.runCode(req, subject, work)),
    mailedCode: (account, from) => open(from, (work) => attempts.runMailedCode(req, account, work)),
    mail: (account) => open(undefined, (work) => attempts.runMail(account, work)),
  };
}
