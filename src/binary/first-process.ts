import { accessSync, constants } from 'node:fs';
import { getAsset } from 'node:sea';

const SHELL = '/bin/sh';

/**
 * The first process of a container must wait for orphans, and Node.js cannot
 * (docs/adr/0020-first-process.md). If there is a shell, this process becomes bin/holdfast, with
 * the executable as its child. Without a shell it continues: everything works, but orphans of the
 * trainer stay zombies until the container ends.
 */
export function becomeFirstProcess(): void {
  if (process.pid !== 1) return;
  try {
    accessSync(SHELL, constants.X_OK);
  } catch {
    return;
  }
  const env = Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));
  process.execve?.(
    SHELL,
    ['sh', '-euc', getAsset('first-process.sh', 'utf8'), 'holdfast', process.execPath, ...process.argv.slice(2)],
    env,
  );
}
