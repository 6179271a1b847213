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
import { formerOptions } from '../lib/options/former.ts';

export interface OptionRow {
  readonly name: string;
  /** Environment variables, in order of precedence. */
  readonly variables: readonly string[];
  /** The one of several that the quickstarts set. Default: the first. */
  readonly taught?: string;
  readonly fallback: string;
  readonly meaning: string;
}

type Adapter = 'b2bAuth' | 'backendAuth';

const interfaceOf = { b2bAuth: 'B2bAuthOptions', backendAuth: 'BackendAuthOptions' } as const;

/** What nearly every application sets. */
const firstOptions: Readonly<Record<Adapter, readonly string[]>> = {
  b2bAuth: ['clientId', 'apiKey', 'cookiePassword', 'protectedRoutes', 'appBaseUrl'],
  backendAuth: ['url', 'anonKey', 'pages', 'protectedRoutes', 'appBaseUrl'],
};

interface Group {
  readonly title: string;
  readonly both: readonly string[];
  readonly b2bAuth: readonly string[];
  readonly backendAuth: readonly string[];
}

/** In the order of the page. Each option is in one of them or in the first tables. */
const groups: readonly Group[] = [
  {
    title: 'Sign-in',
    both: [],
    b2bAuth: ['accept', 'organizationId', 'onSignIn', 'onSignOut', 'authorizationParams', 'logoutReturnTo'],
    backendAuth: [
      'signInMethods',
      'signUp',
      'passwordMinLength',
      'codeLength',
      'providers',
      'defaultProvider',
      'sso',
      'oauthConsent',
      'accept',
      'onSignIn',
      'onSignOut',
      'signOutScope',
      'throttle',
    ],
  },
  { title: 'Pages', both: ['onError'], b2bAuth: ['pages'], backendAuth: ['pages'] },
  {
    title: 'Sessions',
    both: ['coordinator', 'refreshWindow'],
    b2bAuth: ['sessionMaxAge', 'idleTimeout', 'cookieName', 'cookieOptions'],
    backendAuth: ['sessionMaxAge', 'idleTimeout', 'cookieName', 'cookieOptions', 'keepProviderTokens'],
  },
  {
    title: 'Network',
    both: ['frontendOrigin', 'trustedOrigins', 'timeoutMs', 'waitUntil', 'fetch'],
    b2bAuth: ['apiUrl'],
    backendAuth: ['callbackUrl', 'clientAddress', 'forwardClientAddress'],
  },
  {
    title: 'Rare',
    both: ['onEvent', 'pathPrefix', 'now'],
    b2bAuth: [
      'issuer',
      'authkitDomain',
      'loginPath',
      'signUpPath',
      'callbackPath',
      'logoutPath',
      'sessionPath',
      'paths',
    ],
    backendAuth: ['issuer', 'loginPath', 'signupPath', 'callbackPath', 'logoutPath', 'sessionPath', 'paths'],
  },
];

interface Section {
  readonly heading: string;
  readonly interfaceName: string;
  readonly intro: string;
}

