import { style } from '../style.ts';

export interface GithubAccount {
  readonly id: number;
  readonly login: string;
  readonly name: string;
  readonly email: string;
}

/** The consent page; it says first that it is not GitHub's. */
export function consentPage(account: GithubAccount, query: URLSearchParams): { markup: string; style: string } {
  const hidden = ['redirect_uri', 'state']
    .map((name) => `<input type="hidden" name="${name}" value="${escapeHtml(query.get(name) ?? '')}">`)
    .join('\n');
  const markup = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stand-in for GitHub</title>
<style>${style}</style>
</head>
<body>
<main>
<p class="notice"><strong>This is not GitHub.</strong> It is a stand-in that runs on your own machine, so that “Continue with GitHub” can be tried offline.</p>
<h1>Authorize the example?</h1>
<p>The example asks to know you as <strong>${escapeHtml(account.login)}</strong> (${escapeHtml(account.email)}).</p>
<form method="post">
${hidden}
<button class="primary" name="decision" value="approve">Continue</button>
<button class="plain" name="decision" value="deny">Deny</button>
</form>
</main>
</body>
</html>
`;
  return { markup, style };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
