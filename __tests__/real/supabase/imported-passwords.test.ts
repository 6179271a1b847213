import { execFile } from 'node:child_process';
import crypto, { createCipheriv, createHash, randomBytes, randomUUID, scryptSync } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { codeBlocks } from '../../support/markdown.ts';
import { useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { newUser } from '../support/project.ts';

/** Of Node 24; the types are those of Node 22. */
const { argon2Sync } = crypto as unknown as {
  readonly argon2Sync: (algorithm: string, parameters: object) => Buffer;
};

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

/** RFC 9106, in the form of PHC strings. */
function argon2(algorithm: 'argon2id' | 'argon2i' | 'argon2d', password: string): string {
  const nonce = randomBytes(16);
  const [memory, passes, parallelism] = [19_456, 2, 1];
  const hash = argon2Sync(algorithm, { message: password, nonce, memory, passes, parallelism, tagLength: 32 });
  return `$${algorithm}$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(hash)}`;
}

/** https://firebaseopensource.com/projects/firebase/scrypt: the project's signer key, encrypted with the password's key. */
function firebaseScrypt(password: string): string {
  const [signerKey, separator, salt] = [randomBytes(64), Buffer.from([0x07]), randomBytes(10)];
  const [n, r, p] = [14, 8, 1];
  const options = { N: 2 ** n, r, p, maxmem: 64 * 1024 * 1024 };
  const key = scryptSync(password, Buffer.concat([salt, separator]), 32, options);
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  const hash = Buffer.concat([cipher.update(signerKey), cipher.final()]);
  const [ss, sk, s, h] = [separator, signerKey, salt, hash].map((bytes) => bytes.toString('base64'));
  return `$fbscrypt$v=1,n=${n},r=${r},p=${p},ss=${ss},sk=${sk}$${s}$${h}`;
}

// bcrypt is a published test vector: Node has no such function.
const bcrypt = { password: 'U*U', hash: '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW' };
const password = 'correct horse battery staple';

describeOwnGoTrue('docs/moving/own-passwords.md: a password whose hash was imported', () => {
  const real = useRealApp({ gotrue: { keys: [createSigningKey('only')] } });
  const create = (email: string, hash: string): Promise<unknown> =>
    real.project.admin('/admin/users', 'POST', { email, password_hash: hash, email_confirm: true });

  it.each([
    ['bcrypt', bcrypt.password, bcrypt.hash],
    ['Argon2id', password, argon2('argon2id', password)],
    ['Argon2i', password, argon2('argon2i', password)],
    ['Firebase’s scrypt', password, firebaseScrypt(password)],
  ])('by %s signs in here, and a wrong one does not', async (_name, known, hash) => {
    const { email } = newUser();
    await create(email, hash);
    const visitor = real.app.visitor();
    expect((await visitor.postJson('/auth/login', { email, password: `${known}!` })).status).toBe(401);
    expect((await visitor.postJson('/auth/login', { email, password: known })).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);
  });

  it.each([
    ['Argon2d', argon2('argon2d', password)],
    ['scrypt of node:crypto', `scrypt$${scryptSync(password, 'salt', 32).toString('hex')}`],
    ['PBKDF2 of Django', 'pbkdf2_sha256$600000$salt$aGFzaA=='],
    ['salted SHA', '{SSHA}aGFzaA=='],
    ['MD5', createHash('md5').update(password).digest('hex')],
  ])('by %s is refused at the import', async (_name, hash) => {
    await expect(create(newUser().email, hash)).rejects.toThrow(/ 4\d\d | 500 /);
  });

  /** Runs the page's script, as the project's owner would, and has it import a row. @returns what `importUser` does */
  async function runScript(idType: string, row: object): Promise<unknown> {
    const path = 'docs/moving/own-passwords.md';
    const scripts = codeBlocks({ path, text: readFileSync(path, 'utf8') }).filter(
      ({ code }) => code.includes(`readonly id: ${idType};`) && code.includes('@supabase/supabase-js'),
    );
    expect(scripts).toHaveLength(1);
    // Below the package, where the SDK is found.
    const folder = join(process.cwd(), 'reports', `import-${randomUUID()}`);
    mkdirSync(folder, { recursive: true });
    try {
      const call = `console.log(JSON.stringify((await importUser(${JSON.stringify(row)})) ?? null));`;
      writeFileSync(join(folder, 'import.ts'), `${scripts[0]?.code}\n${call}\n`);
      const { url, secretKey } = real.project;
      const env = { PATH: process.env['PATH'], BAAS_URL: url, SUPABASE_SECRET_KEY: secretKey };
      const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'import.ts')], { env });
      return JSON.parse(stdout);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it.each([
    ['string', 'keeps an id that is a UUID', randomUUID()],
    ['number', 'returns the new id for a number', 42],
  ])('by the script for ids of type %s %s', async (type, _rule, id) => {
    const { email } = newUser();
    const row = { id, email, passwordHash: argon2('argon2id', password), isVerified: true };
    const returned = await runScript(type, row);
    const visitor = real.app.visitor();
    expect((await visitor.postJson('/auth/login', { email, password })).status).toBe(200);
    const { user } = (await visitor.getJson('/auth/session')).json;
    expect([returned, user.email]).toEqual([type === 'string' ? null : user.id, email]);
    if (type === 'string') expect(user.id).toBe(id);
  });
});
