import { spawnSync } from 'node:child_process';

const root = new URL('../../', import.meta.url);

/**
 * A server of bare `node:http`, whose only handler throws: in a process of its own, as such an error ends a process. Prints how
 * often the handler ran, and by which door each of its errors reached the process.
 */
const script = `
import { createServer, request } from 'node:http';
import { b2bAuth, requireSession } from '${new URL('lib/b2b/index.ts', root).href}';
import { createB2bTestKit } from '${new URL('lib/testing/index.ts', root).href}';

const kit = createB2bTestKit();
const auth = b2bAuth({ protectedRoutes: '/page', ...kit.options });
const guards = { '/page': undefined, '/api': requireSession(), '/check': requireSession({ check: () => true }) };
let runs = 0;
const handler = () => { runs += 1; throw new Error('from the handler'); };
const server = createServer((req, res) => {
  const next = () => {
    const guard = guards[req.url];
    if (guard === undefined) handler();
    else guard(req, res, handler);
  };
  auth(req, res, next);
}).listen(0, '127.0.0.1');
let ended;
const doors = [];
process.on('uncaughtException', (error, door) => { doors.push(door + ': ' + error.message); setImmediate(ended); });

const result = {};
for (const path of Object.keys(guards)) {
  const headers = { cookie: await kit.cookie() };
  for (const kind of ['cold', 'warm']) {
    runs = 0;
    doors.length = 0;
    const done = new Promise((resolve) => { ended = resolve; });
    const req = request({ port: server.address().port, path, headers }).on('error', () => {}).end();
    await done;
    req.destroy();
    result[path + ' ' + kind] = [runs, ...doors];
  }
}
console.log(JSON.stringify(result));
process.exit(0);
`;

it('a handler that throws behind a guard runs once, and its error is an uncaught exception of the process', () => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=EXPRESS_AUTH_ADAPTERS_TESTING', '--input-type=module', '--eval', script],
    { encoding: 'utf8', cwd: root },
  );
  expect(stderr).not.toMatch(/Error/);
  const once = [1, 'uncaughtException: from the handler'];
  expect(JSON.parse(stdout)).toEqual({
    '/page cold': once,
    '/page warm': once,
    '/api cold': once,
    '/api warm': once,
    '/check cold': once,
    '/check warm': once,
  });
});
