import * as v from 'valibot';
import { backendSchema } from '../../../lib/backend/option-schema.ts';

const problem = (value: unknown): string | undefined =>
  v.safeParse(backendSchema.entries.throttle, value).issues?.[0].message;
const client = { eval: () => undefined, del: () => undefined, multi: () => undefined };

it.each([
  [undefined],
  [false],
  [{}],
  [{ redis: client }],
  [{ redis: client, keyPrefix: 'app:' }],
  [{ redis: undefined }],
])('may be %j', (value) => expect(problem(value)).toBeUndefined());

it.each([
  [{ redis: 'redis://127.0.0.1' }],
  [{ redis: null }],
  [{ redis: {} }],
  [{ redis: { del: client.del, multi: client.multi } }],
  [{ redis: { eval: client.eval, del: client.del } }],
  [{ redis: { ...client, eval: true } }],
  [{ redis: () => client }],
])('requires a connected client: %j', (value) => {
  expect(problem(value)).toBeDefined();
});

it.each([[true], [7], ['memory'], [null], [{ window: 60 }], [{ keyPrefix: '' }], [{ keyPrefix: 7 }]])(
  'is refused as %j',
  (value) => expect(problem(value)).toBeDefined(),
);
