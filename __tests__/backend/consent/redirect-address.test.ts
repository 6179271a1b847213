import { readRedirectAddress } from '../../../lib/backend/consent/redirect-address.ts';

describe('a redirect address', () => {
  it.each([
    ['https://app.example/cb?code=1', 'web', 'app.example'],
    ['https://app.example', 'web', 'app.example'],
    ['HTTPS://App.Example:8443/cb', 'web', 'app.example:8443'],
    ['https://bücher.example/cb', 'web', 'xn--bcher-kva.example'],
    ['http://localhost:3000/cb', 'device', 'localhost:3000'],
    ['http://127.0.0.1:33418/', 'device', '127.0.0.1:33418'],
    ['http://0x7f.1/cb', 'device', '127.0.0.1'],
    ['http://127.10.11.12/cb', 'device', '127.10.11.12'],
    ['http://[::1]:8080/cb', 'device', '[::1]:8080'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'app', 'cursor:'],
    ['cursor:callback', 'app', 'cursor:'],
    ['vscode://vscode.github-authentication/did-authenticate', 'app', 'vscode:'],
    ['com.example.app:/oauth2redirect', 'app', 'com.example.app:'],
    ['Com.Example.App://callback', 'app', 'com.example.app:'],
  ])('may be %s', (value, kind, receiver) => {
    expect(readRedirectAddress(value)).toMatchObject({ kind, receiver });
  });

  it.each([
    'javascript:alert(1)',
    'JavaScript://app.example/%0aalert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:msgbox(1)',
    'blob:https://app.example/1',
    'filesystem:https://app.example/1',
    'file:///etc/passwd',
    'about:blank',
    'view-source:https://app.example/',
    'chrome://settings',
    'intent://scan/#Intent;scheme=zxing;end',
    'ms-msdt:/id',
    'search-ms:query=x',
    'applescript://com.apple.scripteditor?action=new&script=x',
    'x-man-page://ls',
    'x-help-script:x',
    'help:runscript=x',
    'ghelp:x',
    'man:ls',
    'apt:package',
    'message:x',
    'dav://app.example/',
    'disk:x',
    'trash:',
    'macappstore:x',
    'brave://settings',
    'x-safari-https://evil.example/',
    'googlechrome://evil.example/',
    'googlechromes://evil.example/',
    'firefox://open-url?url=https://evil.example/',
    'microsoft-edge-https://evil.example/',
    'shortcuts://run-shortcut?name=x',
    'App-Prefs:root',
    'chrome-native://x',
    'localhost:3000/cb',
    'mailto:eve@example.com',
    'tel:+15550100',
    'ws://app.example/',
    'wss://app.example/',
    'ftp://app.example/',
    'ssh://app.example/',
    'http://app.example/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://localhost.evil.example/cb',
    'http://128.0.0.1/cb',
    'https://user@app.example/cb',
    'https://app.example:secret@evil.example/cb',
    'https://',
    '//app.example/cb',
    '/oauth/consent',
    'app.example/cb',
    'cursor://app/ü\u0000',
    'mailer:a b',
    'mailer: ab',
    '',
    `https://app.example/${'a'.repeat(9_000)}`,
    `https://app.example/${'ü'.repeat(3_000)}`,
    undefined,
    null,
    7,
    {},
    ['https://app.example/cb'],
  ])('is not %j', (value) => {
    const address = readRedirectAddress(value);
    // Where the parser escapes what is not ASCII, nothing dangerous is left.
    if (typeof value === 'string' && value.startsWith('cursor:')) expect(address?.href).toMatch(/^[\x21-\x7e]+$/);
    else expect(address).toBeUndefined();
  });

  it('has at most 8,192 characters', () => {
    const longest = `https://app.example/${'a'.repeat(8_172)}`;
    expect(readRedirectAddress(longest)?.href).toBe(longest);
    expect(readRedirectAddress(`${longest}a`)).toBeUndefined();
    // A tab is dropped by the parser.
    expect(readRedirectAddress(`${longest}\t`)).toBeUndefined();
  });

  it.each([
    ['https://app.example/cb', "'self' https:"],
    ['http://[::1]:8080/cb', "'self' https: http:"],
  ])('of %s is allowed by a form-action of one scheme', (value, policy) => {
    expect(`'self' ${readRedirectAddress(value)?.formAction}`).toBe(policy);
  });

  it('holds no line break and no separator of a policy in what a header gets', () => {
    for (const value of [
      'cursor:a;b\r\nx',
      'cursor://a/\r\nSet-Cookie: x=1',
      'https://app.example/\r\nX: 1',
      'a+b.c-d:x',
    ]) {
      const address = readRedirectAddress(value);
      expect(address?.href ?? '').not.toMatch(/[\r\n]/);
      expect(address?.formAction ?? '').toMatch(/^[a-z0-9+.: -]*$/);
    }
  });
});
