import { once } from 'node:events';
import net from 'node:net';
import readline from 'node:readline';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Without the headers, decoded. */
  readonly body: string;
  /** Every `href` in the body. */
  readonly links: readonly string[];
}

export type MailSink = Awaited<ReturnType<typeof startMailSink>>;

/** A mail server (RFC 5321) that accepts everything and delivers nothing. */
export async function startMailSink(port: number) {
  const mails: Mail[] = [];
  const arrivals = new Set<() => void>();
  const server = net.createServer((socket) => {
    // A sender that disconnects does not fail the test.
    socket.on('error', () => socket.destroy());
    void converse(socket, (mail) => {
      mails.push(mail);
      arrivals.forEach((arrived) => arrived());
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');

  return {
    /** The oldest mail to an address that no test has taken yet. Waits for it for ten seconds. */
    async take(to: string): Promise<Mail> {
      const deadline = AbortSignal.timeout(10_000);
      for (;;) {
        const at = mails.findIndex((mail) => mail.to === to);
        if (at >= 0) return mails.splice(at, 1)[0]!;
        await new Promise<void>((resolve, reject) => {
          arrivals.add(resolve);
          deadline.addEventListener('abort', () => reject(new Error(`No mail to ${to}.`)), { once: true });
        });
      }
    },
    /** How many mails to an address no test has taken. */
    count: (to: string): number => mails.filter((mail) => mail.to === to).length,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

async function converse(socket: net.Socket, deliver: (mail: Mail) => void): Promise<void> {
  const say = (line: string): boolean => socket.write(`${line}\r\n`);
  let to = '';
  let data: string[] | undefined;
  say('220 sink');
  for await (const line of readline.createInterface({ input: socket, crlfDelay: Infinity })) {
    if (data !== undefined) {
      if (line !== '.') {
        data.push(line.replace(/^\./, ''));
        continue;
      }
      deliver(parseMail(to, data.join('\n')));
      data = undefined;
      say('250 taken');
    } else if (/^(EHLO|HELO)/i.test(line)) say('250 sink');
    else if (/^RCPT TO:/i.test(line)) {
      to = /<(.*)>/.exec(line)?.[1] ?? '';
      say('250 fine');
    } else if (/^DATA/i.test(line)) {
      data = [];
      say('354 go on');
    } else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
    else say('250 fine');
  }
}

function parseMail(to: string, source: string): Mail {
  const [head = '', ...rest] = source.split('\n\n');
  const isQuoted = /quoted-printable/i.test(source);
  const raw = rest.join('\n\n');
  const body = isQuoted
    ? raw.replace(/=\n/g, '').replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : raw;
  const links = [...body.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
  return { to, subject: /^Subject: (.*)$/m.exec(head)?.[1] ?? '', body, links };
}
