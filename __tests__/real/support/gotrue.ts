import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import type { JsonWebKey } from 'node:crypto';
import { once } from 'node:events';
import { freePortsInARow } from '../../support/servers.ts';
import { readSettings } from './settings.ts';

/** What differs from `gotrue.env`, and the keys: without any, GoTrue signs with its shared secret (HS256). */
export interface GoTrueSetup {
  readonly settings?: Readonly<Record<string, string>>;
  readonly keys?: readonly SigningKey[];
}

export interface SigningKey extends JsonWebKey {
  readonly kid: string;
  readonly key_ops: readonly ('sign' | 'verify')[];
}

/** A GoTrue process of the test's own. */
export interface GoTrue {
  readonly url: string;
  close(): Promise<void>;
}

/** A private key as `GOTRUE_JWT_KEYS` takes it; the one key that may sign signs. */
export function createSigningKey(kid: string): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig', key_ops: ['sign', 'verify'] };
}

/** The same key, published and no longer used. */
export function retired(key: SigningKey): SigningKey {
  return { ...key, key_ops: ['verify'] };
}

/** Starts `GOTRUE_BIN` on a free port, with the database of `GOTRUE_DATABASE_URL`. */
export async function startGoTrue({ settings, keys = [] }: GoTrueSetup = {}): Promise<GoTrue> {
  const { GOTRUE_BIN = '', GOTRUE_DATABASE_URL = '' } = process.env;
  const port = await freePortsInARow(1);
  const child = spawn(GOTRUE_BIN, ['serve'], {
    stdio: process.env['GOTRUE_LOG'] === undefined ? 'ignore' : 'inherit',
    env: {
      ...readSettings(),
      DATABASE_URL: GOTRUE_DATABASE_URL,
      PORT: String(port),
      ...(keys.length === 0 ? {} : { GOTRUE_JWT_KEYS: JSON.stringify(keys) }),
      ...settings,
    },
  });
  const url = `http://127.0.0.1:${port}`;
  await isUp(url);
  return {
    url,
    async close() {
      if (child.exitCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

async function isUp(url: string): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('GoTrue does not start: set GOTRUE_LOG=1 to see what it says.');
}

/** Settings for codes by text message; this number gets the code 123456, and no message is sent. @param phone digits alone */
export function phoneProvider(phone: string): Readonly<Record<string, string>> {
  return {
    GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
    GOTRUE_SMS_AUTOCONFIRM: 'false',
    GOTRUE_SMS_PROVIDER: 'twilio',
    GOTRUE_SMS_TWILIO_ACCOUNT_SID: 'x',
    GOTRUE_SMS_TWILIO_AUTH_TOKEN: 'y',
    GOTRUE_SMS_TWILIO_MESSAGE_SERVICE_SID: 'z',
    GOTRUE_SMS_TEST_OTP: `${phone}:123456`,
    GOTRUE_SMS_TEST_OTP_VALID_UNTIL: '2099-01-01T00:00:00Z',
  };
}
