import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const TOOLS = ['ip', 'losetup', 'mkfs.ext4', 'mount', 'nsenter', 'setpriv', 'tar', 'unshare'];
/** Where Debian keeps what an ordinary user's PATH may lack. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function cacheFolder(): string {
  return process.env['HOLDFAST_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'holdfast');
}

/** Why there can be no namespaces, disks and cgroups of a cluster's own here, or null. */
export function whyNoNamespaces(): string | null {
  if (process.platform !== 'linux') return `a cluster needs Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'a cluster needs root: it makes namespaces, mounts and cgroups of its own';
  const missing = TOOLS.filter((tool) => !isOnSystemPath(tool));
  if (missing.length > 0) return `a cluster needs ${missing.join(', ')}, which this machine lacks`;
  if (!existsSync('/dev/loop-control')) return 'a cluster needs loop devices: there is no /dev/loop-control';
  const tried = spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', '--mount-proc', 'true'], { encoding: 'utf8' });
  return tried.status === 0 ? null : `namespaces cannot be made here: ${tried.error?.message ?? tried.stderr.trim()}`;
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
