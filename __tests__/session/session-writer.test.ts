import { cookieBytes } from '../../lib/tools/cookie-chunks.ts';
import { createSessionWriter } from '../../lib/session/source.ts';
import type { SessionSource } from '../../lib/session/source.ts';
import { createClock } from '../support/clock.ts';
import { createMemoryProvider, createMemorySource } from '../support/memory-sessions.ts';
import type { MemoryContent } from '../support/memory-sessions.ts';

const [warned, most] = [8 * 1024, 12 * 1024];
const noCookies = new Map<string, readonly string[]>();
const clock = createClock();
const content = createMemoryProvider(clock).issue('ada');
const slimmed: MemoryContent = { ...content, refreshToken: 'slim' };

/** Cookies of these bytes, whole and slimmed. */
function setUp(whole: number, slim: number) {
  const events: unknown[] = [];
  let slimmings = 0;
  const memory = createMemorySource(createMemoryProvider(clock), clock);
  const bytesOf = (each: MemoryContent): number => (each === slimmed ? slim : whole);
  const source: SessionSource<MemoryContent> = {
    ...memory,
    slim() {
      slimmings += 1;
      return slimmed;
    },
    cookieBytes: bytesOf,
    write: (each) => {
      const name = each === slimmed ? 's' : 'w';
      return Promise.resolve([{ name, value: 'x'.repeat(bytesOf(each) - cookieBytes([{ name, value: '' }])) }]);
    },
    clear: () => [{ name: 'w', value: undefined }],
  };
  return { events, slimmings: () => slimmings, writer: createSessionWriter(source, (event) => events.push(event)) };
}

const large = (bytes: number) => [{ type: 'session_large', bytes }];
const tooLarge = (bytes: number, userId?: string) => [
  { type: 'session_too_large', bytes, ...(userId !== undefined && { userId }), sessionId: content.sessionId },
];

it.each([
  [warned, warned, true, []],
  [warned + 1, 1, true, large(warned + 1)],
  [most, most, true, large(most)],
  [most + 1, most, true, large(most + 1)],
  [most + 2, most + 1, false, tooLarge(most + 1, 'ada')],
])('tokens of %d bytes, %d without what can go, fit: %s', async (whole, slim, fits, expected) => {
  const { events, slimmings, writer } = setUp(whole, slim);
  expect(await writer.fits(content, 'ada')).toBe(fits);
  expect(events).toEqual(expected);
  expect(slimmings()).toBe(whole > most ? 1 : 0);
});

it('names no user that is not known', async () => {
  const { events, writer } = setUp(most + 1, most + 1);
  await writer.fits(content, undefined);
  expect(events).toEqual(tooLarge(most + 1));
});

it.each([
  [most, most, 'w', true],
  [most + 1, most, 's', true],
  [most + 1, most + 1, 'w', false],
])(
  'writes cookies of %d bytes, %d without what can go, as %s (with a value: %s)',
  async (whole, slim, name, hasValue) => {
    const writes = await setUp(whole, slim).writer.write(content, noCookies);
    expect(writes.map((each) => [each.name, each.value !== undefined])).toEqual([[name, hasValue]]);
  },
);
