import net from 'node:net';

export interface RawAnswer {
  /** 0 when the connection ended without an answer. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/**
 * Writes these bytes as they are (latin1) and reads until the answer is complete or the server closes. No client library that would repair
 * what a hostile visitor sends.
 *
 * @param limitMs how long the server may take before the test says it hangs
 */
export function sendRaw(port: number, bytes: string | Buffer, limitMs = 8_000): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`No complete answer within ${limitMs} ms to: ${String(bytes).slice(0, 300)}`));
    }, limitMs);
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const text = Buffer.concat(chunks).toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const head = end === -1 ? text : text.slice(0, end);
      resolve({
        status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0),
        head,
        body: end === -1 ? '' : text.slice(end + 4),
      });
    };
    socket.on('connect', () => socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      if (isComplete(Buffer.concat(chunks).toString('latin1'))) finish();
    });
    socket.on('error', finish);
    socket.on('close', finish);
  });
}

function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const head = text.slice(0, end);
  if (/^HTTP\/1\.1 (?:1\d\d|204|304)/.test(head)) return true;
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) return text.length - end - 4 >= Number(length);
  return /\r\ntransfer-encoding: chunked/i.test(head) ? text.endsWith('0\r\n\r\n') : false;
}

/** How much of an endless body a server took before it answered. */
export interface EndlessAnswer extends RawAnswer {
  readonly bytesTaken: number;
}

/**
 * Sends a head and then `chunk` again and again, until the server answers or hangs up.
 *
 * @param maxBytes how much the server may take before the test says that it takes everything
 */
export function sendEndless(
  port: number,
  head: string,
  chunk: string,
  maxBytes = 64 * 1024 * 1024,
): Promise<EndlessAnswer> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    const finish = (): void => {
      socket.destroy();
      const [start = '', ...rest] = text.split('\r\n\r\n');
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(start)?.[1] ?? 0);
      resolve({ status, head: start, body: rest.join('\r\n\r\n'), bytesTaken: socket.bytesWritten });
    };
    const pour = (): void => {
      if (socket.destroyed) return;
      if (socket.bytesWritten > maxBytes) {
        socket.destroy();
        reject(new Error(`${socket.bytesWritten} bytes were taken without an answer`));
      } else if (socket.write(chunk, 'latin1')) setImmediate(pour);
      else socket.once('drain', pour);
    };
    socket.on('connect', () => {
      socket.write(head, 'latin1');
      pour();
    });
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (isComplete(text)) finish();
    });
    socket.on('error', finish);
    socket.on('close', finish);
  });
}

/** A request as raw text; `head` may hold anything. */
export function rawRequest(method: string, target: string, headers: readonly string[] = [], body = ''): string {
  const hasHost = headers.some((line) => /^host\s*:/i.test(line));
  return [`${method} ${target} HTTP/1.1`, ...(hasHost ? [] : ['Host: app.test']), ...headers, '', body].join('\r\n');
}
