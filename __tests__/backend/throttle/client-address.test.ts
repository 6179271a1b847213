import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { jest } from '@jest/globals';
import { createClientAddress } from '../../../lib/backend/throttle/client-address.ts';

let warnings: unknown[];
let events: unknown[];
beforeEach(() => {
  [warnings, events] = [[], []];
  jest.spyOn(process, 'emitWarning').mockImplementation((_warning, options) => void warnings.push(options));
});
afterEach(() => jest.restoreAllMocks());

const proxy = '10.0.0.1';
const visitor = '203.0.113.7';

/** A request from this peer. @param trusts Express' setting, where the application is one */
function requestFrom(peer: string | undefined, headers: Readonly<Record<string, string>> = {}, trusts?: unknown) {
  const req = new IncomingMessage(new Socket());
  Object.defineProperty(req.socket, 'remoteAddress', { value: peer });
  Object.assign(req.headers, headers);
  if (trusts === undefined) return req;
  const app = Object.assign(() => undefined, {
    get: (name: string) => (name === 'trust proxy fn' ? trusts : undefined),
  });
  return Object.assign(req, { app, ip: visitor });
}
const create = () => createClientAddress(undefined, (event) => events.push(event));

it('is the application’s own, where it has a function', () => {
  const own = () => '192.0.2.1';
  expect(createClientAddress(own, () => undefined)).toBe(own);
});

it.each([visitor, proxy, undefined])('is the peer’s without a proxy: %p', (peer) => {
  expect(create()(requestFrom(peer))).toBe(peer);
  expect([events, warnings]).toEqual([[], []]);
});

describe.each(['forwarded', 'x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip'])(
  'with %s',
  (name) => {
    const headers = { [name]: visitor };

    it('is Express’ where it trusts the proxy', () => {
      expect(create()(requestFrom(proxy, headers, (peer: string, hop: number) => peer === proxy && hop === 0))).toBe(
        visitor,
      );
      expect([events, warnings]).toEqual([[], []]);
    });

    it.each([undefined, () => false, () => 1, () => undefined, true])(
      'is none where the proxy is not trusted, which operators learn once: %p',
      (trusts) => {
        const addressOf = create();
        for (let count = 0; count < 3; count += 1) {
          expect(addressOf(requestFrom(proxy, headers, trusts))).toBeUndefined();
          expect(events).toMatchObject([
            { type: 'configuration_warning', message: expect.stringContaining('trust proxy') },
          ]);
          expect(warnings).toEqual([{ code: 'BACKEND_TRUST_PROXY' }]);
        }
      },
    );

    it('is the peer’s where that is in the public internet, as anyone can send the header, and no warning', () => {
      const addressOf = create();
      expect(addressOf(requestFrom(visitor, headers))).toBe(visitor);
      expect([events, warnings]).toEqual([[], []]);
      expect(addressOf(requestFrom(undefined, headers))).toBeUndefined();
      expect(warnings).toEqual([{ code: 'BACKEND_TRUST_PROXY' }]);
    });
  },
);
