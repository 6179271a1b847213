import { isPlainUrl, queryOf, withQuery } from '../../lib/tools/url.ts';
import { pathOf } from '../../lib/tools/paths/request-path.ts';

describe('withQuery', () => {
  it.each([
    ['/sign-in', '/sign-in?returnTo=%2Fx'],
    ['/sign-in?a=b', '/sign-in?a=b&returnTo=%2Fx'],
    ['/sign-in#form', '/sign-in?returnTo=%2Fx#form'],
    ['/sign-in?a=b#form#again', '/sign-in?a=b&returnTo=%2Fx#form#again'],
    ['https://login.example.com/#/in', 'https://login.example.com/?returnTo=%2Fx#/in'],
  ])('puts parameters before the fragment: %s', (url, expected) => {
    expect(withQuery(url, { returnTo: '/x' })).toBe(expected);
  });

  it('changes nothing without parameters, and encodes names and values', () => {
    expect(withQuery('/sign-in#form', {})).toBe('/sign-in#form');
    expect(queryOf(withQuery('/x', { 'a&b': 'c=d #?' })).get('a&b')).toBe('c=d #?');
  });
});

it.each([
  ['/a/b', '/a/b', ''],
  ['/a?b=c?d', '/a', 'b=c%3Fd'],
  ['/a#b?c', '/a', 'c='],
  ['?a=b', '', 'a=b'],
  ['/%2F?a=%26&a=1', '/%2F', 'a=%26&a=1'],
])('%j has a path and a query', (target, path, query) => {
  expect(pathOf(target)).toBe(path);
  expect(queryOf(target).toString()).toBe(query);
});

it.each([
  ['https://app.example', true],
  ['https://app.example:8443/shop/', true],
  ['https://user@app.example', false],
  ['https://:secret@app.example', false],
  ['https://user:secret@app.example', false],
  ['https://app.example/?a', false],
  ['https://app.example/#a', false],
])('%s has no more than an origin and a path: %s', (url, isPlain) => {
  expect(isPlainUrl(new URL(url))).toBe(isPlain);
});
