import ts from 'typescript';

/** What one module asks of others, and how large and branched its functions are: read from the syntax tree. */
export interface SourceFile {
  /** Relative to the root of the sources, with slashes. */
  readonly path: string;
  readonly lines: number;
  /** Every specifier, whatever the syntax; `undefined` for one that is computed, which no test can follow. */
  readonly imports: readonly (string | undefined)[];
  /** The specifiers of which the file exports names again. */
  readonly passedOn: readonly string[];
  /** The imports that leave something in the emitted module. */
  readonly runtimeImports: readonly (string | undefined)[];
  readonly functions: readonly FunctionSize[];
}

export interface FunctionSize {
  readonly name: string;
  readonly lines: number;
  /** McCabe's count: 1, and 1 more for each place where the function can go two ways. Inner functions count for themselves. */
  readonly complexity: number;
}

interface Reference {
  readonly specifier: string | undefined;
  readonly isTypeOnly: boolean;
}

export function readSource(path: string, text: string): SourceFile {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const nodes = descendants(file);
  const references = [
    ...file.typeReferenceDirectives.map(({ fileName }) => ({ specifier: fileName, isTypeOnly: true })),
    ...file.referencedFiles.map(({ fileName }) => ({ specifier: fileName.replace(/^(?!\.)/, './'), isTypeOnly: true })),
    ...nodes.flatMap(referencesOf),
  ];
  return {
    path,
    lines: text.split('\n').length - 1,
    imports: references.map(({ specifier }) => specifier),
    passedOn: passedOnBy(file),
    runtimeImports: references.filter(({ isTypeOnly }) => !isTypeOnly).map(({ specifier }) => specifier),
    functions: nodes.filter(hasBody).map((node) => ({
      name: nameOf(node),
      lines: lineAt(file, node.end) - lineAt(file, node.getStart()) + 1,
      complexity: 1 + descendants(node, hasBody).filter(branches).length,
    })),
  };
}

/** A function with a body, by the names of those around it. */
export interface NamedFunction {
  /** `file > outer > inner`; a number tells those of one name apart. */
  readonly name: string;
  /** Offsets in the text. */
  readonly start: number;
  readonly end: number;
  /** Counted from 1. */
  readonly firstLine: number;
  readonly lastLine: number;
}

/** The functions of a file, an outer one before its inner ones. */
export function functionsOf(path: string, text: string): NamedFunction[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: NamedFunction[] = [];
  const visit = (node: ts.Node, outer: string, names: Map<string, number>): void => {
    if (!hasBody(node)) return ts.forEachChild(node, (child) => visit(child, outer, names));
    const own = nameOf(node);
    const count = (names.get(own) ?? 0) + 1;
    names.set(own, count);
    const name = `${outer} > ${own}${count === 1 ? '' : ` ${count}`}`;
    const [start, { end }] = [node.getStart(), node];
    found.push({ name, start, end, firstLine: lineAt(file, start) + 1, lastLine: lineAt(file, end) + 1 });
    const inner = new Map<string, number>();
    ts.forEachChild(node, (child) => visit(child, name, inner));
  };
  visit(file, path, new Map());
  return found;
}

/** All nodes below `node`; those that `isClosed` are listed, and not entered. */
export function descendants(node: ts.Node, isClosed: (node: ts.Node) => boolean = () => false): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (child: ts.Node): void => {
    found.push(child);
    if (!isClosed(child)) ts.forEachChild(child, visit);
  };
  ts.forEachChild(node, visit);
  return found;
}

function referencesOf(node: ts.Node): Reference[] {
  if (ts.isImportDeclaration(node)) return [reference(node.moduleSpecifier, isTypeOnlyImport(node))];
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined)
    return [reference(node.moduleSpecifier, node.isTypeOnly)];
  if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference))
    return [reference(node.moduleReference.expression, node.isTypeOnly)];
  if (ts.isImportTypeNode(node))
    return [reference(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, true)];
  if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name)) return [reference(node.name, true)];
  if (ts.isCallExpression(node) && isLoader(node.expression)) return [reference(node.arguments[0], false)];
  return [];
}

function passedOnBy(file: ts.SourceFile): string[] {
  const fromOf = new Map(
    file.statements
      .filter(ts.isImportDeclaration)
      .flatMap(({ importClause, moduleSpecifier }) =>
        (importClause === undefined ? [] : descendants(importClause))
          .filter(ts.isIdentifier)
          .map(({ text }) => [text, textOf(moduleSpecifier)] as const),
      ),
  );
  return file.statements.filter(ts.isExportDeclaration).flatMap(({ moduleSpecifier, exportClause }) => {
    if (moduleSpecifier !== undefined) return [textOf(moduleSpecifier)];
    const names = exportClause === undefined ? [] : descendants(exportClause).filter(ts.isIdentifier);
    return names.flatMap(({ text }) => fromOf.get(text) ?? []);
  });
}

const textOf = (specifier: ts.Expression): string => (ts.isStringLiteralLike(specifier) ? specifier.text : '');

function reference(specifier: ts.Node | undefined, isTypeOnly: boolean): Reference {
  return {
    specifier: specifier !== undefined && ts.isStringLiteralLike(specifier) ? specifier.text : undefined,
    isTypeOnly,
  };
}

/** With `verbatimModuleSyntax` only `import type` disappears; `import { type X }` still loads the module. */
function isTypeOnlyImport(node: ts.ImportDeclaration): boolean {
  return node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}

/** `import(…)`, `require(…)` and their kin, such as `import.defer(…)`, `require.resolve(…)` and `createRequire(…)(…)`. */
function isLoader(callee: ts.Expression): boolean {
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return true;
  if (ts.isMetaProperty(callee))
    return callee.keywordToken === ts.SyntaxKind.ImportKeyword && callee.name.text !== 'meta';
  if (ts.isCallExpression(callee)) return isNamed(callee.expression, 'createRequire');
  if (isNamed(callee, 'require') || isNamed(callee, 'getBuiltinModule')) return true;
  if (!ts.isPropertyAccessExpression(callee)) return false;
  const isResolve = callee.name.text === 'resolve' && ts.isMetaProperty(callee.expression);
  return isResolve || isLoader(callee.expression);
}

/** Whether it is this name, or ends with it. */
function isNamed(expression: ts.Expression, name: string): boolean {
  const last = ts.isPropertyAccessExpression(expression) ? expression.name : expression;
  return ts.isIdentifier(last) && last.text === name;
}

function hasBody(node: ts.Node): boolean {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
}

const branching = new Set([
  ts.SyntaxKind.IfStatement,
  ts.SyntaxKind.ConditionalExpression,
  ts.SyntaxKind.ForStatement,
  ts.SyntaxKind.ForInStatement,
  ts.SyntaxKind.ForOfStatement,
  ts.SyntaxKind.WhileStatement,
  ts.SyntaxKind.DoStatement,
  ts.SyntaxKind.CaseClause,
  ts.SyntaxKind.CatchClause,
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
  ts.SyntaxKind.AmpersandAmpersandEqualsToken,
  ts.SyntaxKind.BarBarEqualsToken,
  ts.SyntaxKind.QuestionQuestionEqualsToken,
]);

function branches(node: ts.Node): boolean {
  return branching.has(node.kind);
}

function nameOf(node: ts.Node): string {
  const named = ts.isArrowFunction(node) || ts.isFunctionExpression(node) ? node.parent : node;
  const name = (named as ts.NamedDeclaration).name;
  return name === undefined ? '(anonymous)' : name.getText();
}

function lineAt(file: ts.SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line;
}
