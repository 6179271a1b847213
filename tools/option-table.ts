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

interface Group {
  readonly title: string;
  readonly options: readonly string[];
}

interface Section {
  readonly heading: string;
  readonly interfaceName: string;
  readonly intro: string;
  /** In the order of the page. The paths of routes follow by themselves. */
  readonly groups?: readonly Group[];
}

const both = 'It also takes [the options of both adapters](#both-adapters).';

const sections: readonly Section[] = [
  {
    heading: '`b2bAuth`',
    interfaceName: 'B2bAuthOptions',
    intro: both,
    groups: [
      { title: 'Keys of WorkOS', options: ['clientId', 'apiKey', 'cookiePassword'] },
      { title: 'Who may sign in through WorkOS', options: ['accept', 'organizationId'] },
      {
        title: 'Sign-in and sign-out at WorkOS',
        options: ['onSignIn', 'onSignOut', 'authorizationParams', 'logoutReturnTo', 'pages'],
      },
      { title: 'The session of WorkOS', options: ['sessionMaxAge', 'cookieName', 'cookieOptions', 'issuer'] },
      { title: 'Where WorkOS is', options: ['apiHostname', 'port', 'https', 'authkitDomain'] },
    ],
  },
  {
    heading: '`backendAuth`',
    interfaceName: 'BackendAuthOptions',
    intro: both,
    groups: [
      { title: 'The Supabase project', options: ['url', 'anonKey'] },
      {
        title: 'Ways to sign in',
        options: [
          'signInMethods',
          'signUp',
          'passwordMinLength',
          'codeLength',
          'providers',
          'defaultProvider',
          'sso',
          'oauthConsent',
          'pages',
        ],
      },
      { title: 'Who may sign in at Supabase', options: ['accept'] },
      { title: 'Sign-in and sign-out at Supabase', options: ['onSignIn', 'onSignOut', 'signOutScope'] },
      {
        title: 'The session of Supabase',
        options: ['cookieName', 'cookieOptions', 'keepProviderTokens', 'issuer'],
      },
      {
        title: 'Limits',
        options: ['throttle', 'clientAddress', 'forwardClientAddress', 'mailAnswerMs'],
      },
    ],
  },
  {
    heading: 'Both adapters',
    interfaceName: 'SharedAuthOptions',
    intro: '',
    groups: [
      {
        title: 'Pages and origins',
        options: ['protectedRoutes', 'appBaseUrl', 'frontendOrigin', 'trustedOrigins', 'pathPrefix', 'stylesheetPath'],
      },
      {
        title: 'Refreshes and processes',
        options: ['refreshWindow', 'waitUntil', 'timeoutMs', 'maxCachedSessions', 'coordinator'],
      },
      { title: 'Errors and events', options: ['onError', 'onEvent'] },
      { title: 'Proxies and tests', options: ['fetch', 'now'] },
    ],
  },
  {
    heading: '`cookieOptions`',
    interfaceName: 'CookieOptions',
    intro:
      'Both adapters. The Supabase adapter adds `httpOnly`: true by default; false lets every script read the session.',
  },
  {
    heading: '`pages`',
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
    intro: 'Beside [those of both adapters](#pages):',
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
      'The second argument of `protectResource`. [For agents](mcp.md) shows what they do. Here `undefined` is an error: an unset variable must not widen access.',
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

function cellsOf({ name, variables, fallback, meaning }: OptionRow, hasVariables: boolean): Cells {
  const lead = leadOf(meaning);
  const isLong = fallback.length > longestDefault;
  // A clause of a sentence is said again, as a part of it.
  const rest = /^[.;]?$/.test(meaning.charAt(lead.length - 1)) ? meaning.slice(lead.length).trim() : meaning;
  const further = variables.slice(1);
  const more = [
    rest.replace(/^[a-z]/, (first) => first.toUpperCase()),
    isLong ? `Default${fallback.includes(': ') ? '' : ':'} ${fallback}.` : '',
    further.length === 0 ? '' : `Also reads ${code(further)}${further.length > 1 ? ', in this order' : ''}.`,
  ];
  return {
    cells: [
      code([name]),
      lead,
      isLong ? (/^(\S+)[;:] /.exec(fallback)?.[1] ?? 'see below') : fallback,
      ...(hasVariables ? [code(variables.slice(0, 1))] : []),
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

/** The groups of a section with their options; the paths of its routes come last. */
function groupsOf({
  heading,
  interfaceName,
  groups = [],
}: Section): { readonly title: string; readonly rows: readonly OptionRow[] }[] {
  const options = optionsOf(interfaceName);
  if (groups.length === 0) return [{ title: '', rows: options }];
  const rowsOf = (names: readonly string[]): OptionRow[] =>
    names.map((name) => {
      const found = options.find((option) => option.name === name);
      if (found === undefined) throw new Error(`${interfaceName} has no ${name}`);
      return found;
    });
  const named = groups.flatMap((group) => group.options);
  const routes = options.filter(({ name }) => !named.includes(name));
  const forgotten = routes.filter(({ name }) => !/^callbackUrl$|Path$/.test(name));
  if (forgotten.length > 0) throw new Error(`No group of ${heading} has ${code(forgotten.map(({ name }) => name))}`);
  return [
    ...groups.map(({ title, options: names }) => ({ title, rows: rowsOf(names) })),
    { title: `Routes of ${heading}`, rows: routes },
  ].filter(({ rows }) => rows.length > 0);
}

function sectionText(section: Section): string {
  const groups = groupsOf(section).map(
    ({ title, rows }) => `${title === '' ? '' : `### ${title}\n\n`}${groupText(rows)}`,
  );
  return [`## ${section.heading}`, section.intro, ...groups].filter((part) => part !== '').join('\n\n');
}

/** What nearly every application sets, by adapter. */
const firstOptions = {
  b2bAuth: ['clientId', 'apiKey', 'cookiePassword', 'protectedRoutes', 'appBaseUrl'],
  backendAuth: ['url', 'anonKey', 'pages', 'protectedRoutes', 'appBaseUrl'],
} as const;

/** Of several variables the one that the quickstarts set; else the first. */
const taughtVariable = 'BAAS_PUBLISHABLE_KEY';

function firstText(adapter: keyof typeof firstOptions): string {
  const own = optionsOf(adapter === 'b2bAuth' ? 'B2bAuthOptions' : 'BackendAuthOptions');
  const rows = firstOptions[adapter].map((name) => {
    const found = [...own, ...optionsOf('SharedAuthOptions')].find((option) => option.name === name);
    if (found === undefined) throw new Error(`${adapter} has no ${name}`);
    return [
      code([name]),
      leadOf(found.meaning),
      code(found.variables.includes(taughtVariable) ? [taughtVariable] : found.variables.slice(0, 1)),
    ];
  });
  return `With \`${adapter}\`:\n\n${table(['Option', 'Meaning', 'Environment'], rows)}`;
}

const page = `# Options

<!-- Made by \`npm run docs:options\` from the comments of the schemas in lib/: change those. -->

This page lists every option, with its default and environment variable. An option beats its variable. All options are checked at construction, and one
error names every problem. An option that is \`undefined\` counts as not given.

## The five that everyone sets

${firstText('b2bAuth')}

${firstText('backendAuth')}

\`backendAuth\` reads \`appBaseUrl\` from \`APP_BASE_URL\`, too. Everything else has a default that fits most apps.

${sections.map(sectionText).join('\n\n')}
`;

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
