export interface GithubAccount {
  readonly id: number;
  readonly login: string;
  readonly name: string;
  readonly email: string;
}

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 3rem auto; padding: 0 1rem; }
.note { border: 2px dashed #b35900; border-radius: 8px; padding: .75rem 1rem; }
form { display: flex; gap: .75rem; margin-top: 1.5rem; }
button { font: inherit; padding: .6rem 1.1rem; border-radius: 6px; border: 1px solid #767676; cursor: pointer; }
button[value='approve'] { background: #1f6f3a; border-color: #1f6f3a; color: #fff; }
button:focus-visible { outline: 3px solid #1a73e8; outline-offset: 2px; }
`;

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
<h1>Authorize the example?</h1>
<p class="note"><strong>This is not GitHub.</strong> It is a stand-in that runs on your own machine, so that “Continue with GitHub” can be tried offline.</p>
<p>The example asks to know you as <strong>${escapeHtml(account.login)}</strong> (${escapeHtml(account.email)}).</p>
<form method="post">
${hidden}
<button name="decision" value="approve">Continue</button>
<button name="decision" value="deny">Deny</button>
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
