import { createRest } from '../../lib/tools/rest.ts';
import { createClock } from '../support/clock.ts';

function createTried() {
  const clock = createClock();
  const rest = createRest(clock.now);
  const waitOf = (): number | undefined => {
    try {
      rest.refuse();
      return undefined;
    } catch (error) {
      return (error as { retryAfter?: number }).retryAfter;
    }
  };
  return { clock, rest, waitOf };
}

describe('a rest', () => {
  it('lasts as long as the provider asked for, and at most 60 seconds', () => {
    const { clock, rest, waitOf } = createTried();
    expect(waitOf()).toBeUndefined();
    rest.begin({ reason: 'rate_limited', retryAfter: 3_600 });
    clock.advance(59_999);
    expect(waitOf()).toBe(3_541);
    clock.advance(1);
    expect(waitOf()).toBeUndefined();
  });

  it('is not shortened by the answer to another call that was under way', () => {
    const { clock, rest, waitOf } = createTried();
    rest.begin({ reason: 'rate_limited', retryAfter: 30 });
    clock.advance(1_000);
    rest.begin({ reason: 'server_error', retryAfter: 1 });
    clock.advance(2_000);
    expect(waitOf()).toBe(27);
    rest.begin({ reason: 'rate_limited', retryAfter: 40 });
    expect(waitOf()).toBe(40);
  });

  it('ends where the clock is set back', () => {
    const { clock, rest, waitOf } = createTried();
    rest.begin({ reason: 'rate_limited', retryAfter: 30 });
    clock.advance(-1);
    expect(waitOf()).toBeUndefined();
  });
});
