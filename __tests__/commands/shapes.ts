/** Projects as the public has them. The paths and texts of their files, and what `add` finds in them. */
export interface Shape {
  readonly title: string;
  /** The folder of the application; default: the root. */
  readonly folder?: string;
  readonly files: Readonly<Record<string, string>>;
  readonly install: string;
  /** The file that gets the lines. */
  readonly file: string;
  /** What starts the application; default: that file. */
  readonly starts?: string;
  /** The added lines, with their numbers. */
  readonly lines: readonly string[];
}

const manifest = (rest: object = {}): string =>
  JSON.stringify({ name: 'shop', private: true, dependencies: { express: '^5.0.0' }, ...rest });

export const shapes: readonly Shape[] = [
  {
    title: 'ES modules, with npm',
    files: {
      'package.json': manifest({ type: 'module', scripts: { start: 'node server.js' } }),
      'package-lock.json': '{}',
      'server.js': `import express, { Router } from 'express';
import { readFile } from 'node:fs/promises';

// express() makes the application.
const app = express();
const port = process.env.PORT || 3000;
const api = Router();

api.get('/hello', (req, res) => res.json({ message: \`Hello \${req.query.name ?? \`you, from \${'express()'}\`}\` }));
app.use(express.json());
app.use('/api', api);
app.get('/', async (req, res) => res.type('text').send(await readFile('package.json', 'utf8')));
app.listen(port, () => console.log(\`Listening on \${port}\`));
`,
      'test/server.test.js': `import express from 'express';\nconst app = express();\n`,
      'dist/server.js': `const express = require('express');\nconst app = express();\n`,
    },
    install: 'npm install',
    file: 'server.js',
    lines: ["2 import { FACTORY } from 'express-auth-adapters/ADAPTER';", '7 app.use(FACTORY());'],
  },
  {
    title: 'CommonJS in the form of express-generator, with yarn',
    files: {
      'package.json': manifest({ scripts: { start: 'node ./bin/www' } }),
      'yarn.lock': '',
      'app.js': `var express = require('express');
var path = require('path');

var indexRouter = require('./routes/index');

var app = express();

// view engine setup
app.set('views', path.join(__dirname, 'views'));
app.use(express.static(path.join(__dirname, 'public')));
app.use('/', indexRouter);

module.exports = app;
`,
      'routes/index.js': `var express = require('express');
var router = express.Router();
router.get('/', function (req, res) { res.send('Express'); });
module.exports = router;
`,
      'bin/www': `#!/usr/bin/env node
var app = require('../app');
var port = parseInt(process.env.PORT, 10);
require('http').createServer(app).listen(port, function () { console.log('Listening on ' + port); });
`,
    },
    install: 'yarn add',
    file: 'app.js',
    starts: 'bin/www',
    lines: ["2 const { FACTORY } = require('express-auth-adapters/ADAPTER');", '8 app.use(FACTORY());'],
  },
  {
    title: 'TypeScript without semicolons, with bun',
    files: {
      'package.json': manifest({ type: 'module', devDependencies: { typescript: '^6.0.0' } }),
      'bun.lock': '',
      'tsconfig.json': '{}',
      'src/index.ts': `import type { Express, Request, Response } from "express"
import express from "express"

export const app: Express = express()

app.disable("x-powered-by")
app.get("/", (_req: Request, res: Response): void => void res.send("Hello"))

const port = Number(process.env["PORT"])
app.listen(port, () => console.log("Listening on " + String(port)))
`,
      'src/types.d.ts': 'declare const express: () => void;\nexpress();\n',
    },
    install: 'bun add',
    file: 'src/index.ts',
    lines: ['3 import { FACTORY } from "express-auth-adapters/ADAPTER"', '6 app.use(FACTORY())'],
  },
  {
    title: 'a package of a monorepo with pnpm, whose application is a member of a class',
    folder: 'apps/api',
    files: {
      'package.json': JSON.stringify({ private: true, packageManager: 'pnpm@10.12.1' }),
      'pnpm-workspace.yaml': 'packages:\n  - apps/*\n',
      'pnpm-lock.yaml': '',
      'apps/web/package.json': manifest(),
      'apps/web/server.js': 'const app = require("express")();\n',
      'apps/api/package.json': manifest({ type: 'module', scripts: { dev: 'tsx watch src/main.ts' } }),
      'apps/api/src/server.ts': `import express from 'express';
import type { Application } from 'express';

export class Server {
  private readonly app: Application;

  constructor() {
    this.app = express();
    this.app.get('/', (_req, res) => void res.send('Hello'));
  }

  listen(port: number): void {
    this.app.listen(port, () => console.log('Listening on ' + String(port)));
  }
}
`,
      'apps/api/src/main.ts': `import { Server } from './server.ts';
new Server().listen(Number(process.env['PORT']));
`,
    },
    install: 'pnpm add',
    file: 'src/server.ts',
    starts: 'src/main.ts',
    lines: ["2 import { FACTORY } from 'express-auth-adapters/ADAPTER';", '10     this.app.use(FACTORY());'],
  },
  {
    title: 'an application factory, with Windows line ends',
    files: {
      'package.json': manifest({ type: 'module' }),
      'src/create-app.js': [
        "import express from 'express';",
        '',
        'export function createApp({ log = () => {} } = {}) {',
        '  let app;',
        '  app = express(); // one for each test',
        '  app.use((req, res, next) => (log(req.url), next()));',
        "  app.get('/', (req, res) => res.send(/['\"`]/.test(req.url) ? 'odd' : 'even'));",
        '  return app;',
        '}',
        '',
      ].join('\r\n'),
      'src/index.js': `import { createApp } from './create-app.js';
createApp().listen(process.env.PORT, () => console.log('Listening on ' + process.env.PORT));
`,
    },
    install: 'npm install',
    file: 'src/create-app.js',
    starts: 'src/index.js',
    lines: ["2 import { FACTORY } from 'express-auth-adapters/ADAPTER';", '7   app.use(FACTORY());'],
  },
];

