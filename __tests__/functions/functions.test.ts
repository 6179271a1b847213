import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { codeBlocks } from '../support/markdown.ts';

interface FunctionAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies?: readonly string[];
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
}
type FunctionHandler = (event: object, context: object) => Promise<FunctionAnswer>;

/** The recipe "Functions", as it stands, on each version of the library. */
const directory = join(process.cwd(), '__tests__', 'functions', 'reports');
const path = 'docs/recipes/hosting.md';
const recipe = codeBlocks({ path, text: readFileSync(path, 'utf8') }).find(({ code }) =>
  code.includes('serverless(app)'),
);
const ada = { email: 'ada@example.com', password: 'correct horse battery' };

const environment = { ...process.env };
let supabase: SupabaseStandIn;
beforeAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  supabase = await startSupabaseStandIn({ autoconfirm: true });
  supabase.addUser(ada);
  Object.assign(process.env, {
    AWS_LAMBDA_FUNCTION_NAME: 'app',
    BAAS_URL: supabase.url,
    BAAS_PUBLISHABLE_KEY: supabase.publishableKey,
  });
});
afterAll(async () => {
  process.env = environment;
  await supabase.close();
});

describe.each([
  ['3', 'serverless-http-3'],
  ['4', 'serverless-http'],
])('the recipe with serverless-http %s', (version, library) => {
  let handler: FunctionHandler;
  beforeAll(async () => {
    const file = join(directory, `lambda-${version}.ts`);
    writeFileSync(file, (recipe?.code ?? '').replace("'serverless-http'", `'${library}'`));
    ({ handler } = (await import(pathToFileURL(file).href)) as { readonly handler: FunctionHandler });
  });

  /** An event of API Gateway in the format 2.0, with the cookies of a browser. */
  async function ask(
    method: string,
    url: string,
    { type = '', body = '', cookies = [], isBase64Encoded = false }: Partial<Request> = {},
  ): Promise<FunctionAnswer> {
    return handler(
      {
        version: '2.0',
        rawPath: url,
        rawQueryString: '',
        headers: {
          host: 'app.example.com',
          accept: type.includes('form') ? 'text/html' : 'application/json',
          ...(type === '' ? {} : { 'content-type': type }),
        },
        cookies,
        requestContext: { http: { method, sourceIp: '192.0.2.1' } },
        body,
        isBase64Encoded,
      },
      {},
    );
  }
  interface Request {
    readonly type: string;
    readonly body: string;
    readonly cookies: readonly string[];
    readonly isBase64Encoded: boolean;
  }

  const cookiesOf = ({ cookies, multiValueHeaders }: FunctionAnswer): string[] =>
    [...(cookies ?? multiValueHeaders?.['set-cookie'] ?? [])].map((line) => line.split(';', 1)[0] ?? '');

  const form = 'application/x-www-form-urlencoded';
  it.each<[string, Partial<Request>, number]>([
    ['JSON', { type: 'application/json', body: JSON.stringify(ada) }, 200],
    ['a form', { type: form, body: new URLSearchParams(ada).toString() }, 303],
    [
      'a form in base64',
      { type: form, body: Buffer.from(new URLSearchParams(ada).toString()).toString('base64'), isBase64Encoded: true },
      303,
    ],
  ])('signs in by %s, and the session is good in the next call', async (_what, request, status) => {
    const answer = await ask('POST', '/auth/login', request);
    expect([answer.statusCode, answer.body.includes('missing')]).toEqual([status, false]);
    const cookies = cookiesOf(answer).filter((cookie) => cookie.includes('auth-token'));
    expect(cookies.length).toBeGreaterThan(0);
    const me = await ask('GET', '/me', { cookies });
    expect([me.statusCode, JSON.parse(me.body)]).toEqual([200, { email: ada.email }]);
    expect((await ask('GET', '/me')).statusCode).toBe(401);
  });

  it.each([
    ['application/json', '{"email":', 400],
    ['application/json', `{"email":"${'x'.repeat(20_000)}"}`, 413],
    [form, `email=${'x'.repeat(20_000)}`, 413],
    ['text/plain', 'email=ada', 415],
  ])('refuses what is no form: %s %s', async (type, body, status) => {
    expect((await ask('POST', '/auth/login', { type, body })).statusCode).toBe(status);
  });

  it('signs out, and the provider has been asked when the call ends', async () => {
    const signedIn = await ask('POST', '/auth/login', { type: 'application/json', body: JSON.stringify(ada) });
    const cookies = cookiesOf(signedIn);
    const { statusCode } = await ask('POST', '/auth/logout', { type: 'application/json', body: '{}', cookies });
    expect(statusCode).toBe(200);
    expect((await ask('GET', '/me', { cookies })).statusCode).toBe(401);
  });
});
