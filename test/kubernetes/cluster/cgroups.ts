import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toError } from '../../../src/core/errors.ts';
import { unlessGone } from './gone.ts';

const MOUNT = '/sys/fs/cgroup';
/** The controllers that a kubelet and its runtime use for pods. */
const CONTROLLERS: readonly string[] = ['cpu', 'cpuset', 'hugetlb', 'io', 'memory', 'pids'];
/** Reasons of the kernel not to delegate controllers, and what to do. */
const REFUSALS: Readonly<Record<string, string>> = {
  EBUSY:
    "while processes are in it, as in a container with a root of its own: start the container with the machine's (`--cgroupns=host`), or move its processes into a cgroup below",
  EINVAL: "while real-time processes are in another cgroup than the machine's root: move them there, or end them",
};

/**
 * The roots of this machine's cgroup hierarchies. Version 2 has one. Version 1 has one for each
 * controller, and often an empty one of version 2 as well.
 */
function hierarchies(): readonly string[] {
  if (cgroupVersion() === 2) return [MOUNT];
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '));
  return mounts.flatMap(([, path, type]) => (type?.startsWith('cgroup') === true && path !== undefined ? [path] : []));
}

export function cgroupVersion(): 1 | 2 {
  return existsSync(join(MOUNT, 'cgroup.controllers')) ? 2 : 1;
}

/**
 * Makes a cgroup (`a/b`) in every hierarchy, so that a kubelet can create pods' cgroups below it.
 */
export function makeCgroup(path: string): void {
  for (const root of hierarchies()) {
    let folder = root;
    for (const name of path.split('/')) {
      const parent = folder;
      folder = join(folder, name);
      if (cgroupVersion() === 2) passControllersOn(parent);
      mkdirSync(folder, { recursive: true });
      inheritCpuset(parent, folder);
    }
    if (cgroupVersion() === 2) passControllersOn(folder);
  }
}

/** Kills all processes in a cgroup (`a/b`) and below it, in every hierarchy. */
export function killCgroup(path: string): void {
  const found = new Set(hierarchies().flatMap((root) => processesBelow(join(root, path))));
  for (const pid of found) unlessGone(() => process.kill(pid, 'SIGKILL'));
}

/**
 * Removes a cgroup and everything below it from every hierarchy; false while a process still runs
 * in it.
 */
export function tryRemoveCgroup(name: string): boolean {
  return hierarchies()
    .map((root) => tryRemove(join(root, name)))
    .every(Boolean);
}

/** The top-level cgroups whose names start with this text. */
export function cgroupsNamed(start: string): string[] {
  const names = hierarchies().flatMap((root) => readdirSync(root).filter((name) => name.startsWith(start)));
  return [...new Set(names)].sort();
}

/**
 * With version 2, a cgroup has the controllers that its parent delegates. Controllers that are
 * already delegated stay, and those that no pod needs are not touched.
 */
function passControllersOn(folder: string): void {
  const control = join(folder, 'cgroup.subtree_control');
  const words = (path: string): readonly string[] => readFileSync(path, 'utf8').split(/\s+/);
  const [own, passedOn] = [words(join(folder, 'cgroup.controllers')), words(control)];
  const missing = CONTROLLERS.filter((name) => own.includes(name) && !passedOn.includes(name));
  if (missing.length === 0) return;
  try {
    writeFileSync(control, missing.map((name) => `+${name}`).join(' '));
  } catch (thrown) {
    throw new Error(whyNotPassedOn(folder, missing, toError(thrown)), { cause: thrown });
  }
}

/** Names the missing controllers, with the kernel's rule if it is known. */
function whyNotPassedOn(folder: string, controllers: readonly string[], { code = '', message }: NodeJS.ErrnoException): string {
  const wish = `a cluster needs ${folder} to pass on the controllers ${controllers.join(', ')}, and the kernel refuses it`;
  const rule = REFUSALS[code];
  return rule === undefined ? `${wish}: ${message}` : `${wish} (${code}) ${rule}`;
}

/** With version 1, a new cpuset is empty and no process can run in it. */
function inheritCpuset(parent: string, folder: string): void {
  for (const name of ['cpuset.cpus', 'cpuset.mems']) {
    if (cgroupVersion() === 1 && existsSync(join(folder, name))) writeFileSync(join(folder, name), readFileSync(join(parent, name)));
  }
}

function processesBelow(folder: string): number[] {
  const own = unlessGone(() => readFileSync(join(folder, 'cgroup.procs'), 'latin1')) ?? '';
  return [...own.split('\n').filter(Boolean).map(Number), ...cgroupsIn(folder).flatMap(processesBelow)];
}

function tryRemove(folder: string): boolean {
  const isFree = cgroupsIn(folder).map(tryRemove).every(Boolean);
  try {
    if (isFree) unlessGone(() => rmdirSync(folder));
    return isFree;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EBUSY') return false;
    throw thrown;
  }
}

function cgroupsIn(folder: string): string[] {
  const entries = unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}
