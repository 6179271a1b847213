import fc from 'fast-check';
import { mergeLines } from '../../lib/session/line-merge.ts';
import { emptyLine, exchange, pairOf, refuse, settledOf, tokenOf } from '../../lib/session/token-line.ts';
import type { TokenLine } from '../../lib/session/token-line.ts';
import { checkInputs } from '../support/inputs.ts';

const now = 1_700_000_000_000;

/** What a provider said to the holder of its newest pair. */
interface Said {
  readonly held: string;
  /** The pair that it issued; `undefined` where it refused, which is the last that it says. */
  readonly issued?: string;
}

/** A session at a provider that gives its refresh token again, or a new one, or refuses it. */
function sayAll(kinds: readonly ('again' | 'new')[], isRefused: boolean): Said[] {
  let held = pairOf('token 0', '0');
  const said = kinds.map((kind, index): Said => {
    const issued = pairOf(kind === 'again' ? tokenOf(held) : `token ${index + 1}`, `${index + 1}`);
    const each = { held, issued };
    held = issued;
    return each;
  });
  return isRefused ? [...said, { held }] : said;
}

function hear(line: TokenLine, { held, issued }: Said): TokenLine {
  if (issued === undefined) return refuse(line, held, 'refused', now);
  return exchange(line, held, { newest: issued, text: issued }, now);
}

/** Where a pair leads by what was heard: by its own exchange, else by one that rotated its refresh token. */
function latest(held: string, heard: readonly Said[]): string {
  const issuedBy = (isIt: (said: Said) => boolean): string | undefined => heard.find(isIt)?.issued;
  const next =
    issuedBy((said) => said.held === held && said.issued !== undefined) ??
    issuedBy(({ held: other, issued }) => {
      const isRotated = issued !== undefined && tokenOf(issued) !== tokenOf(other);
      return isRotated && tokenOf(other) === tokenOf(held);
    });
  return next === undefined ? held : latest(next, heard);
}

/** What a holder has to get: the newest pair, else the refusal of its refresh token. */
function wantedBy(held: string, heard: readonly Said[]): string | undefined {
  const found = latest(held, heard);
  if (found !== held) return found;
  return heard.some((said) => said.issued === undefined && tokenOf(said.held) === tokenOf(held))
    ? 'refused'
    : undefined;
}

it('a holder gets the newest pair, or the refusal of its token, in whatever order processes hear of it', async () => {
  const kinds = fc.array(fc.constantFrom('again' as const, 'again' as const, 'new' as const), {
    minLength: 1,
    maxLength: 7,
  });
  const hearing = fc.array(fc.record({ process: fc.nat(2), at: fc.nat(), isMerge: fc.boolean() }), {
    minLength: 3,
    maxLength: 30,
  });
  const check = fc.property(kinds, fc.boolean(), hearing, fc.boolean(), (each, isRefused, steps, isReversed) => {
    const said = sayAll(each, isRefused);
    const lines = [emptyLine, emptyLine, emptyLine];
    const heard = new Set<Said>();
    for (const { process, at, isMerge } of steps) {
      const own = lines[process]!;
      const one = said[at % said.length]!;
      lines[process] = isMerge ? mergeLines(own, lines[at % lines.length]!, now) : hear(own, one);
      if (!isMerge) heard.add(one);
    }
    const all = (isReversed ? lines.toReversed() : lines).reduce((one, other) => mergeLines(one, other, now));
    for (const { held } of said) {
      const settled = settledOf(all, held, now);
      expect(settled?.kind === 'renewed' ? settled.text : settled?.reason).toBe(wantedBy(held, [...heard]));
    }
  });
  await checkInputs(check, { least: 300, variable: 'REPEATED_TOKENS' });
});
