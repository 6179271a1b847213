import { posix } from 'node:path';
import ts from 'typescript';
import { descendants } from '../__tests__/support/source-tree.ts';

/** Texts of files by their paths from the root, with slashes. */
export type Texts = Readonly<Record<string, string>>;

/** What was taken away: lines of a file, a case of a suite with its title, or a whole file. */
export interface Removed {
  readonly path: string;
  readonly line: number;
  /** The first line of the text, or the title of the case; empty for a whole file. */
  readonly text: string;
}

export interface Removal {
  /** The files that changed, and `undefined` for those that are gone. */
  readonly texts: ReadonlyMap<string, string | undefined>;
  readonly removed: readonly Removed[];
  /** Code of lib/ that uses what is gone, and that is more than an import, an export, an item of a list, or a call. */
  readonly stuck: readonly Removed[];
}

/** Where the removal begins. */
export interface Start {
  /** Files that are gone. */
  readonly files: readonly string[];
  /** What names the room, in titles, strings and names of suites. */
  readonly words?: RegExp | undefined;
  /** The room's folder below lib/, as lists of folders name it. */
  readonly folder?: string;
  /** Keys of texts that go from the translations. */
  readonly textKeys?: ReadonlySet<string>;
  /** Names of options that go from the groups of the table. */
  readonly optionKeys?: ReadonlySet<string>;
  /** Places that the compiler complains about. */
  readonly places?: readonly Place[];
}

export interface Place {
  readonly path: string;
  /** The offset in the text. */
  readonly start: number;
  /** It is there and not used. */
  readonly isUnused: boolean;
}

/** It lists options and their interfaces. */
const optionTable = 'tools/option-table.ts';

/** What lists exports and folders: there a room is named by its exports and by its folder alone. */
const listing = [
  ...['exports', 'package/entries', 'architecture'].map((name) => `__tests__/${name}.test.ts`),
  optionTable,
];

const isSuite = (path: string): boolean => path.endsWith('.test.ts');
const isLib = (path: string): boolean => path.startsWith('lib/');

/**
 * Takes files away, and what uses them: the import, the export, the item of a list or the call that names one of their exports; in
 * a suite the case; elsewhere outside of lib/ the statement or the function. What uses a name so taken away follows, through all
 * files.
 */
export function remove(texts: Texts, start: Start): Removal {
  const tree = new Tree(texts, start.files);
  const { places = [], textKeys = new Set(), optionKeys = new Set(), words, folder } = start;
  for (const { path, start: at, isUnused } of places) {
    const node = tree.nodeAt(path, at);
    if (isUnused) tree.takeUnused(path, node);
    else tree.take(path, isValue(node) ? listAround(node) : node);
  }
  if (folder !== undefined) for (const path of listing) tree.takeText(path, folder);
  if (words !== undefined) for (const path of Object.keys(texts).filter(isSuite)) tree.takeNamed(path, words);
  for (const path of Object.keys(texts).filter((each) => each.startsWith('lib/texts/'))) tree.takeKeys(path, textKeys);
  for (const key of optionKeys) tree.takeText(optionTable, key);
  tree.follow();
  return tree.result();
}

interface GoneName {
  readonly path: string;
  readonly name: string;
}

class Tree {
  readonly #files = new Map<string, ts.SourceFile>();
  readonly #texts: Texts;
  readonly #goneFiles: Set<string>;
  readonly #units = new Map<string, Set<ts.Node>>();
  readonly #stuck: (readonly [string, ts.Node])[] = [];
  readonly #exports: GoneName[] = [];
  /** By the file that is imported: the declarations that import it. */
  readonly #importers = new Map<string, (readonly [string, ts.ImportDeclaration | ts.ExportDeclaration])[]>();

  constructor(texts: Texts, gone: readonly string[]) {
    this.#texts = texts;
    this.#goneFiles = new Set(gone);
    for (const path of Object.keys(texts)) for (const each of this.#imports(path)) this.#addImporter(path, ...each);
  }

  #addImporter(path: string, target: string, declaration: ts.ImportDeclaration | ts.ExportDeclaration): void {
    const known = this.#importers.get(target);
    if (known === undefined) this.#importers.set(target, [[path, declaration]]);
    else known.push([path, declaration]);
  }

