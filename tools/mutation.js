// Mutants of lib/, room by room: `npm run mutation`, or `npm run mutation -- core http` for some of them.
// The surviving ones of each room are in reports/mutation/<room>.json and, to look at, .html.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The suites that a room's mutants are held against, its own first, and the percentage they must find, beside 90 of all together. */
const rooms = {
  core: { suites: ['core'], least: 95 },
  session: { suites: ['session', 'reliability', 'scale'], least: 95 },
  http: { suites: ['http', 'hostile', 'hosts', 'reliability', 'testing', 'b2b', 'backend'], least: 95 },
  b2b: { suites: ['b2b', 'http', 'hostile', 'hosts', 'reliability', 'testing'] },
  backend: { suites: ['backend', 'http', 'hostile', 'hosts', 'reliability', 'testing'] },
  client: { suites: ['client'] },
  redis: { suites: ['redis', 'scale'] },
  testing: { suites: ['testing', 'b2b', 'backend'] },
  doctor: { suites: ['doctor'] },
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
  return status === 0
    ? scoreOf(room, least)
    : { room, found: 0, survived: 0, percent: 'the run failed', isEnough: false };
});

const together = sumOf(scores);
console.table([...scores, together]);
if ([...scores, together].some(({ isEnough }) => !isEnough)) process.exitCode = 1;

function scoreOf(room, least) {
  const { files } = JSON.parse(readFileSync(`reports/mutation/${room}.json`, 'utf8'));
  const statuses = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status));
  const count = (...wanted) => statuses.filter((status) => wanted.includes(status)).length;
  const found = count('Killed', 'Timeout');
  const survived = count('Survived', 'NoCoverage');
  return { room, ...verdictOn(found, survived, least) };
}

function sumOf(rooms) {
  const total = (key) => rooms.reduce((sum, room) => sum + room[key], 0);
  return { room: 'together', ...verdictOn(total('found'), total('survived'), 90) };
}

function verdictOn(found, survived, least = 0) {
  const percent = (100 * found) / (found + survived);
  return { mutants: found + survived, found, survived, percent: percent.toFixed(1), isEnough: percent >= least };
}
