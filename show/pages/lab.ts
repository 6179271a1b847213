import type { Experiment, LogEntry } from '../event-log.ts';
import type { Lab } from '../lab.ts';
import { html } from './html.ts';
import type { Markup } from './html.ts';

const buttons = [
  { path: '/lab/expire', name: 'Expire my token', what: 'It is renewed before you see the page.' },
  { path: '/lab/outage', name: 'Take the provider down for 20 s', what: 'No one is signed out.' },
  { path: '/lab/rotate', name: 'Rotate its keys', what: 'The new one is fetched, once.' },
  { path: '/lab/fifty', name: 'Fifty requests at once', what: 'With an expired token, and one refresh.' },
] as const;

/** The failure buttons, and the result of the last one. */
export function labSection(lab: Lab, entries: readonly LogEntry[], isSignedIn: boolean): Markup {
  const last = entries.find((entry) => entry.kind === 'experiment');
  return html`<section id="lab" class="lab" aria-labelledby="lab-title">
<h2 id="lab-title">Break it</h2>
<p class="soft">${isSignedIn ? 'Each button spoils something at the local stand-ins. Watch your session get through.' : 'Sign in above first. Then each button spoils something at the local stand-ins, and your session gets through.'}</p>
<ul class="experiments">${buttons.map(
    ({ path, name, what }) =>
      html`<li><form method="post" action="${path}"><button class="quiet">${name}</button></form><p>${what}</p></li>`,
  )}</ul>
${lab.downUntil !== undefined && html`<p class="status warn" role="status" id="outage" data-until="${lab.downUntil}">The providers are down until ${new Date(lab.downUntil).toLocaleTimeString('en-GB')}.</p>`}
${last !== undefined && outcome(last.experiment)}
</section>`;
}

export function outcome({ title, outcome, figures }: Experiment): Markup {
  return html`<div class="outcome"><h3>${title}</h3>
${figures.length > 0 && html`<dl class="figures">${figures.map(({ value, label }) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`}
<p>${outcome}</p></div>`;
}
