import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { markdownFiles } from '../support/markdown.ts';

interface Link {
  readonly from: string;
  readonly target: string;
}

/** `[text](target)`, `![text](target)`, `[text]: target` and `<img src="target">`, outside of code. */
const links: readonly Link[] = markdownFiles().flatMap(({ path, text }) => {
  const prose = text.replaceAll(/^( *)```[\s\S]*?^\1```/gm, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)|<img src="([^"]+)"|^\[[^\]]+\]: (\S+)$/gm)].map(
    ([, link, image, named]) => ({
      from: path,
      target: link ?? image ?? named ?? '',
    }),
  );
});

/** GitHub's rule for a heading's anchor. */
function anchorsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

it('finds the links', () => {
  expect(links.length).toBeGreaterThan(15);
});

/** What a link to the repository leads to; the packed pages name so what is not packed with them. */
const inRepository =
  /^https:\/\/(?:github|raw\.githubusercontent)\.com\/express-auth-adapters\/express-auth-adapters\/(?:(?:blob|tree)\/)?main\/(.+)$/;

it('every link to a file in README and docs is valid, including its heading', () => {
  const broken = links
    .map(({ from, target }) => {
      const inside = inRepository.exec(target)?.[1];
      return inside === undefined ? { from, target } : { from: '', target: inside };
    })
    .filter(({ target }) => !/^[a-z]+:/i.test(target))
    .filter(({ from, target }) => {
      const [file = '', anchor] = target.split('#');
      const path = file === '' ? from : normalize(join(dirname(from), file));
      if (!existsSync(path)) return true;
      return anchor !== undefined && path.endsWith('.md') && !anchorsOf(path).includes(anchor);
    });
  expect(broken).toEqual([]);
});

it('every absolute link is https, or a local address that the example serves', () => {
  const odd = links.filter(
    ({ target }) => /^[a-z]+:/i.test(target) && !/^(?:https:|mailto:|http:\/\/localhost)/.test(target),
  );
  expect(odd).toEqual([]);
});
