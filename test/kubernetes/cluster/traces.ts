import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { cgroupsNamed } from './cgroups.ts';

/** What of a cluster can be seen on the machine, by kind. */
export interface Traces {
  readonly processes: readonly number[];
  readonly mounts: readonly string[];
  readonly loopDevices: readonly string[];
  readonly cgroups: readonly string[];
}

export const NO_TRACES: Traces = { processes: [], mounts: [], loopDevices: [], cgroups: [] };

/** Looks for everything that bears a cluster's name or lives in its namespaces (`net:[4026532567]`), from outside. */
export function tracesOf(cluster: { readonly folder: string; readonly cgroup: string; readonly network: string }): Traces {
  return {
    processes: processIds().filter((pid) => networkOf(pid) === cluster.network || commandLine(pid).includes(cluster.folder)),
    mounts: linesOf(readFileSync('/proc/self/mountinfo', 'utf8')).filter(
      (line) => line.includes(cluster.folder) || line.includes(cluster.network),
    ),
    loopDevices: loopFiles().filter((file) => file.startsWith(cluster.folder)),
    cgroups: cgroupsNamed(cluster.cgroup),
  };
}

/** The files that loop devices are made from. */
function loopFiles(): string[] {
  const devices = readdirSync('/sys/block').filter((name) => name.startsWith('loop'));
  return devices.flatMap((name) => {
    try {
      return [readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trim()];
    } catch {
      return [];
    }
  });
}

/** The network that a process is in, as the kernel names it; empty when it has ended. */
export function networkOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return '';
  }
}

function commandLine(pid: number): string {
  try {
    return pid === process.pid ? '' : readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

function processIds(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