  #imports(path: string): (readonly [string, ts.ImportDeclaration | ts.ExportDeclaration])[] {
    return this.#file(path).statements.flatMap((statement) => {
      if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
      const target = targetOf(path, statement.moduleSpecifier);
      return target === undefined ? [] : [[target, statement] as const];
    });
  }

  #file(path: string): ts.SourceFile {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const file = ts.createSourceFile(path, this.#texts[path] ?? '', ts.ScriptTarget.Latest, true);
    this.#files.set(path, file);
    return file;
  }

  nodeAt(path: string, position: number): ts.Node {
    let found: ts.Node = this.#file(path);
    const enter = (child: ts.Node): void => {
      if (child.getStart() <= position && position < child.end) {
        found = child;
        ts.forEachChild(child, enter);
      }
    };
    ts.forEachChild(found, enter);
    return found;
  }

  /** Cases, and what is around them, that name the room. */
  takeNamed(path: string, words: RegExp): void {
    if (listing.includes(path)) return;
    for (const node of descendants(this.#file(path), ts.isImportDeclaration))
      if (isNaming(node, words)) this.take(path, node);
  }

  /** Properties with these names, at the top of the file's object. */
  takeKeys(path: string, keys: ReadonlySet<string>): void {
    for (const node of descendants(this.#file(path)))
      if (ts.isPropertyAssignment(node) && keys.has(nameOf(node.name))) this.#mark(path, node);
  }

  /** Whatever of the code cannot be without this node. */
  take(path: string, node: ts.Node): void {
    // What a whole file lacks, nothing in it can mend.
    if (this.#goneFiles.has(path) || ts.isSourceFile(node) || this.#isGone(path, node)) return;
    const unit = isLib(path) ? plainUnit(node) : path.startsWith('__tests__/') ? suiteUnit(node) : otherUnit(node);
    if (unit === undefined) this.#stuck.push([path, node]);
    else this.#mark(path, unit);
    const assigned = unit === undefined || !isSuite(path) ? undefined : assignedIn(unit);
    if (assigned !== undefined) this.#takeVariable(path, assigned);
  }

  /** What a hook assigns is not there: neither are the cases that use it. */
  #takeVariable(path: string, name: string): void {
    for (const node of descendants(this.#file(path)))
      if (ts.isVariableStatement(node) && declaredIn(node).some((each) => each.name.text === name))
        this.#mark(path, node);
  }

  /** The cases for which a hook calls this. */
  #takeGroup(path: string, hook: ts.Node): void {
    const cases = descendants(caseAround(hook) ?? this.#file(path)).filter((node) => isCase(node));
    for (const each of cases) this.#mark(path, each);
  }

  takeUnused(path: string, node: ts.Node): void {
    if (this.#goneFiles.has(path) || this.#isGone(path, node)) return;
    this.#mark(path, unusedUnit(node));
  }

  #isGone(path: string, node: ts.Node): boolean {
    const units = this.#units.get(path);
    return units !== undefined && upward(node).some((each) => units.has(each));
  }

  #mark(path: string, unit: ts.Node): void {
    if (this.#isGone(path, unit)) return;
    const units = this.#units.get(path) ?? new Set();
    this.#units.set(path, units.add(unit));
    if (!isLib(path) && ts.isPropertyAssignment(unit)) this.#takeRow(path, unit);
    for (const { name, isExported } of declaredIn(unit)) {
      if (isExported) this.#exports.push({ path, name: name.text });
      this.#takeUses(path, name);
    }
    this.#takeEmpty(path, unit.parent);
  }

  /** A row of a table by its title: other tables and cases name it so, and tables of suites that import this one. */
  #takeRow(path: string, { name }: ts.PropertyAssignment): void {
    const key = nameOf(name);
    if (key.includes(' ')) {
      for (const other of Object.keys(this.#texts)) if (!isLib(other)) this.takeText(other, key);
    } else if (path.startsWith('__tests__/support/')) {
      for (const [importer] of this.#importers.get(path) ?? [])
        for (const node of isSuite(importer) ? descendants(this.#file(importer)) : [])
          if (ts.isPropertyAssignment(node) && nameOf(node.name) === key && isOfConstant(node))
            this.#mark(importer, node);
    }
  }

  /** A list without items, a group without cases, an import without names. */
  #takeEmpty(path: string, parent: ts.Node): void {
    const isEmpty = (nodes: readonly ts.Node[]): boolean => nodes.every((node) => this.#isGone(path, node));
    const list = listOf(parent);
    if (list !== undefined && isEmpty(list)) {
      const holder = ts.isNamedImports(parent) || ts.isNamedExports(parent) ? declarationOf(parent) : parent;
      if (ts.isArrayLiteralExpression(holder)) this.#takeTable(path, holder);
      else if (!ts.isObjectLiteralExpression(holder) && !ts.isInterfaceDeclaration(holder)) this.#mark(path, holder);
      return;
    }
    const group = caseAround(parent);
    if (group === undefined) return;
    const inner = descendants(group).filter((node) => isCase(node));
    if (inner.length > 0 && isEmpty(inner)) this.#mark(path, group);
  }

  /** Cases for each row of a table without rows, and a list of nothing. */
  #takeTable(path: string, table: ts.Node): void {
    const group = caseAround(table);
    if (group !== undefined && tableOf(group) === table) this.#mark(path, group);
    else if (!isLib(path)) this.take(path, table.parent);
  }

  /** The uses of a name within the block that declares it. */
  #takeUses(path: string, name: ts.Identifier): void {
    const block = blockAround(name);
    const isOwn = !ts.isImportSpecifier(name.parent) && !ts.isImportClause(name.parent);
    for (const node of descendants(block).filter((each) => isUse(each, name.text) && !isShadowed(each, block))) {
      const hook = isOwn && isSuite(path) ? upward(node).find(isHook) : undefined;
      if (hook !== undefined && isPlainCall(node)) this.#takeGroup(path, hook);
      this.take(path, node);
    }
  }

  /** Imports of what is gone, and what uses their names. */
  follow(): void {
    const deleted = [...this.#goneFiles].filter((path) => path in this.#texts);
    for (const path of deleted) this.#followFile(path);
    for (let next = this.#exports.pop(); next !== undefined; next = this.#exports.pop()) this.#followExport(next);
    for (const path of Object.keys(this.#texts).filter((each) => isSuite(each) && this.#isWithoutCases(each)))
      if (!this.#goneFiles.has(path)) {
        this.#goneFiles.add(path);
        this.#followFile(path);
      }
    if (this.#exports.length > 0) this.follow();
  }

  #isWithoutCases(path: string): boolean {
    if (!this.#units.has(path)) return false;
    const cases = descendants(this.#file(path)).filter((node) => isCase(node));
    return cases.every((node) => this.#isGone(path, node));
  }

  #followFile(path: string): void {
    for (const [importer, declaration] of this.#importers.get(path) ?? []) {
      if (this.#goneFiles.has(importer)) continue;
      if (ts.isExportDeclaration(declaration) && declaration.exportClause === undefined)
        for (const name of this.#exportedNames(path)) this.#exports.push({ path: importer, name });
      this.#mark(importer, declaration);
    }
    for (const importer of Object.keys(this.#texts))
      if (!this.#goneFiles.has(importer) && this.#texts[importer]?.includes('import(') === true)
        for (const node of descendants(this.#file(importer)))
          if (isImportOf(node, importer, path)) this.take(importer, node);
  }

  #exportedNames(path: string): string[] {
    return this.#file(path).statements.flatMap((statement) => {
      if (ts.isExportDeclaration(statement)) {
        const { exportClause: clause } = statement;
        if (clause !== undefined && ts.isNamedExports(clause)) return clause.elements.map(({ name }) => name.text);
        const target = targetOf(path, statement.moduleSpecifier);
        return target === undefined || !(target in this.#texts) ? [] : this.#exportedNames(target);
      }
      return declaredIn(statement).flatMap(({ name, isExported }) => (isExported ? [name.text] : []));
    });
  }

  #followExport({ path, name }: GoneName): void {
    if (/^lib\/(?:\w+\/)?index\.ts$/.test(path)) for (const list of listing) this.takeText(list, name);
    for (const [importer, declaration] of this.#importers.get(path) ?? []) {
      if (this.#goneFiles.has(importer)) continue;
      if (ts.isExportDeclaration(declaration) && declaration.exportClause === undefined)
        this.#exports.push({ path: importer, name });
      for (const specifier of specifiersOf(declaration)) {
        if (ts.isNamespaceImport(specifier)) this.#takeMembers(importer, specifier.name.text, name);
        else if ((specifier.propertyName ?? specifier.name).text === name) this.#mark(importer, specifier);
      }
    }
  }

  /** Strings and keys with this text. */
  takeText(path: string, text: string): void {
    if (this.#texts[path]?.includes(text) !== true) return;
    for (const node of descendants(this.#file(path)))
      if (ts.isStringLiteral(node) && node.text === text) this.take(path, node);
  }

  /** `namespace.name` */
  #takeMembers(path: string, namespace: string, name: string): void {
    for (const node of descendants(this.#file(path)))
      if (
        ts.isPropertyAccessExpression(node) &&
        node.name.text === name &&
        ts.isIdentifier(node.expression) &&
        node.expression.text === namespace
      )
        this.take(path, node);
  }

  result(): Removal {
    const texts = new Map<string, string | undefined>();
    const removed: Removed[] = [];
    for (const path of [...this.#goneFiles].sort()) texts.set(path, undefined);
    for (const path of [...this.#goneFiles].filter((each) => this.#units.has(each)))
      removed.push({ path, line: 0, text: '' });
    for (const [path, units] of [...this.#units].sort(([one], [other]) => (one < other ? -1 : 1))) {
      if (this.#goneFiles.has(path)) continue;
      const outer = [...units].filter((unit) => !this.#isGone(path, unit.parent));
      removed.push(...outer.map((unit) => this.#told(path, unit)));
      texts.set(path, cut(this.#file(path).text, outer));
    }
    // Another unit may have taken it along since.
    const stuck = this.#stuck.filter(([path, node]) => !this.#isGone(path, node));
    return { texts, removed, stuck: stuck.map(([path, node]) => this.#told(path, node)) };
  }

  #told(path: string, node: ts.Node): Removed {
    const line = this.#file(path).getLineAndCharacterOfPosition(node.getStart()).line + 1;
    const text = isCase(node) ? titleOf(node) : (node.getText().split('\n')[0] ?? '');
    return { path, line, text };
  }
}

/** The file that a specifier means: of this package, or undefined. */
function targetOf(path: string, specifier: ts.Node | undefined): string | undefined {
  if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return undefined;
  const { text } = specifier;
  if (text.startsWith('.')) return posix.join(posix.dirname(path), text);
  const [, entry] = /^express-auth-adapters(\/.+)?$/.exec(text) ?? [undefined, undefined];
  if (!text.startsWith('express-auth-adapters')) return undefined;
  if (entry?.startsWith('/texts/') === true) return `lib${entry}.ts`;
  return `lib${entry ?? ''}/index.ts`;
}

function isImportOf(node: ts.Node, importer: string, path: string): boolean {
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) && targetOf(importer, node.argument.literal) === path;
  const isImport = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  return isImport && targetOf(importer, node.arguments[0]) === path;
}

function specifiersOf(
  declaration: ts.ImportDeclaration | ts.ExportDeclaration,
): readonly (ts.ImportSpecifier | ts.ExportSpecifier | ts.NamespaceImport)[] {
  if (ts.isExportDeclaration(declaration)) {
    const { exportClause: clause } = declaration;
    return clause !== undefined && ts.isNamedExports(clause) ? clause.elements : [];
  }
  const bindings = declaration.importClause?.namedBindings;
  if (bindings === undefined) return [];
  return ts.isNamedImports(bindings) ? bindings.elements : [bindings];
}

/** A word of the room, outside of comments. */
function isNaming(node: ts.Node, words: RegExp): boolean {
  const isText =
    ts.isIdentifier(node) ||
    ts.isStringLiteralLike(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddleOrTemplateTail(node) ||
    ts.isRegularExpressionLiteral(node) ||
    ts.isNumericLiteral(node);
  return isText && words.test(node.text);
}

/** The node and those around it, up to `last`, or to the file. */
function upward(node: ts.Node, last?: ts.Node): ts.Node[] {
  const found: ts.Node[] = [];
  for (let each = node; !ts.isSourceFile(each); each = each.parent) {
    found.push(each);
    if (each === last) break;
  }
  return found;
}

// Units

function isCase(node: ts.Node): boolean {
  if (!ts.isExpressionStatement(node) || !ts.isCallExpression(node.expression)) return false;
  let callee: ts.Expression = node.expression.expression;
  while (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) callee = callee.expression;
  return ts.isIdentifier(callee) && /^(?:it|test|describe)(?:$|[A-Z])/.test(callee.text);
}

function isGroup(node: ts.Node): boolean {
  return isCase(node) && node.getText().startsWith('describe');
}

function caseAround(node: ts.Node): ts.Node | undefined {
  return upward(node).find(isCase);
}

function callOf(unit: ts.Node): ts.CallExpression {
  return (unit as ts.ExpressionStatement).expression as ts.CallExpression;
}

/** Of `it.each(table)(…)`. */
function tableOf(unit: ts.Node): ts.Expression | undefined {
  let callee = callOf(unit).expression;
  if (!ts.isCallExpression(callee)) return undefined;
  let [table] = callee.arguments;
  callee = callee.expression;
  while (table !== undefined && (ts.isAsExpression(table) || ts.isSatisfiesExpression(table))) table = table.expression;
  return table;
}

function titleOf(unit: ts.Node): string {
  const [title] = callOf(unit).arguments;
  return title === undefined ? '' : title.getText().replaceAll(/\s+/g, ' ');
}

/** In lib/: an import, an export, an item of a list, an object's property, a call that is a statement. */
function plainUnit(node: ts.Node): ts.Node | undefined {
  for (const each of upward(node)) {
    const { parent } = each;
    if (isListed(each) || ts.isExpressionWithTypeArguments(each)) return each;
    if (ts.isImportDeclaration(each) || ts.isExportDeclaration(each)) return each;
    if (ts.isExpressionStatement(each)) return each;
    if (ts.isFunctionLike(parent) || ts.isStatement(each)) return undefined;
  }
  return undefined;
}

/** In a suite: the case; around the cases, and in what suites share, the item of the outermost list, the property, or the function. */
function suiteUnit(node: ts.Node): ts.Node {
  const inner = caseAround(node);
  if (inner !== undefined && !isGroup(inner)) {
    const table = tableOf(inner);
    return table === undefined || !isWithin(node, table) ? inner : (outermostItem(node, table) ?? inner);
  }
  if (inner !== undefined) {
    const body = callOf(inner).arguments.at(-1);
    const table = tableOf(inner);
    if (table !== undefined && isWithin(node, table)) return outermostItem(node, table) ?? inner;
    if (body === undefined || !isWithin(node, body)) return inner;
  }
  if (ts.isPropertyAssignment(node.parent) && node.parent.name === node && !isOfCall(node.parent)) return node.parent;
  const statement = ownStatement(node);
  return (
    routeStatement(node, statement) ??
    rowOfCases(node, statement) ??
    setUpStatement(node, statement) ??
    outermostItem(node, statement) ??
    upward(node, statement).find((each) => isMember(each) && !isOfCall(each)) ??
    upward(node, statement).find(isMember) ??
    statementUnit(node, statement)
  );
}

/** Of the functions around the node the outermost one that is no group of cases; a hook loses a statement alone. */
function ownStatement(node: ts.Node): ts.Node {
  let found = node;
  for (const each of upward(node)) {
    if (isGroup(each)) break;
    if (ts.isStatement(each) && !ts.isBlock(each)) found = each;
  }
  return found;
}

/** A route that an application of several suites has, as in `host.get('/notes', …)`, goes alone. */
function routeStatement(node: ts.Node, within: ts.Node): ts.Node | undefined {
  const isRoute = (each: ts.Node): boolean =>
    ts.isExpressionStatement(each) && /^(?:host|app)\.(?:all|get|post|use)\(\s*['"/]/.test(each.getText());
  return within.getSourceFile().fileName.startsWith('__tests__/support/')
    ? upward(node, within).find(isRoute)
    : undefined;
}

/** Of a table whose rows are cases, as in `it.each(Object.entries(table))`: the row. */
function rowOfCases(node: ts.Node, statement: ts.Node): ts.Node | undefined {
  const file = node.getSourceFile();
  if (!ts.isVariableStatement(statement) || listing.includes(file.fileName)) return undefined;
  const names = declaredIn(statement).map(({ name }) => name.text);
  if (!names.some((name) => new RegExp(`\\.each\\(Object\\.(?:entries|keys)\\(${name}\\)`).test(file.text)))
    return undefined;
  return upward(node, statement).findLast((each) => ts.isObjectLiteralElement(each));
}

/** What an application is given at its start, as in `start({ after: (host) => { host.use(…); } })`, goes by statements. */
function setUpStatement(node: ts.Node, within: ts.Node): ts.Node | undefined {
  const around = upward(node, within);
  const at = around.findLastIndex((each) => ts.isPropertyAssignment(each) && isOfCall(each));
  const property = around[at];
  if (property === undefined || !ts.isPropertyAssignment(property) || !ts.isArrowFunction(property.initializer))
    return undefined;
  return around
    .slice(0, at)
    .findLast((each) => ts.isExpressionStatement(each) && each.parent.parent === property.initializer);
}

function statementUnit(node: ts.Node, statement: ts.Node): ts.Node {
  return isHook(statement) ? otherUnit(node, statement) : statement;
}

function isHook(node: ts.Node): boolean {
  return ts.isExpressionStatement(node) && /^(?:before|after)(?:Each|All)\(/.test(node.getText());
}

/** `await walk();` or `beforeAll(walk)` */
function isPlainCall(name: ts.Node): boolean {
  const around = upward(name).slice(1);
  const end = around.findIndex((each) => !ts.isCallExpression(each) && !ts.isAwaitExpression(each));
  return end !== -1 && (ts.isExpressionStatement(around[end]!) || ts.isArrowFunction(around[end]!));
}

/** The variable that a statement assigns to. */
function assignedIn(unit: ts.Node): string | undefined {
  if (!ts.isExpressionStatement(unit) || !ts.isBinaryExpression(unit.expression)) return undefined;
  const { left, operatorToken } = unit.expression;
  return operatorToken.kind === ts.SyntaxKind.EqualsToken && ts.isIdentifier(left) ? left.text : undefined;
}

/** Elsewhere: an item of a list, a property, a statement; and the function where it is what the function returns. */
function otherUnit(node: ts.Node, within?: ts.Node): ts.Node {
  for (const each of upward(node)) {
    if (isListed(each) || ts.isExpressionWithTypeArguments(each)) return each;
    if (each === within) return each;
    if (ts.isReturnStatement(each) || ts.isBlock(each)) continue;
    if (ts.isStatement(each) || ts.isTypeElement(each) || ts.isClassElement(each) || ts.isCaseClause(each)) return each;
  }
  return node;
}

function isWithin(node: ts.Node, around: ts.Node): boolean {
  return around.pos <= node.pos && node.end <= around.end;
}

function outermostItem(node: ts.Node, within: ts.Node): ts.Node | undefined {
  return upward(node, within).findLast(({ parent }) => ts.isArrayLiteralExpression(parent) && !isOfCallList(parent));
}

/** `{ methods: ['password'] }` as an argument is no table. */
function isOfCallList(list: ts.Node): boolean {
  return ts.isPropertyAssignment(list.parent) && isOfCall(list.parent);
}

function isMember(node: ts.Node): boolean {
  return isListed(node) || ts.isTypeElement(node);
}

/** An option of a call; what is made with it is another thing without it. */
function isOfCall(node: ts.Node): boolean {
  const { parent } = node;
  return (
    ts.isObjectLiteralExpression(parent) && (ts.isCallExpression(parent.parent) || ts.isNewExpression(parent.parent))
  );
}

/** A row of `const table = { … };` */
function isOfConstant({ parent }: ts.PropertyAssignment): boolean {
  return ts.isVariableDeclaration(parent.parent) && ts.isSourceFile(parent.parent.parent.parent.parent);
}

/** The only item of a list that has a type of its own, such as the value of an option. */
function isValue(node: ts.Node): boolean {
  return ts.isStringLiteral(node) && ts.isArrayLiteralExpression(node.parent) && node.parent.elements.length === 1;
}

function listAround(node: ts.Node): ts.Node {
  return upward(node.parent).find((each) => !ts.isArrayLiteralExpression(each)) ?? node;
}

/** What stands in a list with others: of values, names, types. */
function isListed(node: ts.Node): boolean {
  const { parent } = node;
  return (
    ts.isImportSpecifier(node) ||
    ts.isExportSpecifier(node) ||
    ts.isObjectLiteralElement(node) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isUnionTypeNode(parent) ||
    ts.isIntersectionTypeNode(parent)
  );
}

function unusedUnit(node: ts.Node): ts.Node {
  for (const each of upward(node)) {
    if (ts.isImportSpecifier(each) || ts.isBindingElement(each)) return each;
    if (ts.isImportClause(each)) return each.parent;
    if (ts.isVariableDeclaration(each) && listOf(each.parent)?.length !== 1) return each;
    if (ts.isStatement(each) || ts.isParameter(each)) return each;
  }
  return node;
}

// Names

interface Declared {
  readonly name: ts.Identifier;
  readonly isExported: boolean;
}

/** The names that are gone with a unit: those that other code around it sees. */
function declaredIn(unit: ts.Node): Declared[] {
  if (ts.isImportDeclaration(unit)) return importedBy(unit);
  if (ts.isImportSpecifier(unit)) return [{ name: unit.name, isExported: false }];
  if (ts.isExportSpecifier(unit)) return ts.isIdentifier(unit.name) ? [{ name: unit.name, isExported: true }] : [];
  if (ts.isExportDeclaration(unit))
    return specifiersOf(unit).flatMap((each) => (ts.isExportSpecifier(each) ? declaredIn(each) : []));
  if (ts.isVariableStatement(unit)) {
    const isExported = hasExport(unit);
    return unit.declarationList.declarations.flatMap(({ name }) =>
      bound(name).map((each) => ({ name: each, isExported })),
    );
  }
  if (ts.isVariableDeclaration(unit)) return bound(unit.name).map((name) => ({ name, isExported: false }));
  const isNamed =
    ts.isFunctionDeclaration(unit) ||
    ts.isClassDeclaration(unit) ||
    ts.isInterfaceDeclaration(unit) ||
    ts.isTypeAliasDeclaration(unit);
  return isNamed && unit.name !== undefined ? [{ name: unit.name, isExported: hasExport(unit) }] : [];
}

function importedBy(declaration: ts.ImportDeclaration): Declared[] {
  const names = specifiersOf(declaration).flatMap(({ name }) => (ts.isIdentifier(name) ? [name] : []));
  const first = declaration.importClause?.name;
  return [...(first === undefined ? [] : [first]), ...names].map((name) => ({ name, isExported: false }));
}

function hasExport(node: ts.Node): boolean {
  return ts.canHaveModifiers(node) && (ts.getModifiers(node)?.some(isExportKeyword) ?? false);
}

function isExportKeyword({ kind }: ts.Node): boolean {
  return kind === ts.SyntaxKind.ExportKeyword;
}

function bound(name: ts.BindingName): ts.Identifier[] {
  if (ts.isIdentifier(name)) return [name];
  return name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : bound(element.name)));
}

function blockAround(node: ts.Node): ts.Node {
  return upward(node.parent).find(ts.isBlock) ?? node.getSourceFile();
}

function isUse(node: ts.Node, name: string): node is ts.Identifier {
  if (!ts.isIdentifier(node) || node.text !== name) return false;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) || ts.isQualifiedName(parent)) {
    const right = ts.isQualifiedName(parent) ? parent.right : parent.name;
    return right !== node;
  }
  if (ts.isExportSpecifier(parent)) return parent.parent.parent.moduleSpecifier === undefined;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  const isKey = 'name' in parent && parent.name === node && !ts.isShorthandPropertyAssignment(parent);
  return !isKey && !ts.isImportClause(parent);
}

/** A function between the two has a parameter of this name. */
function isShadowed(use: ts.Identifier, block: ts.Node): boolean {
  const inside = upward(use);
  return inside
    .slice(0, inside.includes(block) ? inside.indexOf(block) : undefined)
    .filter(ts.isFunctionLike)
    .some(({ parameters }) => parameters.some(({ name }) => bound(name).some(({ text }) => text === use.text)));
}

function nameOf(name: ts.PropertyName): string {
  return ts.isIdentifier(name) || ts.isStringLiteralLike(name) ? name.text : '';
}

// Text

/** The nodes that stand in a row with others, where this is their parent. */
function listOf(parent: ts.Node): ts.NodeArray<ts.Node> | undefined {
  if (ts.isNamedImports(parent) || ts.isNamedExports(parent) || ts.isArrayLiteralExpression(parent))
    return parent.elements;
  if (ts.isUnionTypeNode(parent) || ts.isIntersectionTypeNode(parent) || ts.isHeritageClause(parent))
    return parent.types;
  if (ts.isObjectLiteralExpression(parent)) return parent.properties;
  if (ts.isVariableDeclarationList(parent)) return parent.declarations;
  if (ts.isObjectBindingPattern(parent) || ts.isArrayBindingPattern(parent)) return parent.elements;
  return undefined;
}

function declarationOf(node: ts.NamedImports | ts.NamedExports): ts.Node {
  const { parent } = node;
  return ts.isImportClause(parent) ? (parent.name === undefined ? parent.parent : node) : parent;
}

/** The text without these nodes, and without the commas, bars and comments that belong to them. */
function cut(text: string, nodes: readonly ts.Node[]): string {
  const ranges = nodes.map((node) => rangeOf(node, nodes)).sort(([one], [other]) => one - other);
  let [result, last] = ['', 0];
  for (const [from, to, instead = ''] of ranges) {
    if (from >= last) result += text.slice(last, from) + instead;
    last = Math.max(last, to);
  }
  return result + text.slice(last);
}

function rangeOf(node: ts.Node, gone: readonly ts.Node[]): readonly [number, number, string?] {
  // Its place counts, so it keeps it, under a name that the compiler leaves alone.
  if (ts.isParameter(node)) return [node.getStart(), node.getStart(), '_'];
  const list = listOf(node.parent);
  if (list === undefined) return [node.pos, node.end];
  const at = list.indexOf(node);
  const next = list.slice(at + 1).find((each) => !gone.includes(each));
  if (next !== undefined) return [node.pos, next.pos];
  const before = list.slice(0, at).findLast((each) => !gone.includes(each));
  // Without any item a comma at the end would be a hole.
  return before === undefined ? [node.pos, list.end] : [before.end, node.end];
}
