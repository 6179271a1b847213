import { createHash } from 'node:crypto';
import { style } from '../../style.ts';
import type { Reply } from '../http.ts';

/** The page of a fictional provider; `email` is its signed-in user, and can be changed. */
export function consentPage(provider: string, email: string): Reply {
  const name = escapeHtml(provider);
  const markup = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stand-in for ${name}</title>
<style>${style}</style>
</head>
<body>
<p class="notice"><strong>Local stand-in.</strong> This is not ${name}. Sign-in can be tried offline.</p>
<main>
<h1>Continue to the app?</h1>
<form method="post">
<label>Email <input name="email" type="email" value="${escapeHtml(email)}"></label>
<button class="primary" name="decision" value="approve">Continue</button>
<button class="plain" name="decision" value="deny">Deny</button>
</form>
</main>
</body>
</html>
`;
  // No form-action: the redirects after the button cross origins, and Chromium checks each of them.
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'; base-uri 'none'`;
  return {
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
    body: markup,
  };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
