/**
 * Scans the tour with wapiti (GPL-2.0, from PyPI: Debian's 3.0.4 fails on its own Python), once as a stranger and once as a signed-in
 * user, for about three minutes each. Fails if wapiti finds what is not listed below, or if an answer is a 5xx but 502 or 503.
 *
 *     python3 -m venv .cache/wapiti && .cache/wapiti/bin/pip install wapiti3==3.2.3
 *     WAPITI=.cache/wapiti/bin/wapiti npm run scan
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Finding {
  readonly method: string;
  readonly path: string;
  readonly info: string;
  readonly parameter: string | null;
}

interface Report {
  readonly vulnerabilities: Readonly<Record<string, readonly Finding[]>>;
  readonly anomalies: Readonly<Record<string, readonly Finding[]>>;
  readonly infos: { readonly crawled_pages_nbr?: number };
}

/** What wapiti reports although nothing is wrong, and why. */
const known: Readonly<Record<string, string>> = {
  'Secure Flag cookie': 'the tour is http on this machine',
  'Clickjacking Protection': 'the page has frame-ancestors in its CSP',
  'Internal Server Error': 'wapiti counts 502 and 503, too; other ones are counted here',
  'Resource consumption': 'an answer took longer than three seconds on a busy machine',
};

const { WAPITI = 'wapiti', SCAN_SECONDS = '60', SCAN_MODULE_SECONDS = '20' } = process.env;
const modules =
  'cookieflags,crlf,csp,exec,file,htaccess,http_headers,methods,permanentxss,redirect,sql,ssrf,timesql,xss,xxe';

const tour = spawn(process.execPath, ['show/server.ts'], { env: { PATH: process.env['PATH'], PORT: '0' } });
let printed = '';
tour.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
tour.stderr.on('data', (chunk: Buffer) => process.stderr.write(chunk));
while (!printed.includes('Ctrl+C')) await once(tour.stdout, 'data');
const tourUrl = new URL(/http:\/\/localhost:\d+/.exec(printed)?.[0] ?? '');
const [, email, password] = /Sign in as (\S+) with (.+), or/.exec(printed) ?? [];

/** Answers of the tour by their status, and the requests that it must not answer so. */
let statuses: Record<number, number> = {};
let failed: string[] = [];
const watcher = http.createServer((req, res) => {
  const { method = '', url = '', headers } = req;
  const asked = http.request({ port: tourUrl.port, host: '127.0.0.1', method, path: url, headers }, (answer) => {
    const { statusCode = 0 } = answer;
    statuses[statusCode] = (statuses[statusCode] ?? 0) + 1;
    if (statusCode >= 500 && statusCode !== 502 && statusCode !== 503) failed.push(`${statusCode} ${method} ${url}`);
    res.writeHead(statusCode, answer.headers);
    answer.pipe(res);
  });
  asked.on('error', () => res.destroy());
  res.on('close', () => asked.destroy());
  req.pipe(asked);
});
await once(watcher.listen(0, '127.0.0.1'), 'listening');
const origin = `http://localhost:${(watcher.address() as AddressInfo).port}`;

async function signIn(): Promise<string> {
  const answer = await fetch(`${origin}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  if (!answer.ok) throw new Error(`The sign-in was answered with ${answer.status}`);
  const pairs = answer.headers.getSetCookie().map((line) => line.split(';')[0]);
  return pairs.join('; ');
}

async function scan(headers: readonly string[]): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'scan-'));
  const file = join(folder, 'report.json');
  const bounds = ['--max-scan-time', SCAN_SECONDS, '--max-attack-time', SCAN_MODULE_SECONDS, '-t', '5', '-d', '4'];
  const places = ['--store-session', folder, '--store-config', folder, '--flush-session', '-f', 'json', '-o', file];
  // What ends the user's session; and the tour's lab, which switches its providers off.
  const leaving = ['/logout', '/auth/logout', '/account/sign-out', '/dashboard/sign-out', '/lab'].flatMap((path) => [
    '-x',
    `${origin}${path}*`,
  ]);
  const target = ['-u', `${origin}/`, '--scope', 'domain', '-m', modules, '--no-bugreport', '-v', '0'];
  const sent = headers.flatMap((text) => ['-H', text]);
  const wapiti = spawn(WAPITI, [...target, ...bounds, ...places, ...leaving, ...sent], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(wapiti, 'close')) as [number | null];
  if (code !== 0) throw new Error(`wapiti ended with ${code ?? 'a signal'}`);
  return JSON.parse(readFileSync(file, 'utf8')) as Report;
}

try {
  for (const who of ['a stranger', 'a user']) {
    [statuses, failed] = [{}, []];
    const { vulnerabilities, anomalies, infos } = await scan(who === 'a user' ? [`Cookie: ${await signIn()}`] : []);
    const all = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
    console.log(`As ${who}: ${infos.crawled_pages_nbr ?? 'some'} pages; answers: ${all.join(', ')}`);
    const found = failed.map((request) => `an answer of ${request}`);
    for (const [kind, findings] of Object.entries({ ...vulnerabilities, ...anomalies })) {
      if (findings.length > 0 && kind in known) console.log(`  ${findings.length} × ${kind}: ${known[kind] ?? ''}`);
      else
        found.push(
          ...findings.map(
            ({ method, path, parameter, info }) => `${kind}: ${method} ${path} ${parameter ?? ''}: ${info}`,
          ),
        );
    }
    for (const line of found) console.log(`  FOUND ${line}`);
    if (found.length > 0) process.exitCode = 1;
  }
} finally {
  tour.kill();
  watcher.close();
  watcher.closeAllConnections();
}
