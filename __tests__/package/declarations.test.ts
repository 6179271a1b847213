import { relative } from 'node:path';
import ts from 'typescript';
import { formerOptions } from '../../lib/options/former.ts';

const entry = 'dist/index.d.ts';
const program = ts.createProgram([entry], {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  types: ['node'],
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
});

function propertiesOf(name: string): readonly ts.Symbol[] {
  const checker = program.getTypeChecker();
  const index = checker.getSymbolAtLocation(program.getSourceFile(entry)!)!;
  const exported = checker.getExportsOfModule(index).find((symbol) => symbol.name === name)!;
  return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(exported));
}

/** Their comments are in the map of them all. */
const isFormer = (option: string): boolean =>
  formerOptions.has(option) || /^(?!login|sign[uU]p|callback|logout|session)\w+Path$/.test(option);

it('compile with exact optional properties', () => {
  const ours = program
    .getSourceFiles()
    .filter(({ fileName }) => /^(?:\.\/)?dist\//.test(relative(process.cwd(), fileName)));
  expect(ours.length).toBeGreaterThan(5);
  const problems = ours.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...program.getSemanticDiagnostics(file),
  ]);
  expect(problems.map(({ messageText }) => messageText)).toEqual([]);
});

it.each([
  ['B2bAuthOptions', 35],
  ['BackendAuthOptions', 42],
  ['BackendCookieOptions', 6],
  ['BackendPagesOptions', 10],
  ['CookieOptions', 5],
  ['PagesOptions', 8],
  ['ThrottleOptions', 2],
  ['ForwardAuthOptions', 3],
  ['UpgradeOptions', 4],
])('show the comment of every option of %s', (name, count) => {
  const checker = program.getTypeChecker();
  const properties = propertiesOf(name).filter((property) => !isFormer(property.name));
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
