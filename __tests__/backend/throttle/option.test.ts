import { backendAuth } from '../../../lib/backend/index.ts';
import { createBackendTestKit } from '../../../lib/testing/index.ts';

const { options } = createBackendTestKit();
const adapterWith = (throttle: unknown) => () => backendAuth({ ...options, throttle } as object);
const client = { eval: () => undefined, del: () => undefined, multi: () => undefined };

it.each([
  [undefined],
  [false],
  [{}],
  [{ redis: client }],
  [{ redis: client, keyPrefix: 'app:' }],
  [{ redis: undefined }],
])('may be %j', (value) => expect(adapterWith(value)).not.toThrow());

it.each([
  [{ redis: 'redis://127.0.0.1' }],
  [{ redis: null }],
  [{ redis: {} }],
  [{ redis: { del: client.del, multi: client.multi } }],
  [{ redis: { eval: client.eval, del: client.del } }],
  [{ redis: { ...client, eval: true } }],
  [{ redis: () => client }],
])('requires a connected client: %j', (value) => {
  expect(adapterWith(value)).toThrow(/throttle/);
});

it.each([[true], [7], ['memory'], [null], [{ window: 60 }], [{ keyPrefix: '' }], [{ keyPrefix: 7 }]])(
  'is refused as %j',
  (value) => expect(adapterWith(value)).toThrow(/throttle/),
);