/** Where the command changes nothing, and why. */
export const refused: readonly {
  readonly title: string;
  readonly files: Readonly<Record<string, string>>;
  readonly reason: string;
}[] = [
  {
    title: 'a chain',
    files: {
      'package.json': manifest(),
      'app.js': `const app = require('express')().use(require('./api'));\napp.listen(3000);\n`,
    },
    reason: 'app.js makes its application in a line that does more than that.',
  },
  {
    title: 'two applications in one file',
    files: {
      'package.json': manifest(),
      'app.js': `const express = require('express');\nconst app = express();\nconst admin = express();\napp.use('/admin', admin);\n`,
    },
    reason: 'app.js calls express() more than once.',
  },
  {
    title: 'two files with an application',
    files: {
      'package.json': manifest(),
      'a.js': `const app = require('express')();\n`,
      'b.js': `const app = require('express')();\n`,
    },
    reason: 'Several files call express(): a.js and b.js.',
  },
  {
    title: 'an application that comes from elsewhere',
    files: {
      'package.json': manifest(),
      'app.js': `const { createApp } = require('@corp/server');\nconst app = createApp({ port: 3000 });\n`,
    },
    reason: 'No file here calls express().',
  },
  {
    title: 'a built file',
    files: { 'package.json': manifest(), 'app.js': `${'a'.repeat(2_000)};\nconst app = require('express')();\n` },
    reason: 'app.js was built from another file.',
  },
  {
    title: 'a text that is no program',
    files: {
      'package.json': manifest(),
      'app.js': `const app = require('express')();\nconst text = 'is not\nclosed';\nexpress();\n`,
    },
    reason: 'app.js has text that is no JavaScript or TypeScript.',
  },
  {
    title: 'lock files of two package managers',
    files: {
      'package.json': manifest(),
      'package-lock.json': '',
      'yarn.lock': '',
      'app.js': `const app = require('express')();\n`,
    },
    reason: 'There are lock files of several package managers: package-lock.json and yarn.lock.',
  },
  {
    title: 'another framework',
    files: { 'package.json': '{"dependencies":{"fastify":"5"}}' },
    reason: 'does not depend on express',
  },
  { title: 'an empty folder', files: {}, reason: 'There is no package.json here.' },
];
