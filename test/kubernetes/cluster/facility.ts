import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toError } from '../../../src/core/errors.ts';
import type { Release } from './options.ts';
import { prepare } from './prepare.ts';

/** The environment variable that tells tests that the build failed. */
export const WHY_NOT_BUILT = 'HOLDFAST_KUBERNETES_NOT_BUILT';
const SETUP = fileURLToPath(new URL('../setup.sh', import.meta.url));
/** The programs that a cluster needs, and the Debian package of each. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  e2fsprogs: ['mkfs.ext4'],
  iproute2: ['ip'],
  mount: ['losetup', 'mount'],
  tar: ['tar'],
  'util-linux': ['fallocate', 'nsenter', 'setpriv', 'unshare'],
};
/** The folders for programs on Debian, some of which an ordinary user's PATH lacks. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What `setup.sh` has made: Kubernetes' programs, and Debian's containerd with its tools. */
export interface Facility {
  readonly folder: string;
  readonly version: string;
  /** The path of a program built from Go modules. */
  program(name: string): string;
  /** The path of a file in the unpacked packages. */
  unpacked(path: string): string;
}

export function cacheFolder(): string {
  return process.env['HOLDFAST_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'holdfast');
}

/**
 * Builds what is missing, which takes minutes; the output goes to standard error. Returns the
 * reason if the build is not possible, else null. Throws when the signal aborts.
 */
export async function buildFacility(signal?: AbortSignal, release: Release = '1.35'): Promise<string | null> {
  const reason = await prepare([SETUP, ...(release === '1.35' ? [] : ['--with', NAMES[release]])], signal);
  return reason === null ? null : `Kubernetes could not be built: ${reason}`;
}

/** What `setup.sh` calls a release. */
const NAMES = { '1.35': '', '1.37': 'kubernetes-37' } as const satisfies Readonly<Record<Release, string>>;

/** Why a build would fail at once, or null: it is done already, or everything for it is present. */
export async function whyNotBuildable(): Promise<string | null> {
  return prepare([SETUP, '--check']);
}

export function findFacility(release: Release = '1.35'): Facility {
  const found = spawnSync(SETUP, ['--find', NAMES[release]], { encoding: 'utf8' });
  if (found.status !== 0) throw new Error(found.error?.message ?? found.stderr.trim());
  const folder = found.stdout.trim();
  return {
    folder,
    version: readFileSync(join(folder, 'version'), 'utf8').trim(),
    program: (name) => join(folder, 'bin', name),
    unpacked: (path) => join(folder, 'packages', path),
  };
}

/** Why no cluster of a release can start here, or null. */
export function whyNoCluster(release: Release = '1.35'): string | null {
  return whyNoNamespaces() ?? whyNotBuilt(release);
}

/** Why the programs of Kubernetes are missing, or null: the reason of the last failed build. */
export function whyNotBuilt(release: Release = '1.35'): string | null {
  const told = process.env[WHY_NOT_BUILT];
  if (told !== undefined) return told;
  try {
    findFacility(release);
    return null;
  } catch (thrown) {
    return toError(thrown).message;
  }
}

/** Why a cluster cannot have its own namespaces, disks and cgroups here, or null. */
export function whyNoNamespaces(): string | null {
  if (process.platform !== 'linux') return `a cluster needs Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'a cluster needs root: it makes namespaces, mounts and cgroups of its own';
  const lacking = whyNoTools(isOnSystemPath);
  if (lacking !== null) return lacking;
  if (!existsSync('/dev/loop-control')) return 'a cluster needs loop devices: there is no /dev/loop-control';
  const tried = spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', '--mount-proc', 'true'], { encoding: 'utf8' });
  return tried.status === 0 ? null : `namespaces cannot be made here: ${tried.error?.message ?? tried.stderr.trim()}`;
}

/** Which programs are missing and how to install them, or null. */
function whyNoTools(isThere: (tool: string) => boolean): string | null {
  const lacking = Object.entries(TOOLS).flatMap(([name, tools]) => tools.filter((tool) => !isThere(tool)).map((tool) => ({ name, tool })));
  if (lacking.length === 0) return null;
  const packages = [...new Set(lacking.map(({ name }) => name))];
  return (
    `a cluster needs ${lacking.map(({ tool }) => tool).join(', ')}, which this machine lacks: ` +
    `on Debian \`apt-get install ${packages.join(' ')}\` installs what is missing`
  );
}

/**
 * Why no loop device is free now, or null. Other processes may hold all of them and release them
 * later.
 */
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
