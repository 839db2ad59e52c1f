import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 200;
const QUIET_LOOKS = 5;
const MOST_LOOKS = 300;

/**
 * Resolves when everything below this folder is on the disk, and the disk was idle for a second.
 * The file system discards freed blocks in the background, and a write meanwhile is measured at
 * half or double speed by chance.
 */
export async function quietDisk(folder: string): Promise<void> {
  spawnSync('sync');
  const { dev } = statSync(folder);
  const counters = `/sys/dev/block/${Math.trunc(dev / 256) & 0xfff}:${dev & 0xff}/stat`;
  if (!existsSync(counters)) return;
  let last = '';
  for (let quiet = 0, looks = 0; quiet < QUIET_LOOKS && looks < MOST_LOOKS; looks++) {
    const now = readFileSync(counters, 'utf8');
    quiet = now === last ? quiet + 1 : 0;
    last = now;
    await sleep(LOOK_EVERY_MS);
  }
}
