import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { cgroupsNamed } from './cgroups.ts';

/** What is visible of a cluster on the machine, by kind. */
export interface Traces {
  readonly processes: readonly number[];
  /** Namespaces that its processes use and this process does not: `net:[4026532567]`. */
  readonly namespaces: readonly string[];
  readonly mounts: readonly string[];
  readonly loopDevices: readonly string[];
  readonly cgroups: readonly string[];
}

export const NO_TRACES: Traces = { processes: [], namespaces: [], mounts: [], loopDevices: [], cgroups: [] };

const NAMESPACES = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'uts'];

/**
 * Finds everything that carries a cluster's name, or runs in its network (`net:[4026532567]`) or
 * cgroups. Pods have a network of their own, but their cgroups show them.
 */
export function tracesOf(cluster: { readonly folder: string; readonly cgroup: string; readonly network: string }): Traces {
  const processes = processIds().filter(
    (pid) =>
      networkOf(pid) === cluster.network ||
      textOf(pid, 'cmdline').includes(cluster.folder) ||
      textOf(pid, 'cgroup').includes(`/${cluster.cgroup}/`),
  );
  const own = new Set(namespacesOf(process.pid));
  return {
    processes,
    namespaces: [...new Set(processes.flatMap(namespacesOf))].filter((namespace) => !own.has(namespace)).sort(),
    mounts: linesOf(readFileSync('/proc/self/mountinfo', 'utf8')).filter(
      (line) => line.includes(cluster.folder) || line.includes(cluster.network),
    ),
    loopDevices: loopFiles().filter((file) => file.startsWith(cluster.folder)),
    cgroups: cgroupsNamed(cluster.cgroup),
  };
}

/** The files behind the loop devices. */
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

/** The network namespace of a process, as the kernel names it; empty when it has ended. */
export function networkOf(pid: number): string {
  return namespaceOf(pid, 'net');
}

function namespacesOf(pid: number): string[] {
  return NAMESPACES.map((kind) => namespaceOf(pid, kind)).filter((namespace) => namespace !== '');
}

function namespaceOf(pid: number, kind: string): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return '';
  }
}

/** A file of the kernel about another process; empty when it has ended. */
function textOf(pid: number, name: 'cmdline' | 'cgroup'): string {
  try {
    return pid === process.pid ? '' : readFileSync(`/proc/${pid}/${name}`, 'latin1');
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
