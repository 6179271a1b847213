// Mutation testing with Stryker: `npm run mutation`, or `npm run mutation -- tools http` for some folders of lib/.
// reports/mutation/<folder>.html shows the surviving mutations. Later runs test only changes.
// `npm run mutation -- http --percent 10` changes a tenth of the lines only, `--files cookies,url` these files.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/**
 * The suites that test a folder, and its minimum mutation score. The first suite detects most mutations in
 * seconds; the others run only for mutations that survive it (Stryker keeps results between runs).
 */
const folders = {
  tools: { suites: ['tools', 'session', 'http', 'options', 'b2b', 'backend'], least: 95 },
  session: { suites: ['session', 'reliability', 'http', 'b2b', 'backend'], least: 95 },
  http: { suites: ['http', 'doors', 'hostile', 'hosts', 'reliability', 'testing', 'b2b', 'backend'], least: 95 },
  options: { suites: ['options', 'http', 'b2b', 'backend'], least: 95 },
  pages: { suites: ['pages', 'http', 'b2b', 'backend'], least: 95 },
  b2b: { suites: ['b2b', 'http', 'doors', 'client', 'hostile', 'hosts', 'reliability', 'testing'], least: 92 },
  backend: { suites: ['backend', 'http', 'doors', 'client', 'hostile', 'hosts', 'reliability', 'testing'], least: 92 },
  doors: { suites: ['doors', 'http', 'hostile', 'hosts', 'reliability', 'testing', 'b2b', 'backend'], least: 92 },
  client: { suites: ['client'], least: 92 },
  passport: { suites: ['passport'], least: 92 },
  redis: { suites: ['redis', 'scale'], least: 85 },
  testing: { suites: ['testing', 'b2b', 'backend'], least: 75 },
  doctor: { suites: ['doctor', 'backend', 'doors'], least: 90 },
};
const leastOfAll = 92;

const { positionals: asked, values } = parseArgs({
  allowPositionals: true,
  options: { percent: { type: 'string', default: '100' }, files: { type: 'string', default: '**/*' } },
});
const names = asked.length > 0 ? asked : Object.keys(folders);
const unknown = names.filter((name) => !(name in folders));
if (unknown.length > 0) throw new Error(`Unknown: ${unknown.join(', ')}. Known: ${Object.keys(folders).join(', ')}.`);

const rows = names.map((name) => {
  const { suites, least } = folders[name];
  const startedAt = Date.now();
  const stages = suites.length > 1 ? [suites.slice(0, 1), suites] : [suites];
  const done = stages.every((stage) => runStryker(name, stage));
  const minutes = ((Date.now() - startedAt) / 60_000).toFixed(1);
  return { folder: name, ...(done ? countsOf(name) : { found: 0, survived: 0 }), least, minutes };
});

const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
const table = [...rows, { folder: 'all of these', found: sum('found'), survived: sum('survived'), least: leastOfAll }];
console.table(table.map((row) => ({ ...row, percent: percentOf(row).toFixed(1) })));
const judged = names.length === Object.keys(folders).length ? table : rows;
if (judged.some((row) => !(percentOf(row) >= row.least))) process.exitCode = 1;

function runStryker(name, suites) {
  const { status } = spawnSync(
    process.execPath,
    ['tools/node_modules/@stryker-mutator/core/bin/stryker.js', 'run', 'tools/stryker.config.js'],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        MUTATION_FOLDER: name,
        MUTATION_SUITES: suites.join(','),
        MUTATION_PERCENT: values.percent,
        MUTATION_FILES: values.files,
      },
    },
  );
  return status === 0;
}

function countsOf(name) {
  const { files } = JSON.parse(readFileSync(`reports/mutation/${name}.json`, 'utf8'));
  const statuses = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status));
  const count = (...wanted) => statuses.filter((status) => wanted.includes(status)).length;
  return { found: count('Killed', 'Timeout'), survived: count('Survived', 'NoCoverage') };
}

function percentOf({ found, survived }) {
  return (100 * found) / (found + survived);
}
