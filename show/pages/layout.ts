import { html } from './html.ts';
import type { Markup } from './html.ts';

export interface PageParts {
  readonly title: string;
  /** This page's entry in the navigation. */
  readonly at?: string;
  /** One or two sentences below the heading. */
  readonly lead: Markup | string;
  readonly content: Markup;
  /** A module of `public/` with client-side behavior. */
  readonly script?: string;
}

const navigation = [
  { href: '/dashboard', name: 'Dashboard' },
  { href: '/account', name: 'Account' },
  { href: '/events', name: 'Events' },
  { href: '/cookies', name: 'Cookies' },
  { href: '/client', name: 'Client' },
  { href: '/outbox', name: 'Outbox' },
  { href: '/authenticator', name: 'Authenticator' },
] as const;

/** A whole document around a page's content. */
export function page({ title, at, lead, content, script }: PageParts): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${at === '/' ? title : `${title} · The tour`}</title>
<link rel="icon" href="/assets/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/style.css">
${script !== undefined && html`<script type="module" src="/assets/${script}"></script>`}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><div class="bar">
<a class="brand" href="/"><img src="/assets/favicon.svg" alt="" width="28" height="28">The tour</a>
<nav aria-label="Pages">
<ul>${navigation.map(
    ({ href, name }) => html`<li><a href="${href}"${href === at && html` aria-current="page"`}>${name}</a></li>`,
  )}</ul>
</nav>
</div></header>
<main id="content">
<h1>${title}</h1>
<p class="lead">${lead}</p>
${content}
</main>
<footer class="bottom"><p>The tour of <code>express-auth-adapters</code>. It runs on this machine only.</p></footer>
</body>
</html>
`.toString();
}

/** Sign-out requires a POST: a prefetch or an image could follow a link. */
export function signOutForm(action: string, label = 'Sign out'): Markup {
  return html`<form method="post" action="${action}"><button class="quiet">${label}</button></form>`;
}

export function facts(rows: readonly (readonly [name: string, value: Markup | string | number | undefined])[]): Markup {
  return html`<dl class="facts">${rows.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? html`<span class="soft">none</span>`}</dd></div>`,
  )}</dl>`;
}

export function jsonBlock(value: unknown): Markup {
  return html`<pre><code>${JSON.stringify(value, undefined, 2)}</code></pre>`;
}
