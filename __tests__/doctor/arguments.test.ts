import { parseCommand } from '../../lib/doctor/arguments.ts';

const plain = {
  kind: 'doctor',
  isJson: false,
  isQuiet: false,
  adapter: undefined,
  appUrl: undefined,
  callbackPath: undefined,
  pathPrefix: undefined,
  envFile: undefined,
  timeoutMs: 5_000,
};

it('checks everything that is configured by default', () => {
  expect(parseCommand(['doctor'])).toEqual(plain);
});

it.each([
  [['--json'], { isJson: true }],
  [['--quiet'], { isQuiet: true }],
  [['--adapter', 'b2b'], { adapter: 'b2b' }],
  [['--adapter', 'backend'], { adapter: 'backend' }],
  [['--app-url', 'https://app.example.com/admin'], { appUrl: 'https://app.example.com/admin' }],
  [['--callback-path', '/done'], { callbackPath: '/done' }],
  [['--path-prefix', '/v1/auth'], { pathPrefix: '/v1/auth' }],
  [['--env-file', '.env'], { envFile: '.env' }],
  [['--timeout', '100'], { timeoutMs: 100 }],
  [['--timeout', '30000'], { timeoutMs: 30_000 }],
])('parses %j', (args, rest) => {
  expect(parseCommand(['doctor', ...args])).toEqual({ ...plain, ...rest });
  expect(parseCommand([...args, 'doctor'])).toEqual({ ...plain, ...rest });
});

it.each([[['-h']], [['--help']], [['doctor', '--help']], [['docter', '-h']]])('helps when asked: %j', (args) => {
  expect(parseCommand(args)).toEqual({ kind: 'help' });
});

it.each([[['--version']], [['doctor', '--version']]])('prints the version when asked: %j', (args) => {
  expect(parseCommand(args)).toEqual({ kind: 'version' });
});

it.each([
  [[], 'A command is missing'],
  [['docter'], 'Unknown command: docter'],
  [['doctor', 'who'], 'Unknown command: doctor who'],
  [['doctor', '--adapter', 'both'], '--adapter is b2b or backend'],
  [['doctor', '--app-url', 'app.example.com'], '--app-url must be an absolute http(s) URL'],
  [['doctor', '--app-url', 'ftp://app.example.com'], '--app-url must be an absolute http(s) URL'],
  [['doctor', '--callback-path', 'done'], '--callback-path must start with /'],
  ...['v1', '/v1/', ''].map((value) => [
    ['doctor', `--path-prefix=${value}`],
    '--path-prefix must be a path such as /v1/auth, without a trailing slash',
  ]),
  ...['5s', '-1', '', '99', '30001', '1e3', '100.5', ' 100'].map((value) => [
    ['doctor', `--timeout=${value}`],
    '--timeout must be between 100 and 30000 milliseconds',
  ]),
] as [string[], string][])('says what is wrong with %j', (args, reason) => {
  expect(() => parseCommand(args)).toThrow(new TypeError(reason));
});
