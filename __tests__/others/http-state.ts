import vectors from './data/http-state/parser.json' with { type: 'json' };

interface Pair {
  readonly name: string;
  readonly value: string;
}

export interface HttpStateTest {
  readonly test: string;
  /** The `Cookie` header of a browser, its bytes as Node hands them over. */
  readonly header: string;
  readonly sent: readonly Pair[];
}

const asNodeReads = (text: string): string => Buffer.from(text).toString('latin1');

/** The tests after which a browser sends a cookie. */
export const httpStateTests: readonly HttpStateTest[] = (vectors as readonly { test: string; sent: Pair[] }[])
  .filter(({ sent }) => sent.length > 0)
  .map(({ test, sent }) => {
    const pairs = sent.map(({ name, value }) => ({ name: asNodeReads(name), value: asNodeReads(value) }));
    return { test, header: pairs.map(({ name, value }) => `${name}=${value}`).join('; '), sent: pairs };
  });

/** A pair of quotes around a value is no part of it (RFC 6265 §4.1.1), as the package `cookie` reads it. */
export const unquoted: readonly string[] = [
  'CHARSET0004',
  ...['CHROMIUM0002', 'CHROMIUM0003', 'CHROMIUM0006', 'CHROMIUM0007', 'CHROMIUM0016'],
  'COMMA0002',
  ...['VALUE0002', 'VALUE0003', 'VALUE0005'],
];

/** No `Set-Cookie` of ours could delete a cookie of such a name, so it is skipped. */
export const skipped: readonly string[] = ['CHARSET0002', 'CHARSET0003', 'NAME0030'];
