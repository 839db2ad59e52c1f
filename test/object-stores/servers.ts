import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** A real object-store server that a test started, on the loopback interface. */
export interface Server extends AsyncDisposable {
  /** `s3` or `gs`. */
  readonly scheme: string;
  readonly port: number;
  readonly bucket: string;
  /** The folder with the server's buckets, each a folder. */
  readonly folder: string;
  /** The environment variables that lead the command line to it. */
  readonly env: Readonly<Record<string, string>>;
  /** The variable with the server's address, for tests that put a proxy in between. */
  readonly endpointVariable: string;
}

/** The servers that the tests can start. */
export type ServerName = 'versitygw' | 'minio' | 'fake-gcs-server';
/** All servers that the tests can start. */
export const SERVERS: readonly ServerName[] = ['versitygw', 'minio', 'fake-gcs-server'];

/** The access key of every test server. */
export const ACCESS_KEY = 'holdfastaccess';
/** The secret key of every test server. */
export const SECRET_KEY = 'very-secret-holdfast-key';
const BUCKET = 'checkpoints';

/**
 * Finds the folder of the servers, and builds them if necessary; or the reason why there are none.
 */
export function findServers(): { readonly folder: string } | { readonly reason: string } {
  try {
    return {
      folder: execFileSync(join(import.meta.dirname, 'setup.sh'), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim(),
    };
  } catch {
    return { reason: 'the servers are not here and cannot be built: that needs Go and a module proxy (test/object-stores/setup.sh tells)' };
  }
}

interface Launch {
  readonly args: (port: number, folder: string) => readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const LAUNCHES: Readonly<Record<ServerName, Launch>> = {
  versitygw: {
    args: (port, folder) => ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', folder],
    env: { ROOT_ACCESS_KEY: ACCESS_KEY, ROOT_SECRET_KEY: SECRET_KEY },
  },
  minio: {
    args: (port, folder) => ['server', folder, '--quiet', '--address', `127.0.0.1:${port}`, '--console-address', '127.0.0.1:0'],
    env: { MINIO_ROOT_USER: ACCESS_KEY, MINIO_ROOT_PASSWORD: SECRET_KEY, MINIO_UPDATE: 'off', MINIO_BROWSER: 'off' },
  },
  'fake-gcs-server': {
    args: (port, folder) => [
      ...['-scheme', 'http', '-host', '127.0.0.1', '-port', String(port), '-backend', 'filesystem', '-filesystem-root', folder],
      ...['-external-url', `http://127.0.0.1:${port}`, '-public-host', `127.0.0.1:${port}`, '-log-level', 'error'],
    ],
    env: {},
  },
};

/** Starts a server. Its data is in a folder below `parent` that disappears with it. */
export async function startServer(binaries: string, name: ServerName, parent?: string): Promise<Server> {
  const folder = tempFolder(parent);
  const port = await freePort();
  // All three servers treat a folder as a bucket.
  mkdirSync(join(folder.path, BUCKET));
  const { args, env } = LAUNCHES[name];
  const child = spawn(join(binaries, name), args(port, folder.path), {
    env: { PATH: process.env['PATH'], HOME: folder.path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (log = (log + text.toString()).slice(-4000)));
  const stop = async (): Promise<void> => {
    await ended(child);
    folder[Symbol.dispose]();
  };
  try {
    await reachable(child, port);
  } catch (thrown) {
    await stop();
    throw new Error(`${name} did not start: ${log}`, { cause: thrown });
  }
  const endpoint = `http://127.0.0.1:${port}`;
  const common = { port, bucket: BUCKET, folder: folder.path, [Symbol.asyncDispose]: stop };
  const s3 = { AWS_ACCESS_KEY_ID: ACCESS_KEY, AWS_SECRET_ACCESS_KEY: SECRET_KEY, AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_S3: endpoint };
  return name === 'fake-gcs-server'
    ? { ...common, scheme: 'gs', env: { STORAGE_EMULATOR_HOST: endpoint }, endpointVariable: 'STORAGE_EMULATOR_HOST' }
    : { ...common, scheme: 's3', env: s3, endpointVariable: 'AWS_ENDPOINT_URL_S3' };
}

async function reachable(child: ChildProcess, port: number): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => (socket.destroy(), resolve(true)));
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return;
    await sleep(100);
  }
  throw new Error('nothing listened for two minutes');
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else {
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    }
  });
}
