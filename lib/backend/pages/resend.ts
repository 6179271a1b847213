import type { Text } from '../../tools/html.ts';
import type { Fields } from '../../http/body.ts';
import type { Form, Wait } from '../../pages/form.ts';
import { duration, fillIn } from '../../pages/texts.ts';
import { openingSeconds } from '../../pages/style.ts';
import type { PageRequest, Site } from '../slots.ts';

/** When another email or text message can be sent. */
export interface Resend {
  /** From now, rounded up. */
  readonly seconds: number;
  /** Milliseconds since the epoch. */
  readonly opensAt: number;
}

/** @param now milliseconds since the epoch */
export function resendAfter(seconds: number, now: number): Resend {
  return { seconds: Math.ceil(seconds), opensAt: now + seconds * 1000 };
}

/** The longest wait that a form brings back, in seconds: the backend sends one email or text message per minute. */
const longest = 60;

/** What a form of this page told; a visitor who changes it sees another time, and the server still decides. */
export function resendOf(fields: Fields, now: number): Resend | undefined {
  return waitIn(fields, 'resendAt', { now, longest });
}

/** The same of a field, for up to so many seconds. */
export function waitIn(
  fields: Fields,
  name: string,
  { now, longest }: { readonly now: number; readonly longest: number },
): Resend | undefined {
  const told = fields.get(name) ?? '';
  const opensAt = /^\d{1,15}$/.test(told) ? Number(told) : now;
  const seconds = Math.ceil((opensAt - now) / 1000);
  return seconds > 0 && seconds <= longest ? { seconds, opensAt } : undefined;
}

/** The hidden field by which a form brings the time back. */
export function openingOf(resend: Resend | undefined): { readonly resendAt?: string } {
  return resend === undefined ? {} : { resendAt: String(resend.opensAt) };
}

/** The first time of the stylesheet that is not too early. */
function openingOfStyle(resend: Resend): number | undefined {
  return openingSeconds.find((seconds) => seconds >= resend.seconds);
}

interface ResendParts {
  readonly action: string;
  /** The name of the way, where the page is for something else. */
  readonly name?: string;
  readonly hidden: Readonly<Record<string, string | undefined>>;
  readonly label: Text;
  readonly resend: Resend | undefined;
}

/**
 * A button that sends another one, as soon as one can be sent. Until then the time stands in its place: the stylesheet swaps them after up to
 * a minute, without a script; after a longer time the visitor comes back.
 */
export function resendForm({ text }: Pick<Site, 'text'>, request: PageRequest, parts: ResendParts): Form {
  const { label, resend, ...form } = parts;
  const waitFor = (resend: Resend): Wait => {
    const time = duration(resend.seconds, request.brand.lang);
    return { words: fillIn(text.codeResendIn, { time }), opensAfter: openingOfStyle(resend) };
  };
  return { part: 'form', ...form, buttons: [{ label, look: 'quiet' }], wait: resend && waitFor(resend) };
}

/** The page anew, once the time that it names is over: a form, as the address is in no URL. */
export function reloadForm(
  { text }: Pick<Site, 'text'>,
  { action, hidden }: Pick<ResendParts, 'action' | 'hidden'>,
): Form {
  return {
    part: 'form',
    name: 'reload',
    action,
    hidden: { ...hidden, reload: 'yes' },
    buttons: [{ label: text.reloadLink, look: 'link' }],
    look: 'aside',
  };
}
