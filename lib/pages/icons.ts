import { html } from '../tools/html.ts';
import type { Html } from '../tools/html.ts';

/** What a status page reports, as a picture. */
export type Emblem =
  /** It worked. */
  | 'check'
  /** It expired, was used, or is to wait. */
  | 'clock'
  /** This account, or a visitor without one, may not. */
  | 'lock'
  /** An email is on its way. */
  | 'envelope'
  /** The visitor's own choice, or a step that is missing. */
  | 'notice'
  /** Something failed. */
  | 'warning';

const drawings: Readonly<Record<Emblem, Html>> = {
  check: html`<path d="m5 12.5 4.5 4.5L19 7.5"/>`,
  clock: html`<circle cx="12" cy="12" r="8.5"/><path d="M12 7.5V12l3 2"/>`,
  lock: html`<rect x="5" y="10.5" width="14" height="9.5" rx="2.5"/><path d="M8 10.5V8a4 4 0 0 1 8 0v2.5"/>`,
  envelope: html`<rect x="3" y="5" width="18" height="14" rx="2.5"/><path d="m4 7 8 6 8-6"/>`,
  notice: html`<circle cx="12" cy="12" r="8.5"/><path d="M12 7.5v5.5m0 3.2v.1"/>`,
  warning: html`<path d="M12 4 2.8 19.5h18.4zM12 10v4.5m0 2.6v.1"/>`,
};

export const lockDrawing: Html = drawings.lock;
export const envelopeDrawing: Html = drawings.envelope;

/** An app in a window. */
export const appDrawing: Html = html`<rect x="3" y="4.5" width="18" height="15" rx="2.5"/><path d="M3 9.5h18M6.5 7h.1m2.4 0h.1"/>`;

const tones: Readonly<Partial<Record<Emblem, string>>> = { check: ' good', warning: ' bad' };

/** Decorative: the heading says the same. All have one stroke width, which the stylesheet sets. */
export function emblemOf(emblem: Emblem): Html {
  return html`<p class="emblem${tones[emblem]}" aria-hidden="true"><svg viewBox="0 0 24 24">${drawings[emblem]}</svg></p>`;
}

/** At the start of a row: what kind of thing it is. @param drawing 24 units square, of lines */
export function rowIcon(drawing: Html): Html {
  return html`<svg class="start" viewBox="0 0 24 24" aria-hidden="true">${drawing}</svg>`;
}

/** In front of a button's words. @param drawing the same */
export function buttonIcon(drawing: Html): Html {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${drawing}</svg>`;
}

export const envelopeIcon: Html = buttonIcon(drawings.envelope);
/** An organization. */
export const buildingIcon: Html = buttonIcon(
  html`<path d="M5 20.5v-16h9v16M14 9.5h5v11M2.5 20.5h19M8.5 8.5h2m-2 4h2m-2 4h2m6-3h.1m-.1 3.5h.1"/>`,
);

/** At the end of a row that leads on; the stylesheet turns it in languages that are written from right to left. */
export const chevron: Html = html`<svg class="on" viewBox="0 0 24 24" aria-hidden="true"><path d="m9 5 7 7-7 7"/></svg>`;

/** The stylesheet strikes it through while the password is shown. */
export const eye: Html = buttonIcon(
  html`<path d="M2.5 12S6 5.5 12 5.5s9.5 6.5 9.5 6.5-3.5 6.5-9.5 6.5S2.5 12 2.5 12z"/><circle cx="12" cy="12" r="2.75"/><path d="m4.5 4 15 16"/>`,
);
