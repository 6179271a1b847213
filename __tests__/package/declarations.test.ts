import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import ts from 'typescript';

// Inside the repository, where the declarations find the packages that they import.
const directory = 'reports/declarations';
let program: ts.Program;

beforeAll(() => {
  rmSync(directory, { recursive: true, force: true });
  const emit = ['-p', 'tsconfig.build.json', '--outDir', directory];
  expect(spawnSync('node_modules/.bin/tsc', emit, { encoding: 'utf8' })).toMatchObject({ status: 0, stdout: '' });
  program = ts.createProgram([`${directory}/index.d.ts`], {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: ['node'],
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
  });
}, 60_000);

function propertiesOf(name: string): readonly ts.Symbol[] {
  const checker = program.getTypeChecker();
  const index = checker.getSymbolAtLocation(program.getSourceFile(`${directory}/index.d.ts`)!)!;
  const exported = checker.getExportsOfModule(index).find((symbol) => symbol.name === name)!;
  return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(exported));
}

it('compile with the checks of libraries on', () => {
  // Those of the SDKs have problems of their own.
  const ours = new RegExp(`/(?:${directory}|node_modules/valibot)/`);
  const problems = ts.getPreEmitDiagnostics(program).filter(({ file }) => ours.test(file?.fileName ?? ''));
  expect(problems.map(({ messageText }) => messageText)).toEqual([]);
});

it.each([
  ['B2bAuthOptions', 36],
  ['BackendAuthOptions', 46],
  ['BackendCookieOptions', 6],
  ['BackendPagesOptions', 10],
  ['CookieOptions', 5],
  ['PagesOptions', 8],
  ['ThrottleOptions', 2],
  ['ForwardAuthOptions', 3],
  ['UpgradeOptions', 4],
])('show the comment of every option of %s', (name, count) => {
  const checker = program.getTypeChecker();
  const properties = propertiesOf(name);
  expect(properties.length).toBeGreaterThanOrEqual(count);
  const bare = properties.filter((property) => property.getDocumentationComment(checker).length === 0);
  expect(bare.map((property) => property.name)).toEqual([]);
});

it.each([
  ['B2bAuthOptions', 'cookiePassword', 'string | readonly string[]'],
  ['B2bAuthOptions', 'authorizationParams', '{ readonly [x: string]: string | readonly string[]; }'],
  ['B2bAuthOptions', 'accept', '(session: B2bSession, req: Request) => boolean | Promise<boolean>'],
  ['BackendAuthOptions', 'cookieOptions', 'BackendCookieOptions'],
  ['BackendAuthOptions', 'providers', 'readonly (string | OAuthProviderOptions)[]'],
  ['BackendAuthOptions', 'throttle', 'false | ThrottleOptions'],
  ['BackendAuthOptions', 'loginPath', 'string'],
])('give %s.%s the type %s', (name, option, type) => {
  const checker = program.getTypeChecker();
  const property = propertiesOf(name).find((each) => each.name === option)!;
  const given = checker.getNonNullableType(checker.getTypeOfSymbol(property));
  const text = checker.typeToString(given, undefined, ts.TypeFormatFlags.NoTruncation);
  expect(text.replace(/Request<.*>(?=\) =>)/, 'Request')).toBe(type);
});
