import fc from 'fast-check';
import { mergeLines } from '../../lib/session/line-merge.ts';
import { emptyLine, exchange, refuse, settledOf } from '../../lib/session/token-line.ts';
import type { Issue, TokenLine } from '../../lib/session/token-line.ts';
import { checkInputs } from '../support/inputs.ts';

const now = 1_700_000_000_000;
const second = 1_000;

/** What a provider said to the holder of its newest tokens. */
interface Said {
  readonly held: Issue;
  /** What it issued; `undefined` where it refused, which is the last that it says. */
  readonly issued?: Issue;
}

/** A session at a provider that gives its refresh token again, or a new one, or refuses it: one answer a second. */
function sayAll(kinds: readonly ('again' | 'new')[], isRefused: boolean): Said[] {
  let held: Issue = { token: 'token 0', issuedAt: now };
  const said = kinds.map((kind, index): Said => {
    const token = kind === 'again' ? held.token : `token ${index + 1}`;
    const issued = { token, issuedAt: held.issuedAt + second };
    const each = { held, issued };
    held = issued;
    return each;
  });
  return isRefused ? [...said, { held }] : said;
}

const nameOf = ({ token, issuedAt }: Issue): string => `${token} of ${(issuedAt - now) / second}`;

function hear(line: TokenLine, { held, issued }: Said): TokenLine {
  if (issued === undefined) return refuse(line, held, 'refused', now);
  return exchange(line, held.token, { ...issued, text: nameOf(issued) }, now);
}

/** The tokens that those lead to, as far as each exchange on the way was heard. */
function latest(held: Issue, heard: readonly Said[]): Issue {
  const issues = heard.flatMap(({ held: { token }, issued }) => (token === held.token && issued ? [issued] : []));
  const other = issues.find(({ token }) => token !== held.token);
  return other === undefined ? [held, ...issues].reduce(later) : latest(other, heard);
}

const later = (one: Issue, other: Issue): Issue => (other.issuedAt > one.issuedAt ? other : one);

/** What a holder has to get of what was heard: what was issued later, else the refusal of it. */
function wantedBy(held: Issue, heard: readonly Said[]): string | undefined {
  const found = latest(held, heard);
  if (found !== held) return nameOf(found);
  const isRefused = heard.some(({ held: { token }, issued }) => token === held.token && issued === undefined);
  return isRefused ? 'refused' : undefined;
}

it('a holder gets what was issued later, or the refusal of it, in whatever order processes hear of it', async () => {
  const kinds = fc.array(fc.constantFrom('again' as const, 'again' as const, 'new' as const), {
    minLength: 1,
    maxLength: 7,
  });
  const hearing = fc.array(fc.record({ process: fc.nat(2), at: fc.nat(), isMerge: fc.boolean() }), {
    minLength: 3,
    maxLength: 30,
  });
  const check = fc.property(kinds, fc.boolean(), hearing, fc.nat(1), (each, isRefused, steps, way) => {
    const said = sayAll(each, isRefused);
    const lines = [emptyLine, emptyLine, emptyLine];
    const heard = new Set<Said>();
    for (const { process, at, isMerge } of steps) {
      const own = lines[process]!;
      const one = said[at % said.length]!;
      lines[process] = isMerge ? mergeLines(own, lines[at % lines.length]!, now) : hear(own, one);
      if (!isMerge) heard.add(one);
    }
    const all = (way === 0 ? lines : lines.toReversed()).reduce((one, other) => mergeLines(one, other, now));
    for (const { held } of said) {
      const settled = settledOf(all, held, now);
      const found = settled?.kind === 'renewed' ? settled.text : settled?.reason;
      expect(found).toBe(wantedBy(held, [...heard]));
    }
  });
  await checkInputs(check, { least: 300, variable: 'REPEATED_TOKENS' });
});
