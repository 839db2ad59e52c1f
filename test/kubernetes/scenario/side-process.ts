import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Cluster } from '../cluster/cluster.ts';
import { hasEnded } from '../cluster/ended.ts';

/** A program beside a cluster, on its network. */
export interface SideProcess extends AsyncDisposable {
  /** What it wrote so far. */
  readonly said: () => string;
  /** Why it will not do what one waits for: it has ended; null: it runs. */
  readonly hopeless: () => string | null;
  /** Ends it, as the end of its pod does. */
  end(): Promise<void>;
}

/** What to start, and how. */
export interface SideProgram {
  readonly name: string;
  readonly command: readonly string[];
  /** The file for what it writes. */
  readonly log: string;
  /** More variables than PATH, of which it sees no others. */
  readonly env: Readonly<Record<string, string>>;
}

/** Starts a program on the cluster's network, in its folder. It ends with this process. */
export function startBeside(cluster: Cluster, { name, command, log, env }: SideProgram): SideProcess {
  const [program, ...args] = ['setpriv', '--pdeathsig', 'TERM', ...cluster.inNetwork(command)] as const;
  const output = openSync(log, 'w');
  const child: ChildProcess = spawn(program, args, {
    cwd: cluster.folder,
    stdio: ['ignore', output, output],
    env: { PATH: process.env['PATH'], ...env },
  });
  closeSync(output);
  const ended = once(child, 'close');
  const said = (): string => readFileSync(log, 'utf8');
  const end = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return {
    said,
    hopeless: () => (hasEnded(child) ? `${name} ended with ${child.signalCode ?? child.exitCode}:\n${said().slice(-2000)}` : null),
    end,
    [Symbol.asyncDispose]: end,
  };
}
