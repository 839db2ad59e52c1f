import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { cgroupsNamed } from '../cluster/cgroups.ts';
import { CGROUP_PREFIX, cgroupOf } from '../cluster/leftovers.ts';
import { linesOf, loopFiles, namespacesOf, processIds } from '../cluster/traces.ts';

/**
 * All that this process sees of its machine, a line each: processes, namespaces, mounts, network interfaces, cgroups and loop devices. The last two are of the
 * whole machine, and others may have clusters on it: of those only the ones with these ids, and loop devices of this cache, are told.
 */
export function machineList(cache: string, ids: readonly string[]): readonly string[] {
  const processes = processIds().filter((pid) => pid !== process.pid);
  const own = new Set(ids.map(cgroupOf));
  const lines = [
    ...processes.map((pid) => `process ${commandOf(pid)}`),
    ...new Set(processes.flatMap(namespacesOf).map((namespace) => `namespace ${namespace}`)),
    ...linesOf(readFileSync('/proc/self/mountinfo', 'utf8')).map((line) => `mount ${line}`),
    ...Object.keys(networkInterfaces()).map((name) => `interface ${name}`),
    ...cgroupsNamed('')
      .filter((name) => !name.startsWith(CGROUP_PREFIX) || own.has(name))
      .map((name) => `cgroup ${name}`),
    ...loopFiles()
      .filter((file) => file.startsWith(cache))
      .map((file) => `loop device ${file}`),
  ];
  return lines.sort();
}

/** Empty when it has ended, and for what the kernel itself runs. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}
