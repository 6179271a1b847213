/**
 * Writes docs/options.md from the comments of the schema entries in lib/ that the option interfaces take;
 * `--check` only reports whether the page is current.
 *
 *     node tools/option-table.ts [--check]
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';

export interface OptionRow {
  readonly name: string;
  /** Environment variables, in order of precedence. */
  readonly variables: readonly string[];
  readonly fallback: string;
  readonly meaning: string;
}

interface Section {
  readonly heading: string;
  readonly interfaceName: string;
  readonly intro: string;
}

const sections: readonly Section[] = [
  {
    heading: '`b2bAuth`',
    interfaceName: 'B2bAuthOptions',
    intro: 'It also takes [the options of both adapters](#both-adapters).',
  },
  {
    heading: '`backendAuth`',
    interfaceName: 'BackendAuthOptions',
    intro: 'It also takes [the options of both adapters](#both-adapters).',
  },
  { heading: 'Both adapters', interfaceName: 'SharedAuthOptions', intro: '' },
  {
    heading: '`cookieOptions`',
    interfaceName: 'CookieOptions',
    intro:
      'Both adapters. The backend adapter adds `httpOnly`: true by default; false lets every script read the session.',
  },
  {
    heading: '`pages`',
    interfaceName: 'PagesOptions',
    intro: 'Both adapters. [The built-in pages](pages.md) shows what they do.',
  },
  {
    heading: '`pages` of `backendAuth`',
    interfaceName: 'BackendPagesOptions',
    intro: 'Beside [those of both adapters](#pages):',
  },
  { heading: '`providers`', interfaceName: 'OAuthProviderOptions', intro: 'Each is a name, or an object with' },
  {
    heading: '`protectResource`',
    interfaceName: 'ProtectResourceOptions',
    intro: 'The second argument of `protectResource`. [For agents](mcp.md) shows what they do.',
  },
  { heading: '`throttle`', interfaceName: 'ThrottleOptions', intro: '`backendAuth`; `false` turns it off.' },
];

const sources = globSync('lib/**/*.ts').map((path) =>
  ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true),
);

function declarationOf(name: string): ts.InterfaceDeclaration {
  for (const source of sources) {
    const found = source.statements.find((each) => ts.isInterfaceDeclaration(each) && each.name.text === name);
    if (found !== undefined && ts.isInterfaceDeclaration(found)) return found;
  }
  throw new Error(`No interface ${name} in lib/`);
}

/** The members of a `const` object in the interface's file. */
function entriesOf(name: string, source: ts.SourceFile): readonly ts.ObjectLiteralElementLike[] {
  const declarations = source.statements.flatMap((each) =>
    ts.isVariableStatement(each) ? each.declarationList.declarations : [],
  );
  const { initializer } = declarations.find((each) => each.name.getText() === name) ?? {};
  if (initializer === undefined || !ts.isObjectLiteralExpression(initializer)) throw new Error(`No object ${name}`);
  return initializer.properties;
}

/** What an interface takes from schema entries, and its own members; without those of other interfaces. */
export function optionsOf(interfaceName: string): OptionRow[] {
  const declaration = declarationOf(interfaceName);
  const clauses = declaration.heritageClauses?.flatMap(({ types }) => types) ?? [];
  const entries = clauses.flatMap((type) => {
    const [, name] = /^(?:Exact)?OptionsOf<typeof (\w+)>$/.exec(type.getText()) ?? [];
    return name === undefined ? [] : entriesOf(name, declaration.getSourceFile());
  });
  return [...entries, ...declaration.members].map((member) => {
    const comments = ts.getJSDocCommentsAndTags(member).map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '');
    return { name: member.name?.getText() ?? '', ...parseComment(comments.join(' ')) };
  });
}

/** A comment describes the option; `Env …`, `Default …` and `Required` are separate sentences. */
export function parseComment(comment: string): Omit<OptionRow, 'name'> {
  const sentences = comment.replaceAll(/\s+/g, ' ').split(/(?<=\.) (?=[A-Z`])/);
  const env = sentences.find((sentence) => sentence.startsWith('Env ')) ?? '';
  const [listed = '', fallbackOfEnv = ''] = env.split(/; (?=default)/);
  const isFallback = (sentence: string): boolean => /^(?:Default|Required)\b/.test(sentence);
  const fallback = sentences.find(isFallback) ?? fallbackOfEnv;
  return {
    variables: [...listed.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    fallback: fallback
      .replace(/^Default:? /i, '')
      .replace(/^Required/, 'required')
      .replace(/\.$/, ''),
    meaning: sentences.filter((sentence) => sentence !== env && !isFallback(sentence)).join(' '),
  };
}

const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');
const row = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(row).join('\n');

function sectionText({ heading, interfaceName, intro }: Section): string {
  const options = optionsOf(interfaceName);
  const rows = options.map(({ name, variables, fallback, meaning }) => {
    const env = variables.length === 0 ? '' : ` Environment: ${code(variables)}.`;
    return [code([name]), fallback, `${meaning}${env}`.trim()];
  });
  return `## ${heading}\n\n${intro}\n\n${table(['Option', 'Default', 'Meaning'], rows)}\n`;
}

const page = `# Options

<!-- Made by \`npm run docs:options\` from the comments of the schemas in lib/: change those. -->

Options beat environment variables. All are checked at construction, and one error names every problem. \`undefined\` is the same as nothing.

${sections.map(sectionText).join('\n')}`;

async function main(isCheck: boolean): Promise<void> {
  const path = 'docs/options.md';
  const text = await format(page, { ...(await resolveConfig(path)), parser: 'markdown' });
  if (!isCheck) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is not what the code says. Run: npm run docs:options`);
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.includes('--check'));
