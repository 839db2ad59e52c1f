import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { ROOT } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** The folder of PostgreSQL's programs, or why there are none. */
export function findPostgres(): { readonly bin: string } | { readonly missing: string } {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'test/queue/setup-postgres.sh'), { encoding: 'utf8' });
  return status === 0 ? { bin: stdout.trim() } : { missing: stderr.trim().split('\n').at(-1) ?? 'no PostgreSQL' };
}

/** PostgreSQL refuses to be root; any other user will do. */
const NOBODY = 65_534;

/** A real PostgreSQL with its own port and data folder. */
export class PostgresServer implements AsyncDisposable {
  readonly #bin: string;
  readonly #folder = tempFolder();
  readonly #data: string;
  readonly port: number;
  #process: ChildProcess | null = null;

  private constructor(bin: string, port: number) {
    this.#bin = bin;
    this.port = port;
    this.#data = join(this.#folder.path, 'data');
  }

  static async start(bin: string): Promise<PostgresServer> {
    const server = new PostgresServer(bin, await freePort());
    mkdirSync(server.#data);
    chmodSync(server.#folder.path, 0o755);
    if (process.getuid?.() === 0) chownSync(server.#data, NOBODY, NOBODY);
    const options = ['-D', server.#data, '-U', 'holdfast', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'];
    execFileSync(join(bin, 'initdb'), options, { ...server.#user(), stdio: 'pipe' });
    await server.run();
    return server;
  }

  /** The address of a database, which is created if it does not exist. */
  database(name: string): string {
    const exists = this.#psql('postgres', `SELECT 1 FROM pg_database WHERE datname = '${name}'`) !== '';
    if (!exists) this.#psql('postgres', `CREATE DATABASE ${name}`);
    return `postgres://holdfast@127.0.0.1:${this.port}/${name}`;
  }

  /** Runs the server; after a kill, with the same data. */
  async run(settings: readonly string[] = []): Promise<void> {
    const own = [
      '-c',
      `port=${this.port}`,
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=200',
    ];
    const args = ['-D', this.#data, ...own, ...settings.flatMap((setting) => ['-c', setting])];
    const start = (): ChildProcess => spawn(join(this.#bin, 'postgres'), args, { ...this.#user(), stdio: 'ignore' });
    this.#process = start();
    while (spawnSync(join(this.#bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(this.port), '-q'], this.#user()).status !== 0) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      // After a kill, processes of the previous server hold its shared memory until they notice the
      // end.
      if (this.#process.exitCode !== null) this.#process = start();
    }
  }

  /** SIGKILL ends all processes at once, like a power cut; SIGINT is an orderly quick shutdown. */
  async end(signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
    const running = this.#process;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill(signal);
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGINT');
    this.#folder[Symbol.dispose]();
  }

  #psql(database: string, sql: string): string {
    const args = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'holdfast', '-d', database, '-At', '-c', sql];
    return execFileSync(join(this.#bin, 'psql'), args, { encoding: 'utf8' }).trim();
  }

  #user(): { uid?: number; gid?: number; cwd: string } {
    return process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY, cwd: '/' } : { cwd: '/' };
  }
}
