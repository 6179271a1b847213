/** What no browser sends, as raw lines (latin1) for a request that is written by hand. */

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'BREW'];

export const targets = [
  '//',
  '/%',
  '/%00',
  '/%ff',
  '/%2e%2e/%2e%2e',
  '/\\evil',
  '*',
  'http://evil.test/login',
  'http://a:b@evil.test/dashboard',
  '/dashboard/../login',
];

/** Queries, paths and parameters for one auth route. */
export function targetsOf(route: string): string[] {
  return [
    `${route}?returnTo=//evil.test`,
    `${route}?returnTo=%00`,
    `${route}?returnTo=%ed%a0%80`,
    `${route}?returnTo[]=x&returnTo=y`,
    `${route}?__proto__=x&constructor=y&hasOwnProperty=z`,
    `${route}?code=%ff&state=%ff`,
    `${route}?code=a&code=b&state=c&state=d`,
    `${route}?code=%00&state=%00`,
    `${route}?error=%3Cscript%3E&error_description=%3Cscript%3Ealert(1)%3C/script%3E`,
    `${route}?error=constructor&error_code=__proto__`,
    `${route}?error=access_denied`,
    `${route}?state=`,
    `${route}?code=`,
    `${route}?message=%3Cscript%3E`,
    `${route}?provider=__proto__`,
    `${route}?provider=%00%ff<script>`,
    `${route}?provider=github&provider=google&scopes=%00`,
    `${route}?token_hash=%00&type=email`,
    `${route}?token_hash=abc&type=constructor`,
    `${route}?type=recovery`,
    `${route}?returnTo=/${'a'.repeat(6000)}`,
    `${route}?returnTo=/\u00e9`,
    `${route}?${'&'.repeat(3000)}`,
    `${route.toUpperCase()}/`,
    `${route}/%2e`,
    `${route};x=1`,
    `${route}#frag`,
    `${route}?%`,
  ];
}

/** @param name of the session cookie */
export function cookiesOf(name: string): string[] {
  const seal = 'Fe26.2*1*a*b*c*d*e*f~2';
  return [
    name,
    `${name}=`,
    '=',
    ';;;;',
    `${name}=Fe26.2`,
    `${name}=${seal}`,
    `${name}=Fe26.2*__proto__*a*b*c**e*f~2`,
    `${name}=Fe26.2*constructor*a*b*c**e*f~2`,
    `${name}=base64-`,
    `${name}=base64-bnVsbA`,
    `${name}=base64-W10`,
    `${name}=${base64({ access_token: 'a.b.c', refresh_token: 'x' })}`,
    `${name}=${base64({ access_token: ['a'], refresh_token: {} })}`,
    `${name}=${base64({ __proto__: { access_token: 'x' } })}`,
    `${name}=%7B%22access_token%22%3A1%7D`,
    `${name}=%`,
    `${name}=%E0%A4%A`,
    '__proto__=x; hasOwnProperty=1; constructor=2; toString=3',
    `${name}.0=a; ${name}.2=c`,
    `${name}.99999999999999999999=x`,
    `${name}=${'x'.repeat(12_000)}`,
    Array.from({ length: 400 }, (_, i) => `${name}.${i}=x`).join('; '),
    Array.from({ length: 300 }, () => `${name}=${seal}`).join('; '),
    Array.from({ length: 100 }, (_, i) => `${name}-flow-${i}=${seal}`).join('; '),
    Array.from({ length: 100 }, (_, i) => `${name}-flow-${i}abcdefgh-code-verifier=${i}`).join('; '),
    `${name}-flow-__proto__-code-verifier=x; ${name}-flow-__proto__-state=oauth:/`,
    `${name}-code-verifier=%00; ${name}-flow-abcdefgh-code-verifier=; ${name}-flow-abcdefgh-state=%ff`,
    `${name}="quoted"`,
    `${name}=\u00e9\u0080`,
    `${name}=j:{"a":1}`,
  ];
}

function base64(value: unknown): string {
  return `base64-${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
}

export const hosts = [
  '',
  'a b',
  'evil.test/path',
  'user@evil.test',
  'evil.test:99999',
  '[::1',
  '[::1]:80',
  '127.0.0.1:80:80',
  '\u00e9.test',
  'a'.repeat(300),
  '%00',
  '..',
  'x'.repeat(64) + '.test',
  '<script>',
];

export const headerLines = [
  'Accept: ',
  'Accept: ;;;',
  'Accept: application/json;q=x',
  `Accept: ${'a/b,'.repeat(2000)}`,
  'Sec-Fetch-Mode: \u0080',
  'Sec-Fetch-Site: constructor',
  'Sec-Purpose: prefetch;prerender',
  'Origin: null',
  'Origin: %',
  'Referer: %',
  'Accept-Language: \u00ff',
  'X-Forwarded-Host: a, b',
  'X-Forwarded-For: \u00ff, ::ffff:999.1.1.1, %',
  'Content-Type: \u0000',
];

type Body = readonly [headers: readonly string[], body: string];

const json = (body: string): Body => [['Content-Type: application/json', `Content-Length: ${body.length}`], body];
const form = (body: string): Body => [
  ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`],
  body,
];
const chunked = (type: string, body: string): Body => [[`Content-Type: ${type}`, 'Transfer-Encoding: chunked'], body];

