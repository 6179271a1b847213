/**
 * The load generator: a separate process that keeps one request in flight per connection and counts
 * responses. It parses as little as possible, so that a run measures the server. It never sleeps:
 * waking a sleeping core costs the server up to 20 microseconds, and a slower server more.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';

export interface LoadJob {
  readonly port: number;
  readonly path: string;
  /** `Cookie` headers, used in rotation; empty for requests without one. */
  readonly cookies: readonly string[];
  readonly connections: number;
  readonly durationMs: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The share of its time that the generator spends on responses: near 1 it measures itself. */
  readonly ownLoad: number;
}

async function run(job: LoadJob): Promise<LoadResult> {
  const requests = requestsOf(job);
  const latencies: number[] = [];
  const start = performance.now();
  const end = start + job.durationMs;
  let sent = 0;

  let idleMs = 0;
  let isRunning = true;
  const keepAwake = (since: number, answersThen: number): void => {
    const now = performance.now();
    if (latencies.length === answersThen) idleMs += now - since;
    if (isRunning) setImmediate(keepAwake, now, latencies.length);
  };
  keepAwake(start, 0);

  const drive = (socket: Socket): Promise<void> =>
    new Promise((resolve, reject) => {
      let sentAt = 0;
      let missing = 0;
      const send = (): void => {
        sentAt = performance.now();
        if (sentAt >= end) {
          socket.end();
          resolve();
          return;
        }
        socket.write(requests[sent++ % requests.length] ?? '');
      };
      socket.on('data', (data) => {
        try {
          missing = missing === 0 ? bytesAfter(data) : missing - data.length;
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          socket.destroy();
          return;
        }
        if (missing > 0) return;
        latencies.push(performance.now() - sentAt);
        send();
      });
      socket.on('error', reject);
      socket.on('connect', send);
    });

  try {
    await Promise.all(
      Array.from({ length: job.connections }, () =>
        drive(connect({ port: job.port, host: '127.0.0.1', noDelay: true })),
      ),
    );
  } finally {
    isRunning = false;
  }
  const seconds = (performance.now() - start) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    requests: latencies.length,
    seconds,
    p50: latencies[Math.trunc(latencies.length * 0.5)] ?? 0,
    p99: latencies[Math.trunc(latencies.length * 0.99)] ?? 0,
    ownLoad: 1 - idleMs / 1000 / seconds,
  };
}

function requestsOf({ port, path, cookies }: LoadJob): Buffer[] {
  const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: application/json\r\n`;
  if (cookies.length === 0) return [Buffer.from(`${head}\r\n`)];
  return cookies.map((cookie) => Buffer.from(`${head}Cookie: ${cookie}\r\n\r\n`));
}

/** The remaining bytes of the response that begins here. */
function bytesAfter(data: Buffer): number {
  const bodyAt = data.indexOf('\r\n\r\n') + 4;
  const head = data.toString('latin1', 0, bodyAt);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (!head.startsWith('HTTP/1.1 200 ') || length === undefined) throw new Error(`Unexpected answer: ${head}`);
  return bodyAt + Number(length) - data.length;
}

process.on('message', (job: LoadJob) => {
  run(job).then(
    (result) => process.send?.(result),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
