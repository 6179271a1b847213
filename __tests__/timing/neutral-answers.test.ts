import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import type { Answer } from '../support/visitor.ts';

/** Odd, so that the median is a time that was measured. */
const tries = 11;
/** How much longer the project takes for some addresses. */
const extraMs = 300;
const unknown = 'ida@example.com';
const waiting = 'eva@example.com';

let app: BackendApp;
afterEach(() => app.close());

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN;

const shapeOf = ({ status, headers, text, setCookies }: Answer, email: string): unknown => [
  status,
  Object.keys(headers).toSorted(),
  text.replaceAll(email, '<email>').replaceAll(encodeURIComponent(email), '<email>'),
  setCookies.length,
];

/** The project takes its time for these addresses: to send a mail, or because it knows them. */
describe.each<[string, readonly string[]]>([
  ['for addresses that get a mail', [unknown, waiting]],
  ['for a known address', [ada.email]],
])('while the project takes longer %s', (_title, slow) => {
  it.each([
    ['/auth/signup', 450],
    ['/auth/resend', 450],
    ['/auth/forgot', 450],
    ['/auth/code', 450],
    ['/auth/signup', 150],
    ['/auth/resend', 150],
    ['/auth/forgot', 150],
    ['/auth/code', 150],
  ])('%s answers every address alike, and in the same time (answers take %d ms)', async (route, mailAnswerMs) => {
    app = await startBackendApp({
      options: { mailAnswerMs, throttle: false, signInMethods: ['password', 'code'] },
      standIn: { autoconfirm: false, mailFrequency: 0 },
    });
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
    expect([...shapes]).toHaveLength(1);
    // Answers of one round, so that a busy machine slows all of them down alike.
    const [first, ...others] = [...times.values()] as [number[], ...number[][]];
    for (const other of others) {
      const differences = other.map((time, round) => time - first[round]!);
      expect(Math.abs(median(differences))).toBeLessThan(extraMs / 3);
    }
  });
});
