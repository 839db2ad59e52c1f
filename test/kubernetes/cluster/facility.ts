import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toError } from '../../../src/core/errors.ts';
import { prepare } from './prepare.ts';

/** In the environment of tests, where they could not be built. */
export const WHY_NOT_BUILT = 'HOLDFAST_KUBERNETES_NOT_BUILT';
const SETUP = fileURLToPath(new URL('../setup.sh', import.meta.url));
/** The programs that a cluster is made with, by the package that Debian has them in. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  e2fsprogs: ['mkfs.ext4'],
  iproute2: ['ip'],
  mount: ['losetup', 'mount'],
  tar: ['tar'],
  'util-linux': ['fallocate', 'nsenter', 'setpriv', 'unshare'],
};
/** Where Debian keeps what an ordinary user's PATH may lack. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What `setup.sh` has made: the programs of Kubernetes, and Debian's containerd and what belongs to it. */
export interface Facility {
  readonly folder: string;
  readonly version: string;
  /** The path of a program that was built from Go modules. */
  program(name: string): string;
  /** The path of a file in the unpacked packages. */
  unpacked(path: string): string;
}

export function cacheFolder(): string {
  return process.env['HOLDFAST_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'holdfast');
}

/** Builds what is not there yet, which takes minutes; what it says goes to standard error. Says why not when it cannot, else null. Throws when it is called off. */
export async function buildFacility(signal?: AbortSignal): Promise<string | null> {
  const reason = await prepare([SETUP], signal);
  return reason === null ? null : `Kubernetes could not be built: ${reason}`;
}

/** Why a build would fail at once, or null: it is there already, or all that is needed for it is. */
export async function whyNotBuildable(): Promise<string | null> {
  return prepare([SETUP, '--check']);
}

export function findFacility(): Facility {
  const found = spawnSync(SETUP, ['--find'], { encoding: 'utf8' });
  if (found.status !== 0) throw new Error(found.error?.message ?? found.stderr.trim());
  const folder = found.stdout.trim();
  return {
    folder,
    version: readFileSync(join(folder, 'version'), 'utf8').trim(),
    program: (name) => join(folder, 'bin', name),
    unpacked: (path) => join(folder, 'packages', path),
  };
}

/** Why there is no cluster to be had here, or null. */
export function whyNoCluster(): string | null {
  return whyNoNamespaces() ?? whyNotBuilt();
}

/** Why the programs of Kubernetes are not there, or null: as whoever has tried to build them was told, if it was tried. */
export function whyNotBuilt(): string | null {
  const told = process.env[WHY_NOT_BUILT];
  if (told !== undefined) return told;
  try {
    findFacility();
    return null;
  } catch (thrown) {
    return toError(thrown).message;
  }
}

/** Why there can be no namespaces, disks and cgroups of a cluster's own here, or null. */
export function whyNoNamespaces(): string | null {
  if (process.platform !== 'linux') return `a cluster needs Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'a cluster needs root: it makes namespaces, mounts and cgroups of its own';
  const lacking = whyNoTools(isOnSystemPath);
  if (lacking !== null) return lacking;
  if (!existsSync('/dev/loop-control')) return 'a cluster needs loop devices: there is no /dev/loop-control';
  const tried = spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', '--mount-proc', 'true'], { encoding: 'utf8' });
  return tried.status === 0 ? null : `namespaces cannot be made here: ${tried.error?.message ?? tried.stderr.trim()}`;
}

/** Which programs are not there, and what they are installed with, or null. */
export function whyNoTools(isThere: (tool: string) => boolean): string | null {
  const lacking = Object.entries(TOOLS).flatMap(([name, tools]) => tools.filter((tool) => !isThere(tool)).map((tool) => ({ name, tool })));
  if (lacking.length === 0) return null;
  const packages = [...new Set(lacking.map(({ name }) => name))];
  return (
    `a cluster needs ${lacking.map(({ tool }) => tool).join(', ')}, which this machine lacks: ` +
    `on Debian \`apt-get install ${packages.join(' ')}\` installs what is missing`
  );
}

/** Why there is no loop device at this moment, or null: others may have them all, and give them back. */
export function whyNoLoopDevice(): string | null {
  const tried = spawnSync('losetup', ['--find'], { encoding: 'utf8', env: { PATH: SYSTEM_PATH } });
  if (tried.status === 0) return null;
  return `a cluster needs a loop device for every node, and none is free: ${tried.error?.message ?? tried.stderr.trim()}; \`losetup --list\` tells who has them`;
}

function isOnSystemPath(tool: string): boolean {
  return SYSTEM_PATH.split(':').some((folder) => {
    try {
      accessSync(join(folder, tool), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
