import { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { refuseCrossSite, refuseUnintended } from '../../lib/http/origin.ts';

const own = 'https://app.example';
const trusted = 'https://www.example';

const request = (headers: IncomingHttpHeaders): IncomingMessage =>
  Object.assign(new IncomingMessage(new Socket()), { headers });

function codeOf(refuse: typeof refuseCrossSite, headers: IncomingHttpHeaders): string {
  try {
    refuse(request(headers), () => own, [trusted]);
    return 'let pass';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const site = (value: string, origin?: string): IncomingHttpHeaders => ({
  'sec-fetch-site': value,
  ...(origin === undefined ? {} : { origin }),
});

describe('a request that changes something', () => {
  it.each<[string, IncomingHttpHeaders]>([
    ['from a client that is no browser', {}],
    ['from this origin', site('same-origin', own)],
    ['from this origin, as an older browser tells', { origin: own }],
    ['typed or from a bookmark', site('none')],
    ['from an origin of one’s own', site('cross-site', trusted)],
    ['from an origin of one’s own, as an older browser tells', { origin: trusted }],
  ])('%s passes', (_what, headers) => {
    expect(codeOf(refuseCrossSite, headers)).toBe('let pass');
  });

  it.each<[string, IncomingHttpHeaders]>([
    ['from another site', site('cross-site', 'https://evil.example')],
    ['from another site that hides its origin', site('cross-site')],
    ['from a sibling host', site('same-site', 'https://blog.app.example')],
    ['of whose site the browser says an unknown word', site('other', own)],
    ['from another origin, as an older browser tells', { origin: 'https://evil.example' }],
    ['from a hidden origin, as an older browser tells', { origin: 'null' }],
  ])('%s is refused', (_what, headers) => {
    expect(codeOf(refuseCrossSite, headers)).toBe('cross_site_request');
  });

  it('is not checked against its own origin, which may be unknown, if the browser sends Sec-Fetch-Site', () => {
    const inDoubt = (): string => {
      throw new Error('no plain host');
    };
    expect(() => refuseCrossSite(request(site('same-origin', own)), inDoubt, [])).not.toThrow();
    expect(() => refuseCrossSite(request({}), inDoubt, [])).not.toThrow();
  });
});

describe('a GET that changes something', () => {
  it.each<[string, IncomingHttpHeaders]>([
    ['a user goes there', { 'sec-fetch-mode': 'navigate', ...site('cross-site') }],
    ['an own script asks', { 'sec-fetch-mode': 'cors', ...site('same-origin', own) }],
    ['a script of one’s own origin asks', { 'sec-fetch-mode': 'cors', ...site('cross-site', trusted) }],
    ['no browser is involved', { origin: 'https://evil.example' }],
  ])('passes if %s', (_what, headers) => {
    expect(codeOf(refuseUnintended, headers)).toBe('let pass');
  });

  it.each<[string, IncomingHttpHeaders, string]>([
    ['a prefetch', { 'sec-purpose': 'prefetch', 'sec-fetch-mode': 'navigate' }, 'prefetch_refused'],
    ['a prefetch of an older browser', { purpose: 'prefetch' }, 'prefetch_refused'],
    ['a prerendering', { 'sec-purpose': 'prefetch;prerender', 'sec-fetch-mode': 'navigate' }, 'prefetch_refused'],
    ['an image', { 'sec-fetch-mode': 'no-cors', ...site('same-origin') }, 'prefetch_refused'],
    ['another site’s script', { 'sec-fetch-mode': 'cors', ...site('cross-site') }, 'cross_site_request'],
  ])('is refused to %s', (_what, headers, code) => {
    expect(codeOf(refuseUnintended, headers)).toBe(code);
  });
});
