import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import type { Answer } from '../support/visitor.ts';

/** Odd, so that the median is a time that was measured. */
const tries = 11;
/** How much longer the project takes for some addresses. */
const extraMs = 300;
const unknown = 'ida@example.com';
const waiting = 'eva@example.com';

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN;

const shapeOf = ({ status, headers, text, setCookies }: Answer, email: string): unknown => [
  status,
  Object.keys(headers).toSorted(),
  text.replaceAll(email, '<email>').replaceAll(encodeURIComponent(email), '<email>'),
  setCookies.length,
];

interface Measured {
  /** How the answers look. */
  readonly shapes: ReadonlySet<string>;
  /** The medians of how much longer the other addresses take than the first, in milliseconds. */
  readonly differences: readonly number[];
}

/** Asks a route for each address in turn. */
async function measure(app: BackendApp, route: string, slow: readonly string[]): Promise<Measured> {
  app.supabase.addUser({ email: waiting, password: 'long enough', confirmed: false });
  const send = (email: string): Promise<Answer> => postForm(app.visitor(), route, { email, password: 'long enough' });
  // A process learns from its first sign-up that this project sends mails, and loads what it needs.
  await postForm(app.visitor(), '/auth/signup', { email: 'first@example.com', password: 'long enough' });
  app.supabase.switches.extraMs = (email) => (slow.includes(email) ? extraMs : 0);

  const times = new Map<string, number[]>([unknown, waiting, ada.email].map((email) => [email, []]));
  const shapes = new Set<string>();
  for (let round = 0; round < tries; round += 1) {
    for (const [email, measured] of times) {
      const startedAt = performance.now();
      const answer = await send(email);
      measured.push(performance.now() - startedAt);
      shapes.add(JSON.stringify(shapeOf(answer, email)));
    }
  }
  // Answers of one round, so that a busy machine slows all of them down alike.
  const [first, ...others] = [...times.values()] as [number[], ...number[][]];
  return { shapes, differences: others.map((other) => median(other.map((time, round) => time - first[round]!))) };
}

async function measureApart(route: string, mailAnswerMs: number, slow: readonly string[]): Promise<Measured> {
  const app = await startBackendApp({
    options: { mailAnswerMs, throttle: false, signInMethods: ['password', 'code'] },
    standIn: { autoconfirm: false, mailFrequency: 0 },
  });
  try {
    return await measure(app, route, slow);
  } finally {
    await app.close();
  }
}

const routes = ['/auth/signup', '/auth/resend', '/auth/forgot', '/auth/code'];
const cases = [450, 150].flatMap((mailAnswerMs) => routes.map((route) => [route, mailAnswerMs] as const));

/** The project takes its time for these addresses: to send a mail, or because it knows them. */
describe.each<[string, readonly string[]]>([
  ['for addresses that get a mail', [unknown, waiting]],
  ['for a known address', [ada.email]],
])('while the project takes longer %s', (_title, slow) => {
  const measured = new Map<string, Measured>();
  // The cases wait most of their time, so they wait side by side, each with servers of its own.
  beforeAll(async () => {
    await Promise.all(
      cases.map(async ([route, ms]) => measured.set(`${route} ${ms}`, await measureApart(route, ms, slow))),
    );
  }, 120_000);

  it.each(cases)('%s answers every address alike, and in the same time (answers take %d ms)', (route, ms) => {
    const { shapes, differences } = measured.get(`${route} ${ms}`)!;
    expect([...shapes]).toHaveLength(1);
    expect(differences).toHaveLength(2);
    for (const difference of differences) expect(Math.abs(difference)).toBeLessThan(extraMs / 3);
  });
});
