import { globSync, readFileSync } from 'node:fs';

export interface MarkdownFile {
  readonly path: string;
  readonly text: string;
}

/** Every page that a reader may open, the generated API reference aside. */
export function markdownFiles(): MarkdownFile[] {
  return globSync(['*.md', 'docs/**/*.md', 'skills/**/*.md', 'example-app/**/*.md', 'show/**/*.md', 'bench/*.md'], {
    exclude: (path) => path.includes('node_modules') || path.startsWith('docs/api'),
  }).map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}

export interface CodeBlock {
  readonly path: string;
  readonly line: number;
  readonly language: string;
  readonly code: string;
}

/** Fenced code, also where it is indented below a list item. */
export function codeBlocks({ path, text }: MarkdownFile): CodeBlock[] {
  return [...text.matchAll(/^( *)```(\w+)?[^\n]*\n([\s\S]*?)^\1```/gm)].map((match) => {
    const [, indent = '', language = '', code = ''] = match;
    return {
      path,
      line: text.slice(0, match.index).split('\n').length,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    };
  });
}
