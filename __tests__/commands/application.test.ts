import { readApplication } from '../../lib/commands/add/application.ts';
import { mountIn } from '../../lib/commands/add/lines.ts';
import { readTokens } from '../../lib/commands/add/tokens.ts';

const esm = "import express from 'express';\n";
const cjs = "const express = require('express');\n";

/** The source with `b2bAuth` mounted, or why it is not. */
function mounted(source: string): string {
  const reading = readApplication(source, 'b2bAuth');
  if (reading.kind === 'application') return mountIn(source, reading.application, 'b2b', false).text;
  return reading.kind === 'unclear' ? reading.reason : reading.kind;
}

const load = "import { b2bAuth } from 'express-auth-adapters/b2b';\n";
const require_ = "const { b2bAuth } = require('express-auth-adapters/b2b');\n";

it.each([
  ['let', `${esm}let app = express();\n`, `${esm}${load}let app = express();\napp.use(b2bAuth());\n`],
  [
    'no line end',
    `${esm}const app = express()`,
    `${esm}${load.replace(';', '')}const app = express()\napp.use(b2bAuth())`,
  ],
  [
    'another name for express',
    `import * as http from "express";\nconst $srv = http();\n`,
    `import * as http from "express";\nimport { b2bAuth } from "express-auth-adapters/b2b";\nconst $srv = http();\n$srv.use(b2bAuth());\n`,
  ],
  [
    'an import in several lines',
    `import express, {\n  type Request,\n  type Response,\n} from 'express';\nexport const app: express.Express = express();\n`,
    `import express, {\n  type Request,\n  type Response,\n} from 'express';\n${load}export const app: express.Express = express();\napp.use(b2bAuth());\n`,
  ],
  [
    'the default by its name',
    `import { type Request, default as web } from 'express';\nconst app = web();\n`,
    `import { type Request, default as web } from 'express';\n${load}const app = web();\napp.use(b2bAuth());\n`,
  ],
  [
    'TypeScript for CommonJS',
    `import express = require('express');\nconst app = express();\n`,
    `import express = require('express');\n${load}const app = express();\napp.use(b2bAuth());\n`,
  ],
  [
    'types of their own before',
    `import type { Express } from 'express';\n${esm}const app: Express = express();\n`,
    `import type { Express } from 'express';\n${esm}${load}const app: Express = express();\napp.use(b2bAuth());\n`,
  ],
  [
    'require at once',
    `const app = require('express')();\n`,
    `const app = require('express')();\n${require_}app.use(b2bAuth());\n`,
  ],
  [
    'one statement for several variables',
    `var express = require('express'),\n  app = express();\napp.listen(3000);\n`,
    `var express = require('express'),\n  app = express();\n  ${require_}  app.use(b2bAuth());\napp.listen(3000);\n`,
  ],
  [
    'module.exports',
    `${cjs}const app = (module.exports = express());\n`,
    'makes its application in a line that does more than that',
  ],
  [
    'module.exports without parentheses',
    `${cjs}var app = module.exports = express();\n`,
    `${cjs}${require_}var app = module.exports = express();\napp.use(b2bAuth());\n`,
  ],
  [
    'a require in the function that uses it',
    `function build() {\n\tconst express = require('express');\n\tconst app = express();\n\treturn app;\n}\n`,
    `function build() {\n\tconst express = require('express');\n\tconst app = express();\n\t${require_}\tapp.use(b2bAuth());\n\treturn app;\n}\n`,
  ],
  [
    'semicolons nowhere',
    `import express from 'express'\nimport 'dotenv/config'\nlet app\napp = express()\napp.listen(3000)\n`,
    'makes its application in a line that does more than that',
  ],
  [
    'a first line for the shell, and a call in a comment',
    `#!/usr/bin/env node\n// const app = express();\n/* express() */\n${esm}const app = express(); // express()\n`,
    `#!/usr/bin/env node\n// const app = express();\n/* express() */\n${esm}${load}const app = express(); // express()\napp.use(b2bAuth());\n`,
  ],
])('mounts after %s, or says why not', (_title, source, expected) => {
  expect(mounted(source)).toBe(expected);
});

const inStatement = 'makes its application in a line that does more than that';

it.each([
  ['export default', `${esm}export default express();\n`, inStatement],
  ['a return', `${esm}export const build = () => express();\n`, inStatement],
  ['an argument', `${esm}createServer(express()).listen(3000);\n`, inStatement],
  ['a chain on the next line', `${esm}const app = express()\n  .use(x);\n`, inStatement],
  ['a condition', `${esm}let app;\nif (x) app = express();\n`, inStatement],
  ['an else', `${esm}let app;\nif (x) y();\nelse app = express();\n`, inStatement],
  ['a loop', `${esm}for (const app = express(); ;) {}\n`, inStatement],
  ['a conversion', `${esm}const app = express() as any;\n`, inStatement],
  ['another variable behind', `${esm}const app = express(), port = 3000;\n`, inStatement],
  ['a statement behind', `${esm}function f() { const app = express(); return app; }\n`, inStatement],
  ['a default of a parameter', `${esm}function f(port, app = express()) {\n}\n`, inStatement],
  ['a member of an object', `${esm}const shop = { app: express() };\n`, inStatement],
  ['exports alone', `${cjs}module.exports = express();\n`, inStatement],
  [
    'an import with more in its line',
    `import express from 'express'; import x from 'x';\nconst app = express();\n`,
    'imports express in a line that does more than that',
  ],
  [
    'a function of this name',
    `${esm}import { b2bAuth } from './b2b.js';\nconst app = express();\napp.use(b2bAuth());\n`,
    'has another b2bAuth',
  ],
  ['a call in a template', `${esm}const text = \`\${express()}\`;\n`, inStatement],
])('leaves %s alone', (_title, source, reason) => {
  expect(mounted(source)).toBe(reason);
});

it.each([
  [
    'a call in a text',
    `const text = "const app = express();";\nconst more = 'const app = express()';\nconst last = \`const app = express();\`;\n`,
  ],
  ['a router', `${esm}export const router = express.Router();\n`],
  ['a member of this name', `${esm}const app = this.express();\n`],
  ['a function of this name', `function express() {}\n`],
  ['another package', `import express from 'express-serve';\nconst app = express();\n`],
  [
    'a regular expression',
    `const calls = /const app = express()/.test(source);\nconst half = a / b; const app = 'express()'; c / d;\n`,
  ],
])('finds no application in %s', (_title, source) => {
  expect(mounted(source)).toBe('none');
});

it('knows the line where an adapter is mounted', () => {
  const source = `${esm}import { b2bAuth as x } from 'express-auth-adapters/b2b';\nimport { b2bAuth } from 'express-auth-adapters/b2b';\nconst app = express();\n\napp.use(\n  b2bAuth({}),\n);\n`;
  expect(readApplication(source, 'b2bAuth')).toEqual({ kind: 'mounted', line: 7 });
});

it('reads templates in templates, and what divides and what begins a regular expression', () => {
  const source = 'const a = `x ${ `y ${ { b: 1 } } z` } w`; const c = d / e / f; const g = /[/\'"`]/.test(h);';
  expect(
    readTokens(source)
      ?.map(({ text }) => text)
      .join(' '),
  ).toBe('const a = `` `` { b : 1 } `` `` ; const c = d / e / f ; const g = // . test ( h ) ;');
});

it.each(["'open", '"open\n"', '`open', '`${open', '/* open'])('gives up on %j', (source) => {
  expect(readTokens(source)).toBeUndefined();
});
