/**
 * The possible readings of a request target. Routers, static file servers and proxies disagree about
 * percent-encoding, slashes, dot segments and backslashes, so a guard must consider every reading (CWE-647).
 */

/** Odd paths beyond these limits are treated as an attack and not expanded. */
const MAX_ODD_LENGTH = 4096;
const MAX_DOT_SEGMENTS = 8;

/** The only absolute-form targets (RFC 9112 §3.2.2) on whose path all URL parsers agree: no user, plain host. */
const ORIGIN = /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?(?=[/?#]|$)/i;

const ODD = /[%\\;:]|[^\x21-\x7e]|\/\/|\.(?:\/|$)/;

/**
 * The path of a request target: without query and fragment, and without the origin of an absolute-form target.
 *
 * @param target the raw `req.originalUrl` or `req.url`
 * @returns `undefined` for a target on whose path parsers disagree
 */
export function requestPath(target: string): string | undefined {
  const start = target.startsWith('/') ? 0 : ORIGIN.exec(target)?.[0].length;
  // Node's parser rejects other targets that are neither a path nor absolute, except `*` (RFC 9112
  // §3.2.4). A rewriting middleware may leave only a query.
  if (start === undefined)
    return /^(?:\*?$|[?#])/.test(target) ? `/${target.slice(0, endOfPath(target, 0))}` : undefined;
  const end = endOfPath(target, start);
  return start === end ? '/' : target.slice(start, end);
}

/** The path part of a request target or a root-relative URL, unchanged. */
export function pathOf(target: string): string {
  return target.slice(0, endOfPath(target, 0));
}

/** Whether every server reads this path the same way, except for letter case and a trailing slash. */
export function isPlainPath(path: string): boolean {
  return !ODD.test(path);
}

/**
 * Every reading of a path that is not plain: decoded up to twice, slashes collapsed, dot segments kept or resolved,
 * backslashes kept or turned, path parameters, stream names and trailing dots kept or cut. Each reading starts with `/`,
 * ends without one (unless it is the root), and is folded by `foldCase`.
 *
 * @returns `undefined` where there are too many
 */
export function pathReadings(path: string): ReadonlySet<string> | undefined {
  return path.length > MAX_ODD_LENGTH ? undefined : readingsOf(decodings(path));
}

/**
 * The path of a request target, decoded and folded as `pathReadings` has it, where every server that decodes escapes reads it alike.
 *
 * @param target what a gateway says that its client asked for
 * @returns `undefined` where servers could read several paths, or where the target names none
 */
export function onlyReading(target: string): string | undefined {
  // No browser sends a fragment, and to some servers it is a part of the path.
  const path = /^[/h][^?#]*(?:\?|$)/i.test(target) ? requestPath(target) : undefined;
  if (path === undefined || path.length > MAX_ODD_LENGTH || /[^\x21-\x7e]/.test(path)) return undefined;
  const text = tryDecode(path);
  // Some servers take an escaped slash for a letter of its segment.
  if (text?.split('/').length !== path.split('/').length) return undefined;
  const [reading, ...others] = readingsOf(new Set([text, decodeLeniently(text)].map(composeLetters))) ?? [];
  return others.length === 0 ? reading : undefined;
}

function readingsOf(texts: ReadonlySet<string>): ReadonlySet<string> | undefined {
  const readings = new Set<string>();
  for (const text of texts) {
    const turned = text.replaceAll('\\', '/');
    for (const spelling of new Set([text, turned, tidy(turned), withoutAuthority(turned)])) {
      const segments = spelling.split('/');
      const solid = segments.filter((segment) => segment !== '');
      const dots = solid.filter(isDotSegment).length;
      if (dots > MAX_DOT_SEGMENTS) return undefined;
      for (let kept = 0; kept <= dots; kept++) readings.add(join(resolveDots(solid, kept)));
      // The WHATWG parser counts an empty segment as one that `..` removes; POSIX paths do not.
      readings.add(join(resolveDots(segments, 0)));
    }
  }
  return readings;
}

/**
 * One spelling for all that a router (`/i`) or a file system treats as equal despite letter case. Upper case
 * first, which maps `ſ` and `s` to one letter; and `Σ` has two lower cases, chosen by the next letter.
 */
export function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

/** Decodes valid escapes and keeps the rest: one bad escape must not hide the others. */
export function decodeLeniently(text: string): string {
  return tryDecode(text) ?? text.replaceAll(/(?:%[\da-f]{2})+/gi, (run) => tryDecode(run) ?? decodeAscii(run));
}

/** The file systems of macOS treat composed and decomposed letters as equal. */
export function composeLetters(text: string): string {
  return text.normalize('NFC');
}

function endOfPath(target: string, start: number): number {
  for (let at = start; at < target.length; at++) {
    const code = target.charCodeAt(at);
    if (code === 0x3f || code === 0x23) return at;
  }
  return target.length;
}

function decodings(path: string): Set<string> {
  // The legacy `url.parse`, which Express falls back to, trims these targets.
  const raw = path.trim();
  const once = decodeLeniently(raw);
  const texts = new Set([raw, once, decodeLeniently(once)]);
  // Node decodes a target's bytes as Latin-1; a proxy behind it may read them as UTF-8.
  texts.add(Buffer.from(raw, 'latin1').toString('utf8'));
  for (const text of [...texts]) texts.add(composeLetters(text));
  return texts;
}

/** Removes what a second parser may ignore: a query, text after a NUL, control characters, path parameters, trailing dots on Windows. */
function tidy(text: string): string {
  const end = text.search(/[?#\0]/);
  return (end === -1 ? text : text.slice(0, end))
    .replaceAll(/[\x01-\x1f\x7f]/g, '')
    .replaceAll(/[;:][^/]*/g, '')
    .replaceAll(/(?<=[^/. ])[. ]+(?=\/|$)/g, '');
}

/** `//host/path` resolves to a host and a path (RFC 3986 §4.2). */
function withoutAuthority(text: string): string {
  return text.replace(/^\/{2,}[^/]*/, '');
}

/**
 * Resolves `.` and `..`, except the first `kept` of them: a router may read `..` as a parameter's
 * value where the file server behind it resolves the others.
 */
function resolveDots(segments: readonly string[], kept: number): string[] {
  const resolved: string[] = [];
  let seen = 0;
  for (const segment of segments) {
    if (!isDotSegment(segment) || seen++ < kept) resolved.push(segment);
    else if (segment === '..') resolved.pop();
  }
  return resolved;
}

function join(segments: readonly string[]): string {
  return foldCase(`/${segments.filter((segment) => segment !== '').join('/')}`);
}

function isDotSegment(segment: string): boolean {
  return segment === '.' || segment === '..';
}

/** `decodeURIComponent`; `undefined` for a text that it cannot decode. */
export function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function decodeAscii(run: string): string {
  return run.replaceAll(/%[0-7][\da-f]/gi, (escape) => String.fromCharCode(parseInt(escape.slice(1), 16)));
}
