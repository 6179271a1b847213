import fc from 'fast-check';
import { mergeLines } from '../../lib/session/line-merge.ts';
import { deliver, emptyLine, exchange, settledOf, present } from '../../lib/session/token-line.ts';
import type { TokenLine } from '../../lib/session/token-line.ts';
import { checkInputs } from '../support/inputs.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const start = 1_700_000_000_000;
const lateMs = 20_000;
const tokenMs = 5 * minute;
/** A little less than undelivered tokens wait. */
const awayMs = 7 * day;

/** One request of a browser. */
interface Request {
  readonly afterMs: number;
  readonly browser: number;
  readonly process: number;
  readonly isLate: boolean;
  readonly isDelivered: boolean;
  /** Whether the process hears of the delivery, and the coordinator of what the process knows. */
  readonly isHeard: boolean;
}

interface Walk {
  readonly requests: readonly Request[];
  /** How far the second process' clock is ahead, in milliseconds. */
  readonly aheadMs: number;
}

const request: fc.Arbitrary<Request> = fc.record({
  afterMs: fc.oneof(
    { arbitrary: fc.nat(lateMs), weight: 5 },
    { arbitrary: fc.nat(10 * minute), weight: 4 },
    { arbitrary: fc.nat(6 * day), weight: 1 },
  ),
  browser: fc.nat(1),
  process: fc.nat(1),
  isLate: fc.boolean(),
  isDelivered: fc.boolean(),
  isHeard: fc.boolean(),
});

/** A line in the times of another clock. */
function shift(line: TokenLine, byMs: number): TokenLine {
  const spent = line.spent.map((each) => ({
    ...each,
    at: each.at + byMs,
    newestAt: each.newestAt + byMs,
    until: each.until + byMs,
    ...(each.closes !== undefined && { closes: each.closes + byMs }),
  }));
  return { ...line, spent };
}

/** A provider that takes each token once, two processes with a coordinator, and two browsers with a sign-in each of one session. */
class World {
  #now = start;
  #issued = 0;
  readonly #spent = new Set<string>();
  readonly #expires = new Map<string, number>();
  #shared = emptyLine;
  readonly #own = [emptyLine, emptyLine];
  readonly #ahead: readonly number[];
  readonly #browsers = ['a', 'b'].map((name) => {
    return { held: this.#issue(name), seenAt: start, former: [] as { readonly token: string; readonly at: number }[] };
  });

  constructor(aheadMs: number) {
    this.#ahead = [0, aheadMs];
  }

  #issue(name: string): string {
    const token = `${name}${(this.#issued += 1)}`;
    this.#expires.set(token, this.#now + tokenMs);
    return token;
  }

  #isLive(token: string): boolean {
    return (this.#expires.get(token) ?? 0) > this.#now;
  }

  /** Changes what a process knows and, where the coordinator hears of it, what all know. */
  #change(process: number, apply: (line: TokenLine) => TokenLine, isHeard = true): void {
    const [own = emptyLine, ahead = 0] = [this.#own[process], this.#ahead[process]];
    this.#own[process] = apply(own);
    if (isHeard) this.#shared = shift(apply(shift(this.#shared, ahead)), -ahead);
  }

  /** @returns the token that the browser gets, or `undefined` where the session is lost */
  #answer(
    process: number,
    sent: string,
    isHeard: boolean,
  ): { readonly token: string; readonly way: string[] } | undefined {
    const ahead = this.#ahead[process] ?? 0;
    const now = this.#now + ahead;
    const own = (): TokenLine => this.#own[process] ?? emptyLine;
    this.#own[process] = mergeLines(shift(this.#shared, ahead), own(), now);
    const way = [sent];
    let token = sent;
    for (let round = 0; round < 4; round += 1) {
      const settled = settledOf(own(), token, now);
      if (settled?.kind === 'renewed') {
        token = settled.text;
        if (this.#isLive(token)) return { token, way };
        way.push(token);
        continue;
      }
      if (this.#isLive(token)) {
        this.#change(process, (line) => present(line, sent, now), isHeard);
        return { token, way };
      }
      if (this.#spent.has(token)) return undefined;
      this.#spent.add(token);
      const [spent, newest] = [token, this.#issue(token.slice(0, 1))];
      const held = spent === sent ? undefined : sent;
      const known = own();
      this.#change(process, (line) =>
        exchange(mergeLines(line, known, now), spent, { newest, text: newest, held }, now),
      );
      return { token: newest, way };
    }
    return undefined;
  }

  /** @returns whether the session is alive, `undefined` where the browser stayed away for too long */
  take({ afterMs, browser: index, process, isLate, isDelivered, isHeard }: Request): boolean | undefined {
    this.#now += afterMs;
    if (this.#browsers.some(({ seenAt }) => this.#now - seenAt > awayMs)) return undefined;
    const browser = this.#browsers[index]!;
    const late = browser.former.filter(({ at }) => this.#now - at < lateMs).at(-1);
    const sent = isLate && late !== undefined ? late.token : browser.held;
    if (sent === browser.held) browser.seenAt = this.#now;
    const answer = this.#answer(process, sent, isHeard);
    if (answer === undefined) return false;
    const { token, way } = answer;
    if (token === sent || !isDelivered) return true;
    if (token !== browser.held) browser.former.push({ token: browser.held, at: this.#now });
    browser.held = token;
    const now = this.#now + (this.#ahead[process] ?? 0);
    if (isHeard) this.#change(process, (line) => way.reduce((one, each) => deliver(one, each, token, now), line));
    return true;
  }
}

it('a line loses no session that is used once a week, whatever is delivered, heard of or late', async () => {
  const walks: fc.Arbitrary<Walk> = fc.record({
    requests: fc.array(request, { minLength: 40, maxLength: 120, size: 'max' }),
    aheadMs: fc.integer({ min: -30_000, max: 30_000 }),
  });
  const check = fc.property(
    fc.noShrink(walks),
    fc.double({ min: 0, max: 1, noNaN: true }),
    ({ requests, aheadMs }, delivered) => {
      const world = new World(aheadMs);
      for (const [index, each] of requests.entries()) {
        // Some browsers get hardly any answer, as behind a gateway.
        const isDelivered = each.isDelivered && ((index * 7919) % 100) / 100 < delivered;
        const isAlive = world.take({ ...each, isDelivered });
        if (isAlive === undefined) return;
        expect(isAlive).toBe(true);
      }
    },
  );
  await checkInputs(check, { least: 100, variable: 'LINE_WALKS' });
});
