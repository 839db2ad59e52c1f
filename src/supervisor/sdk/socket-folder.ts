import { lstatSync, mkdtempSync, opendirSync, readdirSync, rmdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDead } from '../../store/disk/process-identity.ts';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';

/** The kernel's own bound on the path of a Unix socket, less the byte that ends it. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;
const SOCKET_NAME = 'sdk';
/** The step counter of a rank. */
const COUNTER = /^step-\d+$/;
const PREFIX = 'holdfast-';
/**
 * An empty file whose name holds the owner's identity, so that other supervisors can see whether
 * that process still lives.
 */
const OWNER_MARK = 'owner-';
/** The most folders to look at: a folder for temporary files may hold very many. */
const MOST_ENTRIES = 10_000;

/** Where the socket is. */
export interface SocketPlace {
  readonly path: string;
  /** Removes the socket and its folder. */
  remove(): void;
}

/**
 * Finds a path for the socket in a new folder that only this user can enter, because any peer that
 * connects could end the run. The first writable folder with a short enough path is used. `owner`
 * is the identity of this process, null when it has none.
 */
export function makeSocketPlace(candidates: readonly string[], owner: string | null): SocketPlace {
  const reasons: string[] = [];
  for (const parent of candidates) {
    // mkdtemp adds six characters.
    const length = Buffer.byteLength(join(parent, `${PREFIX}XXXXXX/${SOCKET_NAME}`));
    if (length > MAX_PATH_BYTES) {
      reasons.push(`the path in ${printable(parent)} would have ${length} bytes, at most ${MAX_PATH_BYTES} are possible`);
      continue;
    }
    try {
      const folder = mkdtempSync(join(parent, PREFIX));
      if (owner !== null) writeFileSync(join(folder, `${OWNER_MARK}${owner}`), '');
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

/** The folders to try, the first choice first. */
export function socketCandidates(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const own = [env['XDG_RUNTIME_DIR'], env['TMPDIR']].filter((path) => path !== undefined && path.startsWith('/'));
  return [...new Set([...(own as string[]), '/tmp', '/dev/shm'])];
}

/**
 * Removes the folders of killed supervisors: of this user, with the mark of a process that is
 * surely dead, and with no foreign file in them. Never fails, because it only tidies up.
 */
export function sweepSocketFolders(parents: readonly string[], owner: string | null): void {
  for (const parent of parents) {
    for (const folder of foldersIn(parent)) {
      try {
        sweepFolder(folder, owner);
      } catch {
        // Another supervisor was quicker, or the folder is not ours to remove.
      }
    }
  }
}

function sweepFolder(folder: string, owner: string | null): void {
  const { uid, mode } = lstatSync(folder);
  if (uid !== process.geteuid?.() || (mode & 0o777) !== 0o700) return;
  const names = readdirSync(folder);
  const [mark, ...others] = names.filter((name) => name.startsWith(OWNER_MARK));
  if (mark === undefined || others.length > 0 || !isDead(mark.slice(OWNER_MARK.length), owner)) return;
  if (names.some((name) => name !== mark && name !== SOCKET_NAME && !COUNTER.test(name))) return;
  // The mark goes last, so that a half-removed folder is found again.
  for (const name of [...names.filter((other) => other !== mark), mark]) unlinkSync(join(folder, name));
  rmdirSync(folder);
}

function foldersIn(parent: string): readonly string[] {
  const found: string[] = [];
  try {
    const listing = opendirSync(parent);
    try {
      let entry = listing.readSync();
      for (let seen = 0; entry !== null && seen < MOST_ENTRIES; seen++, entry = listing.readSync()) {
        if (entry.isDirectory() && /^holdfast-[A-Za-z0-9]{6}$/.test(entry.name)) found.push(join(parent, entry.name));
      }
    } finally {
      listing.closeSync();
    }
  } catch {
    // The folder is missing or cannot be read.
  }
  return found;
}
