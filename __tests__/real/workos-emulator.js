// Starts WorkOS' own emulator for `npm run test:real`, with short-lived tokens and a user who is impersonated.
// Usage: node __tests__/real/workos-emulator.js <folder of a built workos/emulate> [port, 4100]
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Seconds that an access token lives; the emulator itself makes it an hour. */
const tokenLifetime = 5;

const [folder, port = '4100'] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder of a built workos/emulate');
const load = (path) => import(pathToFileURL(resolve(folder, path)).href);
const { createEmulator } = await load('dist/index.js');
const { JWTManager } = await load('dist/core/index.js');

const { sign } = JWTManager.prototype;
JWTManager.prototype.sign = function signShort(payload, options) {
  return sign.call(this, payload, { ...options, expiresIn: tokenLifetime });
};

const { url } = await createEmulator({
  port: Number(port),
  seed: {
    users: [
      {
        email: 'impersonated@example.com',
        email_verified: true,
        impersonator: { email: 'staff@example.com', reason: 'support' },
      },
    ],
    permissions: [{ slug: 'reports:read', name: 'Read reports' }],
    roles: [{ slug: 'reader', name: 'Reader', permissions: ['reports:read'] }],
  },
});
console.log(`WORKOS_EMULATOR_URL=${url}`);
