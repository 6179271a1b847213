import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import ts from 'typescript';

/** What the compiler says of a place. */
export interface TypeProblem {
  /** From the root of the tree, with slashes. */
  readonly path: string;
  readonly start: number;
  readonly line: number;
  readonly message: string;
  readonly isUnused: boolean;
}

/** Declared and not used: of a name, an import, a pattern, a type, all of a declaration. */
const unused = new Set([6133, 6138, 6192, 6196, 6198, 6199]);

/**
 * Checks the types of a tree again and again, each time only what the changed files reach.
 *
 * @param root with its tsconfig.json
 * @param stateFile what one process leaves for the next
 */
export function createTypeCheck(root: string, stateFile: string): () => TypeProblem[] {
  const read = (): ts.ParsedCommandLine =>
    ts.parseJsonConfigFileContent(ts.readConfigFile(`${root}/tsconfig.json`, readFile).config, ts.sys, root);
  const files = new Map<string, ts.SourceFile>();
  let builder: ts.EmitAndSemanticDiagnosticsBuilderProgram | undefined;
  return () => {
    const { fileNames, options: asked } = read();
    const options = {
      ...asked,
      noEmit: true,
      incremental: true,
      tsBuildInfoFile: stateFile,
      configFilePath: `${root}/tsconfig.json`,
    };
    const host = ts.createIncrementalCompilerHost(options);
    const readSource = host.getSourceFile.bind(host);
    host.getCurrentDirectory = () => root;
    host.getSourceFile = (path, ...rest) => {
      const text = readFile(path);
      const known = files.get(path);
      if (known !== undefined && known.text === text) return known;
      const file = readSource(path, ...rest);
      if (file === undefined) files.delete(path);
      else files.set(path, Object.assign(file, { version: createHash('sha256').update(file.text).digest('hex') }));
      return file;
    };
    builder ??= ts.readBuilderProgram(options, host);
    const next = ts.createEmitAndSemanticDiagnosticsBuilderProgram(fileNames, options, host, builder);
    const found = [...next.getSyntacticDiagnostics(), ...next.getSemanticDiagnostics()];
    next.emit();
    builder = next;
    return found.map((each) => problemOf(root, each));
  };
}

function readFile(path: string): string | undefined {
  return ts.sys.readFile(path);
}

function problemOf(root: string, { file, start = 0, messageText, code }: ts.Diagnostic): TypeProblem {
  return {
    path: file === undefined ? '' : relative(root, file.fileName).replaceAll('\\', '/'),
    start,
    line: file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line + 1,
    message: ts.flattenDiagnosticMessageText(messageText, '\n').split('\n')[0] ?? '',
    isUnused: unused.has(code),
  };
}
