import fc from 'fast-check';
import { html, render, safeHref, textOf } from '../../lib/tools/html.ts';
import type { Html } from '../../lib/tools/html.ts';

const hostile = `<script>alert('1')</script> & "x" \`y\``;

describe('html', () => {
  it('escapes every interpolated value', () => {
    expect(render(html`<p title="${hostile}">${hostile}</p>`)).toBe(
      '<p title="&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot; &#96;y&#96;">' +
        '&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot; &#96;y&#96;</p>',
    );
  });

  it('adds no HTML special character from a value, and drops none', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const text = render(html`${value}`);
        expect(text).not.toMatch(/[<>"'`]/);
        const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", '#96': '`', amp: '&' };
        expect(text.replace(/&([a-z]+|#\d+);/g, (_match, entity: string) => entities[entity] ?? '?')).toBe(value);
      }),
    );
  });

  it('embeds nested markup and lists of it unchanged', () => {
    const items = ['a', '<b>'].map((item) => html`<i>${item}</i>`);
    expect(render(html`<b>${items}</b>`)).toBe('<b><i>a</i><i>&lt;b&gt;</i></b>');
    expect(render(html`${['<', [html`<i></i>`, '>']]}`)).toBe('&lt;<i></i>&gt;');
  });

  it('renders undefined, null and false as nothing, but keeps zero and the empty string', () => {
    expect(render(html`[${undefined}${null}${false}${''}${0}]`)).toBe('[0]');
  });

  it('cannot be forged by an object of the same shape', () => {
    const genuine = html`<b>ok</b>`;
    const forgeries: unknown[] = [
      JSON.parse(JSON.stringify(Object.assign(html``, { text: hostile, '#text': hostile, __html: hostile }))),
      { toString: () => hostile },
      Object.assign(Object.create(Object.getPrototypeOf(genuine) as object) as object, { toString: () => hostile }),
      Object.setPrototypeOf({ toString: () => hostile }, genuine),
    ];
    for (const forgery of forgeries) expect(render(html`${forgery as Html}`)).not.toContain('<');
  });

  it('converts to its text when it is used as a string', () => {
    expect(String(html`<p>${'<'}</p>`)).toBe('<p>&lt;</p>');
  });
});

describe('safeHref', () => {
  it.each(['/', '/login', '/a?b=c&d=%2F#e', 'https://example.com/a?b#c', 'http://127.0.0.1:3000/'])('keeps %s', (url) =>
    expect(safeHref(url)).toBe(url),
  );

  it.each([
    'javascript:alert(1)',
    'javascript:alert(1)//https://example.com',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'JAVASCRIPT:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '\\\\evil.example',
    'login',
    '',
    'http:evil.example',
    'https://',
    'http://[',
  ])('refuses %j', (url) => expect(safeHref(url)).toBe('#'));

  it('never leaves this origin for a path, whatever the path', () => {
    const pieces = fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '\t',
      '\n',
      '%2f',
      '%5c',
      'a',
      '@',
      ':',
      '?',
      '#',
      'evil.example',
    );
    fc.assert(
      fc.property(fc.array(pieces), (parts) => {
        const origin = 'https://app.example';
        expect(new URL(safeHref(`/${parts.join('')}`), origin).origin).toBe(origin);
      }),
    );
  });

  it('never returns a URL that runs a script', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl()), (url) => {
        expect(['http:', 'https:']).toContain(new URL(safeHref(url), 'https://app.example').protocol);
      }),
    );
  });
});

describe('textOf', () => {
  it('escapes a text, and keeps it plain for titles and JSON', () => {
    const text = textOf('1 < 2');
    expect([String(html`<p>${text}</p>`), text.plain, text.lang]).toEqual(['<p>1 &lt; 2</p>', '1 < 2', undefined]);
  });

  it('names the language of a text that differs from the page', () => {
    const text = textOf('Sign in', 'en', html`<b>Sign in</b>`);
    expect(String(html`${text}`)).toBe('<span lang="en" dir="ltr"><b>Sign in</b></span>');
    expect([text.plain, text.lang]).toEqual(['Sign in', 'en']);
  });

  it('adds no element for an empty text', () => {
    expect(String(html`${textOf('', 'en')}`)).toBe('');
  });
});
