import { createConnection } from 'node:net';
import { startProxy } from './proxy-process.ts';
import type { ProxyProcess } from './proxy-process.ts';
import { freePortsInARow } from './servers.ts';

export type NginxServer = ProxyProcess;

const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * A real nginx on a free port of 127.0.0.1, as an ordinary process with files of its own. `NGINX` names another binary.
 *
 * @param configuration what stands in `http`, by the port to listen on
 */
export async function startNginx(configuration: (port: number) => string): Promise<NginxServer> {
  const port = await freePortsInARow(1);
  const text = [
    'daemon off; master_process off; pid nginx.pid; error_log error.log;',
    'events {}',
    'http {',
    'access_log off;',
    ...folders.map((name) => `${name}_temp_path ${name};`),
    configuration(port),
    '}',
  ].join('\n');
  return startProxy({
    name: 'nginx',
    binary: process.env['NGINX'] ?? 'nginx',
    parameters: ['-p', '.', '-c', 'nginx.conf', '-e', 'error.log'],
    port,
    files: { 'nginx.conf': text },
    isReady: () => accepts(port),
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    const settle = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}
