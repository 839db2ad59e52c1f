import { closeSync, constants, createReadStream, fstatSync, openSync, type Stats, statSync } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import { HoldfastError, systemCode } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';

/** A text file has no longer lines: it is a disk image, or one hole. */
const LONGEST_TEXT_LINE = 2 ** 30;
const NEWLINE = 10;

/** Refuses a file that cannot be read before the first item is sent. `-` is standard input. */
export function assertItemFiles(files: readonly string[]): void {
  for (const file of files) if (file !== '-') closeSync(openItems(file));
}

/**
 * The bytes of a file, or of standard input for `-`. An aborted signal ends the wait for a silent
 * standard input.
 */
export async function* itemBytes(file: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const stream = file === '-' ? process.stdin : createReadStream(file, { fd: openItems(file), highWaterMark: 1 << 20 });
  let line = 0;
  try {
    for await (const piece of addAbortSignal(signal, stream) as AsyncIterable<Buffer>) {
      const end = piece.lastIndexOf(NEWLINE);
      line = end < 0 ? line + piece.length : piece.length - end - 1;
      if (line > LONGEST_TEXT_LINE) {
        throw new HoldfastError('PATH_NOT_SUPPORTED', {
          message: `${printable(file)} has a line of more than 1 GiB: it is not a text file. Items before it may have been pushed`,
        });
      }
      yield piece;
    }
  } catch (thrown) {
    signal.throwIfAborted();
    const code = systemCode(thrown);
    if (thrown instanceof HoldfastError || code === null) throw thrown;
    throw notReadable(file, `${code}. Items before it may have been pushed`, thrown);
  }
}

/** Opens a regular file. Another kind of thing could block for ever, or never end. */
function openItems(file: string): number {
  let opened: number;
  try {
    assertFile(file, statSync(file));
    opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (thrown) {
    if (thrown instanceof HoldfastError) throw thrown;
    throw notReadable(file, systemCode(thrown) ?? 'unknown', thrown);
  }
  try {
    // The file may have been replaced since.
    assertFile(file, fstatSync(opened));
    return opened;
  } catch (thrown) {
    closeSync(opened);
    throw thrown;
  }
}

function assertFile(file: string, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw notReadable(file, 'it is a folder', null);
  throw new HoldfastError('PATH_NOT_SUPPORTED', {
    message: `${printable(file)} is neither a file nor a folder`,
    hint: 'Give - as FILE, and send the items to standard input.',
  });
}

function notReadable(file: string, why: string, cause: unknown): HoldfastError {
  const kind = systemCode(cause) === 'ENOENT' ? 'PATH_NOT_FOUND' : 'PATH_NOT_READABLE';
  return new HoldfastError(kind, { message: `${printable(file)} cannot be read: ${why}`, cause });
}
