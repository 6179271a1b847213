/** The page of a made-up provider; `email` is who is "signed in" there, and may be changed. */
export function consentPage(provider: string, email: string): string {
  const escape = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Stand-in for ${escape(provider)}</title>
<h1>Stand-in for ${escape(provider)}</h1>
<form method="post">
  <label>Email <input name="email" type="email" value="${escape(email)}"></label>
  <button name="decision" value="approve">Continue</button>
  <button name="decision" value="deny">Deny</button>
</form>
</html>
`;
}