/** Complete bodies that lie about their type or hold what no form holds. */
export const bodies: readonly Body[] = [
  json('{"a":'),
  json(''),
  json('null'),
  json('1'),
  json('"x"'),
  json('[]'),
  json('[{"email":"a@b.c","password":"x"}]'),
  json('{"__proto__":{"email":"a@b.c","password":"x"}}'),
  json('{"constructor":{"prototype":{"email":"a@b.c"}},"toString":"x","hasOwnProperty":1}'),
  json('{"email":["a@b.c"],"password":{"$ne":null}}'),
  json('{"email":"a@b.c","email":"c@d.e","password":"x","password":"y"}'),
  json('{"email":"a@b.c\\u0000","password":"\\u0000"}'),
  json('{"email":"a@b.c","password":"\\u0000","returnTo":"\\u0000"}'),
  json('{"email":"a\\ud800@b.c","password":"\\udfff","returnTo":"/\\ud800","captchaToken":"\\ud800"}'),
  json('{"email":"a@b.c","password":"\\ud800"}'),
  json('{"email":"\\r\\nBcc: x@y.z","password":"x"}'),
  json(`{"email":"${'a'.repeat(300)}@b.c","password":"${'x'.repeat(10_000)}"}`),
  json(`${'['.repeat(8_000)}${']'.repeat(8_000)}`),
  json(`{"a":${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}}`),
  json('{"email":"a@b.c","password":"x","returnTo":"//evil.test"}'),
  json('\u00ef\u00bb\u00bf{"email":"a@b.c","password":"x"}'),
  json('\u00ff\u00fe{\u0000'),
  json('x'.repeat(20_000)),
  form(''),
  form('email=a%40b.c&password=x&email=c%40d.e&password=y'),
  form('email[]=a%40b.c&password[x]=1&email.y=2'),
  form('__proto__=x&constructor=y&__proto__[email]=a%40b.c'),
  form('email=a%40b.c%00&password=%00&returnTo=%00'),
  form('email=%ff%fe&password=%ed%a0%80&returnTo=%'),
  form('a&'.repeat(5_000)),
  form(Array.from({ length: 1_000 }, (_, i) => `k${i}=v`).join('&')),
  form('token_hash=%00&type=email&email=%00'),
  form('token_hash=__proto__&type=constructor'),
  chunked('application/x-www-form-urlencoded', '3\r\na=b\r\n0\r\n\r\n'),
  chunked('application/json', 'zz\r\n{}\r\n0\r\n\r\n'),
  chunked('application/json', '2;x=y\r\n{}\r\n0\r\nTrailer: x\r\n\r\n'),
  [['Content-Type: text/plain', 'Content-Length: 3'], 'abc'],
  [['Content-Type: multipart/form-data; boundary=', 'Content-Length: 3'], 'abc'],
  [['Content-Type: application/json; charset=utf-99', 'Content-Length: 2'], '{}'],
  [['Content-Type: application/json; charset=utf-16', 'Content-Length: 2'], '{}'],
  [['Content-Type: ', 'Content-Length: 2'], '{}'],
  [['Content-Type: application/json', 'Content-Type: text/plain', 'Content-Length: 2'], '{}'],
  [['Content-Encoding: gzip', 'Content-Type: application/json', 'Content-Length: 4'], 'nope'],
  [['Content-Encoding: constructor', 'Content-Type: application/json', 'Content-Length: 2'], '{}'],
  [['Content-Type: application/json', 'Content-Length: -1'], '{}'],
  [['Content-Type: application/json', 'Content-Length: 2', 'Content-Length: 3'], '{}'],
  [['Content-Type: application/json', 'Content-Length: 2', 'Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'],
];

/** Bodies that announce more than they send. */
export const halfBodies: readonly Body[] = [
  [['Content-Type: application/json', 'Content-Length: 1000'], '{"email":'],
  [['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 1000'], 'email=a%40b.c&pass'],
  [['Content-Type: application/x-www-form-urlencoded', 'Transfer-Encoding: chunked'], 'ff\r\nemail=a'],
  [['Content-Type: application/json', 'Transfer-Encoding: chunked'], '2\r\n{}\r\n'],
  [['Content-Type: application/json', 'Content-Length: 1'], ''],
  chunked('application/json', 'fffffff\r\n{}'),
];
