import { html } from '../../core/html.ts';
import type { Html, Text } from '../../core/html.ts';
import type { Fields } from '../../http/body.ts';
import { duration, fillIn } from '../../http/page-text.ts';
import { openingSeconds } from '../../http/stylesheet.ts';
import { postForm } from './parts.ts';
import type { PageRequest, Site } from './parts.ts';

/** When another email or text message can be sent. */
export interface Resend {
  /** Seconds from now. */
  readonly seconds: number;
  /** Seconds since the epoch. */
  readonly opensAt: number;
}

/** @param now milliseconds since the epoch */
export function resendAfter(seconds: number, now: number): Resend {
  return { seconds, opensAt: Math.ceil(now / 1000) + seconds };
}

/** The longest wait that a form brings back: the backend sends one email or text message per minute. */
const longest = 60;

/** What a form of this page told; a visitor who changes it sees another time, and the server still decides. */
export function resendOf(fields: Fields, now: number): Resend | undefined {
  const told = fields.get('resendAt') ?? '';
  const seconds = /^\d{1,12}$/.test(told) ? Number(told) - Math.floor(now / 1000) : 0;
  return seconds > 0 && seconds <= longest ? resendAfter(seconds, now) : undefined;
}

/** The hidden field by which a form brings the time back with a wrong code. */
export function openingOf(resend: Resend | undefined): { readonly resendAt?: string } {
  return resend === undefined ? {} : { resendAt: String(resend.opensAt) };
}

interface ResendParts {
  readonly action: string;
  readonly hidden: Readonly<Record<string, string | undefined>>;
  readonly label: Text;
  readonly resend: Resend | undefined;
}

/**
 * A button that sends another one, as soon as one can be sent. Until then the time stands in its place: the stylesheet swaps them after up to
 * a minute, without a script; after a longer time the visitor comes back.
 */
export function resendForm({ text }: Pick<Site, 'text'>, request: PageRequest, parts: ResendParts): Html {
  const { action, hidden, label, resend } = parts;
  const form = postForm(action, hidden, html`<button class="quiet">${label}</button>`);
  if (resend === undefined) return form;
  const time = duration(resend.seconds, request.definition.brand.lang);
  const wait = html`<p class="wait">${fillIn(text.codeResendIn, { time })}</p>`;
  const opening = openingSeconds.find((seconds) => seconds >= resend.seconds);
  return opening === undefined ? wait : html`<div class="resend in-${opening}">${wait}\n${form}</div>`;
}
