import type { EmailDriver } from '@supabase/lite';

/** A mail that a real project would have sent. */
export interface Mail {
  readonly id: number;
  readonly to: string;
  readonly subject: string;
  /** The mail as plain text, a paragraph per line. */
  readonly text: string;
  /** Where the mail's button leads. */
  readonly link: string | undefined;
  readonly sentAt: Date;
}

export interface Outbox extends EmailDriver {
  /** Newest first. */
  list(): readonly Mail[];
  clear(): void;
}

/** An `EmailDriver` that keeps the last `limit` mails for a page to show, and delivers none. */
export function createOutbox(limit = 50): Outbox {
  let mails: Mail[] = [];
  let lastId = 0;
  return {
    list: () => mails,
    clear: () => (mails = []),
    send({ to, subject, html = '' }) {
      // The driver's own `text` links to a route of the backend under the application's origin, which does not serve it.
      lastId += 1;
      const mail = { id: lastId, to, subject, text: textOf(html), link: firstLink(html), sentAt: new Date() };
      mails = [mail, ...mails].slice(0, limit);
      return Promise.resolve();
    },
  };
}

function firstLink(html: string): string | undefined {
  return /href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
}

function textOf(html: string): string {
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/\n+/g, '\n')
    .trim();
}
