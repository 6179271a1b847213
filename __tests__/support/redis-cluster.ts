import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startRedisServer } from './redis-server.ts';
import { freePortsInARow } from './servers.ts';
import type { RedisServer } from './redis-server.ts';

const run = promisify(execFile);

/** What a server answers to a command, as text. */
async function ask({ port }: RedisServer, ...command: string[]): Promise<string> {
  const { stdout } = await run('redis-cli', ['-h', '127.0.0.1', '-p', String(port), ...command]);
  return stdout;
}

const isMaster = async (server: RedisServer): Promise<boolean> =>
  (await ask(server, 'role').catch(() => '')).startsWith('master');

export interface RedisCluster {
  readonly servers: readonly RedisServer[];
  readonly ports: readonly number[];
  /** Kills a master, as a crash would; resolves when a replica serves its slots. */
  killMaster(): Promise<void>;
  stop(): Promise<void>;
}

/** Three masters, each with a replica, made by `redis-cli --cluster create`. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const busPort = await freePortsInARow(6);
  const servers = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      startRedisServer([
        ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort + index), '--cluster-node-timeout', '2000'],
        // The other masters go on while one is away.
        ...['--cluster-require-full-coverage', 'no'],
      ]),
    ),
  );
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
  await run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes']);
  const replicas = servers.slice(3);
  while (
    !(await Promise.all(replicas.map((server) => ask(server, 'role')))).every((role) => /connected$/m.test(role))
  ) {
    await wait(100);
  }
  return {
    servers,
    ports: servers.map(({ port }) => port),
    async killMaster() {
      await servers[0]!.kill();
      while (!(await Promise.all(replicas.map(isMaster))).includes(true)) await wait(50);
    },
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

export interface RedisSentinels {
  readonly name: string;
  readonly ports: readonly number[];
  /** Kills the master, as a crash would; resolves when every sentinel is connected to the replica as the new master. */
  killMaster(): Promise<void>;
  stop(): Promise<void>;
}

/** A master with a replica, and three sentinels that watch them. */
export async function startRedisSentinels(): Promise<RedisSentinels> {
  const name = 'main';
  const master = await startRedisServer();
  const replica = await startRedisServer(['--replicaof', '127.0.0.1', String(master.port)]);
  const directory = await mkdtemp(join(tmpdir(), 'sentinels-'));
  const sentinels = await Promise.all(
    Array.from({ length: 3 }, async (_, index) => {
      const file = join(directory, `${index}.conf`);
      const settings = [
        `sentinel monitor ${name} 127.0.0.1 ${master.port} 2`,
        `sentinel down-after-milliseconds ${name} 1000`,
        `sentinel failover-timeout ${name} 3000`,
      ];
      await writeFile(file, settings.join('\n'));
      return startRedisServer(['--sentinel'], file);
    }),
  );
  while (!/^connected$/m.test(await ask(replica, 'role'))) await wait(50);
  const knowsAll = async (sentinel: RedisServer): Promise<boolean> =>
    /num-slaves\n1\n[^]*num-other-sentinels\n2\n/.test(await ask(sentinel, 'sentinel', 'master', name));
  while (!(await Promise.all(sentinels.map(knowsAll))).every(Boolean)) await wait(100);
  return {
    name,
    ports: sentinels.map(({ port }) => port),
    async killMaster() {
      await master.kill();
      const namesReplica = async (sentinel: RedisServer): Promise<boolean> =>
        new RegExp(`\\nport\\n${replica.port}\\n[^]*\\nflags\\nmaster\\n`).test(
          await ask(sentinel, 'sentinel', 'master', name),
        );
      while (!(await Promise.all(sentinels.map(namesReplica))).every(Boolean)) await wait(50);
    },
    async stop() {
      await Promise.all([...sentinels, replica, master].map((server) => server.stop()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}
