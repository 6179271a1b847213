// Generating the RSA keys of the stand-ins took a sixth of `npm test`. All suites of a process use the same keys, in turn: no two
// stand-ins of a suite have the same one.
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { TestEnvironment } from 'jest-environment-node';

const pairs = [];

export default class extends TestEnvironment {
  constructor(...asked) {
    super(...asked);
    let taken = 0;
    this.global.takeRsaKeyPair = () => (pairs[taken++] ??= promisify(generateKeyPair)('rsa', { modulusLength: 2048 }));
  }
}
