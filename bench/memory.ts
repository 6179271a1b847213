/**
 * The heap that sessions take in one process. One adapter with its defaults gets a request of each
 * of many users, first with a valid and then with an expired token, so that all of them are
 * refreshed. Garbage is collected before each measurement.
 *
 *     npm run bench:memory -- --sessions 20000 --kilobytes 8
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request as ask } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createB2bTestKit, createBackendTestKit } from '../lib/testing/index.ts';
import type { Weighed } from './memory-app.ts';

const { values } = parseArgs({
  options: { sessions: { type: 'string', default: '20000' }, kilobytes: { type: 'string', default: '8' } },
});
const sessions = Number(values.sessions);
const cookieBytes = Number(values.kilobytes) * 1024;
const steps = 4;
const atOnce = 20;

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

interface Subject {
  readonly fetch: Fetch;
  /** Sent as JSON, which leaves functions out. */
  readonly weighed: (provider: string) => Weighed;
  /** @param bytes the size of a claim that enlarges the token */
  readonly cookie: (person: number, isExpired: boolean, bytes: number) => Promise<string>;
}

function b2bSubject(): Subject {
  const kit = createB2bTestKit();
  return {
    fetch: kit.options.fetch as Fetch,
    weighed: (provider) => ({ provider, adapter: 'b2b', options: kit.options }),
    cookie: (person, expired, bytes) =>
      kit.cookie({
        user: { email: `${person}@example.com` },
        expired,
        claims: { permissions: filling(person, bytes) },
      }),
  };
}

function backendSubject(): Subject {
  const kit = createBackendTestKit();
  return {
    fetch: kit.options.fetch as Fetch,
    weighed: (provider) => ({ provider, adapter: 'backend', options: kit.options }),
    cookie: (person, expired, bytes) =>
      kit.cookie({
        user: { email: `${person}@example.com`, userMetadata: { groups: filling(person, bytes) } },
        expired,
      }),
  };
}

/** Different for each user, because V8 may share equal strings. */
function filling(person: number, bytes: number): string[] {
  const name = `group-${person}-`.padEnd(32, 'x');
  return Array.from({ length: Math.ceil(bytes / 40) }, (_, index) => `${name}${index}`);
}

/** The claim size for a `Cookie` header of the requested size. */
async function fillingFor({ cookie }: Subject): Promise<number> {
  let [least, most] = [0, cookieBytes];
  while (most - least > 40) {
    const middle = (least + most) / 2;
    if ((await cookie(0, false, middle)).length > cookieBytes) most = middle;
    else least = middle;
  }
  return least;
}

async function weigh(subject: Subject): Promise<void> {
  const provider = createServer((req, res) => {
    void answer(subject, req.headers, text(req)).then(({ status, body }) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(body),
    );
  });
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  const weighed = subject.weighed(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`);
  const child = fork(new URL('memory-app.ts', import.meta.url), [JSON.stringify(weighed)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [origin] = (await once(child, 'message')) as [string];
  const heap = async (): Promise<number> => {
    child.send('heap');
    const [bytes] = (await once(child, 'message')) as [number];
    return bytes / 1e6;
  };

  const bytes = await fillingFor(subject);
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  // Another user first, so that code and keys are loaded.
  await visit(agent, origin, await subject.cookie(sessions, false, bytes));
  const empty = await heap();
  console.log(`${weighed.adapter}: ${empty.toFixed(1)} MB before, cookies of ${cookieBytes / 1024} KB`);
  for (const isExpired of [false, true]) {
    for (let step = 0; step < steps; step += 1) {
      const first = (sessions / steps) * step;
      await visitAll(sessions / steps, async (index) =>
        visit(agent, origin, await subject.cookie(first + index, isExpired, bytes)),
      );
      const done = `${first + sessions / steps} ${isExpired ? 'refreshed' : 'verified'}`;
      console.log(`  ${done.padStart(16)}: +${((await heap()) - empty).toFixed(1)} MB`);
    }
  }
  agent.destroy();
  child.disconnect();
  provider.close();
  provider.closeAllConnections();
}

async function answer(
  { fetch }: Subject,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Promise<string>,
): Promise<{ readonly status: number; readonly body: string }> {
  const method = String(headers['x-method']);
  const sent = await body;
  const init = {
    method,
    headers: { 'content-type': String(headers['x-type']) },
    ...(method === 'GET' ? {} : { body: sent }),
  };
  const response = await fetch(String(headers['x-url']), init);
  return { status: response.status, body: await response.text() };
}

async function visitAll(count: number, visitOne: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await visitOne(index);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** @param tries on a busy machine a request may exceed the adapter's timeout */
async function visit(agent: Agent, origin: string, cookie: string, tries = 20): Promise<void> {
  const request = ask(`${origin}/me`, { agent, headers: { cookie, accept: 'application/json' } });
  const answered = once(request.end(), 'response');
  const [response] = (await answered) as [IncomingMessage];
  const body = await text(response);
  if (response.statusCode === 503 && tries > 1) {
    await wait(1_000);
    return visit(agent, origin, cookie, tries - 1);
  }
  if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${body}`);
}

for (const subject of [b2bSubject(), backendSubject()]) await weigh(subject);
