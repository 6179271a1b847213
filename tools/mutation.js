// Mutants of lib/, room by room: `npm run mutation`, or `npm run mutation -- core http` for some of them.
// The surviving ones of each room are in reports/mutation/<room>.json and, to look at, .html.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The suites that a room's mutants are held against, its own first, and the least share of mutants they must find. */
const rooms = {
  core: { suites: ['core'], least: 95 },
  session: { suites: ['session', 'reliability', 'scale'], least: 95 },
  http: { suites: ['http', 'hostile', 'hosts', 'reliability', 'testing', 'b2b', 'backend'], least: 95 },
  b2b: { suites: ['b2b', 'http', 'hostile', 'hosts', 'reliability', 'testing'], least: 90 },
  backend: { suites: ['backend', 'http', 'hostile', 'hosts', 'reliability', 'testing'], least: 90 },
  client: { suites: ['client'], least: 90 },
  redis: { suites: ['redis', 'scale'], least: 90 },
  testing: { suites: ['testing', 'b2b', 'backend'], least: 90 },
  doctor: { suites: ['doctor'], least: 90 },
};

const asked = process.argv.slice(2);
const unknown = asked.filter((room) => !(room in rooms));
if (unknown.length > 0)
  throw new Error(`No such room: ${unknown.join(', ')}. There are ${Object.keys(rooms).join(', ')}.`);

const scores = (asked.length > 0 ? asked : Object.keys(rooms)).map((room) => {
  const { suites, least } = rooms[room];
  const { status } = spawnSync(
    process.execPath,
    ['tools/node_modules/@stryker-mutator/core/bin/stryker.js', 'run', 'tools/stryker.config.js'],
    { stdio: 'inherit', env: { ...process.env, MUTATION_ROOM: room, MUTATION_SUITES: suites.join(',') } },
  );
  return status === 0 ? scoreOf(room, least) : { room, found: 'the run failed', isEnough: false };
});

console.table(scores);
if (scores.some(({ isEnough }) => !isEnough)) process.exitCode = 1;

function scoreOf(room, least) {
  const { files } = JSON.parse(readFileSync(`reports/mutation/${room}.json`, 'utf8'));
  const statuses = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status));
  const count = (...wanted) => statuses.filter((status) => wanted.includes(status)).length;
  const found = count('Killed', 'Timeout');
  const survived = count('Survived', 'NoCoverage');
  const percent = (100 * found) / (found + survived);
  return { room, mutants: found + survived, found, survived, percent: percent.toFixed(1), isEnough: percent >= least };
}