/** Options that are objects. */
const sections: readonly Section[] = [
  {
    heading: '`paths` of `b2bAuth`',
    interfaceName: 'B2bPathsOptions',
    intro: 'The names are those of [the typed client](client.md), which takes the same object.',
  },
  {
    heading: '`paths` of `backendAuth`',
    interfaceName: 'BackendPathsOptions',
    intro: 'The names are those of [the typed client](client.md), which takes the same object.',
  },
  {
    heading: '`cookieOptions`',
    interfaceName: 'CookieOptions',
    intro:
      'Both adapters. The Supabase adapter adds `httpOnly`: true by default; false lets every script read the session.',
  },
  {
    heading: '`pages` of both adapters',
    interfaceName: 'PagesOptions',
    intro: 'Both adapters. [The built-in pages](pages.md) shows what they do.',
  },
  {
    heading: '`pages.theme`',
    interfaceName: 'PageTheme',
    intro: 'Both adapters. [Change the look](pages.md#change-the-look) has an example.',
  },
  {
    heading: '`pages` of `backendAuth`',
    interfaceName: 'BackendPagesOptions',
    intro: 'Beside [those of both adapters](#pages-of-both-adapters):',
  },
  {
    heading: '`signUp`',
    interfaceName: 'SignUpOptions',
    intro:
      '`backendAuth`: true, false or an object. [Further fields at sign-up](backend.md#further-fields-at-sign-up) has an example.',
  },
  {
    heading: '`providers`',
    interfaceName: 'OAuthProviderOptions',
    intro: '`backendAuth`. Each is a name or an object.',
  },
  {
    heading: '`protectResource`',
    interfaceName: 'ProtectResourceOptions',
    intro:
      'The second argument of `protectResource`. [For agents](https://github.com/express-auth-adapters/express-auth-adapters/blob/main/docs/mcp.md) shows what they do. Here `undefined` is an error: an unset variable must not widen access.',
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

/** The members of a `const` object: of the interface's file, else of the room that the file takes it from. */
function entriesOf(name: string, source: ts.SourceFile): readonly ts.ObjectLiteralElementLike[] {
  const found = [source, ...sources].map((each) => objectIn(each, name)).find((object) => object !== undefined);
  if (found === undefined) throw new Error(`No object ${name}`);
  return found.properties;
}

function objectIn(source: ts.SourceFile, name: string): ts.ObjectLiteralExpression | undefined {
  const declarations = source.statements.flatMap((each) =>
    ts.isVariableStatement(each) ? each.declarationList.declarations : [],
  );
  const initializer = declarations.find((each) => each.name.getText() === name)?.initializer;
  return initializer !== undefined && ts.isObjectLiteralExpression(initializer) ? initializer : undefined;
}

/** What an interface takes from schema entries, and its own members; without those of other interfaces. */
export function optionsOf(interfaceName = ''): OptionRow[] {
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

/** A longer cell is a paragraph below its table. */
const longestCell = 100;
const longestDefault = 40;

/** The first sentence, or as much of a long one as a reader needs to skim. */
function leadOf(meaning: string): string {
  const [sentence = ''] = meaning.split(/(?<=[.;]) (?=[\w`])/, 1);
  if (sentence.length <= longestCell) return sentence.replace(/;$/, '.');
  const isOutsideCode = (index: number): boolean => sentence.slice(0, index).split('`').length % 2 === 1;
  const ends = [...sentence.slice(0, longestCell).matchAll(/[,:] /g)].map(({ index }) => index).filter(isOutsideCode);
  return `${sentence.slice(0, ends.at(-1) ?? longestCell)}.`;
}

interface Cells {
  readonly cells: readonly string[];
  /** What the cells leave out. */
  readonly more: string;
}

function cellsOf({ name, variables, taught, fallback, meaning }: OptionRow, hasVariables: boolean): Cells {
  const lead = leadOf(meaning);
  const isLong = fallback.length > longestDefault;
  // A clause of a sentence is said again, as a part of it.
  const rest = /^[.;]?$/.test(meaning.charAt(lead.length - 1)) ? meaning.slice(lead.length).trim() : meaning;
  const further = taught === undefined ? variables.slice(1) : variables;
  const more = [
    rest.replace(/^[a-z]/, (first) => first.toUpperCase()),
    isLong ? `Default${fallback.includes(': ') ? '' : ':'} ${fallback}.` : '',
    further.length === 0
      ? ''
      : `${taught === undefined ? 'Also reads' : 'Reads'} ${code(further)}${further.length > 1 ? ', in this order' : ''}.`,
  ];
  return {
    cells: [
      code([name]),
      lead,
      isLong ? (/^(\S+)[;:] /.exec(fallback)?.[1] ?? 'see below') : fallback,
      ...(hasVariables ? [code(taught === undefined ? variables.slice(0, 1) : [taught])] : []),
    ],
    more: more.filter((sentence) => sentence !== '').join(' '),
  };
}

/** A table with short cells, and below it what does not fit. */
function groupText(rows: readonly OptionRow[]): string {
  const hasVariables = rows.some(({ variables }) => variables.length > 0);
  const all = rows.map((each) => ({ name: each.name, ...cellsOf(each, hasVariables) }));
  const head = ['Option', 'Meaning', 'Default', ...(hasVariables ? ['Environment'] : [])];
  const notes = all.filter(({ more }) => more !== '').map(({ name, more }) => `- \`${name}\`: ${more}`);
  return [
    table(
      head,
      all.map(({ cells }) => cells),
    ),
    ...(notes.length === 0 ? [] : [notes.join('\n')]),
  ].join('\n\n');
}

function rowsOf(interfaceName: string, names: readonly string[]): OptionRow[] {
  const options = optionsOf(interfaceName);
  return names.map((name) => {
    const found = options.find((option) => option.name === name);
    if (found === undefined) throw new Error(`${interfaceName} has no ${name}`);
    return found;
  });
}

function groupSection({ title, both, b2bAuth, backendAuth }: Group): string {
  const parts = [
    ['both adapters', 'SharedAuthOptions', both],
    ['`b2bAuth`', interfaceOf.b2bAuth, b2bAuth],
    ['`backendAuth`', interfaceOf.backendAuth, backendAuth],
  ] as const;
  const texts = parts.flatMap(([adapter, interfaceName, names]) =>
    names.length === 0 ? [] : [`### ${title}: ${adapter}`, groupText(rowsOf(interfaceName, names))],
  );
  return [`## ${title}`, ...texts].join('\n\n');
}

function sectionText({ heading, intro, interfaceName }: Section): string {
  return [`## ${heading}`, intro, groupText(optionsOf(interfaceName))].join('\n\n');
}

const taughtVariable = 'BAAS_PUBLISHABLE_KEY';

function firstText(adapter: Adapter): string {
  const names = firstOptions[adapter];
  const own = optionsOf(interfaceOf[adapter]).filter(({ name }) => names.includes(name));
  const isOwn = (name: string): boolean => own.some((option) => option.name === name);
  const rows = names
    .flatMap((name) => rowsOf(isOwn(name) ? interfaceOf[adapter] : 'SharedAuthOptions', [name]))
    .map((row) => (row.variables.includes(taughtVariable) ? { ...row, taught: taughtVariable } : row));
  return `### You need these: \`${adapter}\`\n\n${groupText(rows)}`;
}

function formerText(): string {
  const coded = (sentence: string): string => sentence.replaceAll(/apiUrl(?:: '[^']*')?|pathPrefix/g, '`$&`');
  const rows = [...formerOptions].map(([name, { fate, write }]) => [code([name]), coded(fate), coded(write)]);
  const moved = ['`forgotPath`, and so on', 'is now in `paths`', "write `paths: { forgot: '/forgot' }`"];
  return table(['Option', 'What became of it', 'What to do'], [moved, ...rows]);
}

/** @throws {Error} where an option is on no list */
function checkGroups(): void {
  const first = Object.values(firstOptions).flat();
  for (const [adapter, interfaceName] of [...Object.entries(interfaceOf), ['both', 'SharedAuthOptions']]) {
    const listed = groups.flatMap((group) => group[adapter as Adapter | 'both']);
    const forgotten = optionsOf(interfaceName).filter(({ name }) => ![...first, ...listed].includes(name));
    if (forgotten.length > 0) throw new Error(`No group has ${code(forgotten.map(({ name }) => name))}`);
  }
}

const page = `# Options

<!-- Made by \`npm run docs:options\` from the comments of the schemas in lib/: change those. -->

This page lists every option, with its default and environment variable. An option beats its variable. All options are checked at construction, and one
error names every problem. An option that is \`undefined\` counts as not given.

## You need these

These are the five that people set. Everything else has a default that fits most apps.

${firstText('b2bAuth')}

${firstText('backendAuth')}

${groups.map(groupSection).join('\n\n')}

${sections.map(sectionText).join('\n\n')}

## Former options

This minor version is the last one that reads these. Each causes one process warning, \`EXPRESS_AUTH_ADAPTERS_DEPRECATED\`.

${formerText()}
`;

async function main(isCheck: boolean): Promise<void> {
  checkGroups();
  const path = 'docs/options.md';
  const text = await format(page, { ...(await resolveConfig(path)), parser: 'markdown' });
  if (!isCheck) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is not what the code says. Run: npm run docs:options`);
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.includes('--check'));
