import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';

/** The kernel's own bound on the path of a Unix socket, less the byte that ends it. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;
const SOCKET_NAME = 'sdk';

export interface SocketPlace {
  readonly path: string;
  /** Removes the socket and its folder. */
  remove(): void;
}

/**
 * A path for the socket in a new folder that only this user can enter: whoever can connect could end the run. The first place that is
 * writable and short enough is taken.
 */
export function makeSocketPlace(candidates: readonly string[]): SocketPlace {
  const reasons: string[] = [];
  for (const parent of candidates) {
    // mkdtemp adds six characters.
    const length = Buffer.byteLength(join(parent, `holdfast-XXXXXX/${SOCKET_NAME}`));
    if (length > MAX_PATH_BYTES) {
      reasons.push(`the path in ${printable(parent)} would have ${length} bytes, at most ${MAX_PATH_BYTES} are possible`);
      continue;
    }
    try {
      const folder = mkdtempSync(join(parent, 'holdfast-'));
      return { path: join(folder, SOCKET_NAME), remove: () => rmSync(folder, { recursive: true, force: true }) };
    } catch (thrown) {
      reasons.push(`${printable(parent)} cannot be written (${systemCode(thrown) ?? String(thrown)})`);
    }
  }
  throw new HoldfastError('SOCKET_FAILED', {
    message: `there is no place for the socket of the SDK: ${reasons.join('; ')}`,
    hint: 'Set TMPDIR to a short path of a folder that can be written. On a read-only root file system mount an emptyDir at /tmp.',
  });
}

/** Where to try, the first choice first. */
export function socketCandidates(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const own = [env['XDG_RUNTIME_DIR'], env['TMPDIR']].filter((path) => path !== undefined && path.startsWith('/'));
  return [...new Set([...(own as string[]), '/tmp', '/dev/shm'])];
}
