import type { Link } from '../../pages/form.ts';
import { fillIn } from '../../pages/texts.ts';
import type { Site } from '../slots.ts';
import { link } from './parts.ts';

/** Where the mail of well-known hosts is read in a browser. */
const apps = [
  { name: 'Gmail', href: 'https://mail.google.com/', domains: /^(?:gmail|googlemail)\.com$/ },
  { name: 'Outlook', href: 'https://outlook.live.com/mail/', domains: /^(?:outlook|hotmail|live|msn)\.com$/ },
  { name: 'iCloud Mail', href: 'https://www.icloud.com/mail', domains: /^(?:icloud|me|mac)\.com$/ },
  { name: 'Yahoo Mail', href: 'https://mail.yahoo.com/', domains: /^(?:yahoo|ymail)\.com$/ },
] as const;

/** A way to the mailbox by the address's domain alone; none where the host is not known. The address is not in the URL. */
export function openMail({ text }: Pick<Site, 'text'>, email: string): Link | undefined {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  const app = apps.find(({ domains }) => domains.test(domain));
  return app && link('mail', app.href, fillIn(text.openMail, { app: app.name }), 'quiet');
}
