import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { systemCode } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../limits.ts';
import { type ByteSource, clamp } from './byte-source.ts';
import { SourceError } from './source-error.ts';

/** Never follow a link that appeared after listing, never hang on a pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The files that are open at the moment: few, the least recently used is closed first, and reopened when it is read again. */
export class OpenFiles {
  #handles = new Map<string, number>();
  bytesRead = 0;

  /** A source over the regular file at the absolute path `real`, of `size` bytes; opened when it is first read. */
  source(real: string, file: string, size: number): ByteSource {
    return this.#view({ real, file }, 0, size);
  }

  close(): void {
    for (const handle of this.#handles.values()) closeSync(handle);
    this.#handles.clear();
  }

  #view(of: { real: string; file: string }, base: number, size: number): ByteSource {
    return {
      file: of.file,
      base,
      size,
      read: (offset, length, into) => {
        const from = clamp(offset, size);
        return this.#read(of, base + from, clamp(length, size - from), into);
      },
      slice: (offset, length) => {
        const from = clamp(offset, size);
        return this.#view(of, base + from, clamp(length, size - from));
      },
    };
  }

  #read(of: { real: string; file: string }, position: number, length: number, into?: Buffer): Buffer {
    if (length > LIMITS.readBytes) {
      throw new SourceError('LIMIT_EXCEEDED', of.file, `${length} bytes would be read at once, at most ${LIMITS.readBytes} are`);
    }
    const handle = this.#handle(of);
    const bytes = into === undefined || into.length < length ? Buffer.allocUnsafe(length) : into;
    let filled = 0;
    try {
      while (filled < length) {
        const count = readSync(handle, bytes, filled, length - filled, position + filled);
        if (count === 0) break;
        filled += count;
      }
    } catch (thrown) {
      throw unreadable(of.file, thrown);
    }
    this.bytesRead += filled;
    return filled === bytes.length ? bytes : bytes.subarray(0, filled);
  }

  #handle(of: { real: string; file: string }): number {
    const known = this.#handles.get(of.real);
    if (known !== undefined) {
      this.#handles.delete(of.real);
      this.#handles.set(of.real, known);
      return known;
    }
    const handle = openRegular(of.real, of.file);
    this.#handles.set(of.real, handle);
    if (this.#handles.size > LIMITS.openFiles) this.#closeOldest();
    return handle;
  }

  #closeOldest(): void {
    for (const [real, handle] of this.#handles) {
      closeSync(handle);
      this.#handles.delete(real);
      return;
    }
  }
}

function openRegular(real: string, file: string): number {
  let handle: number;
  try {
    handle = openSync(real, OPEN_FLAGS);
  } catch (thrown) {
    throw unreadable(file, thrown);
  }
  if (fstatSync(handle).isFile()) return handle;
  closeSync(handle);
  throw new SourceError('FILE_NOT_REGULAR', file, `${printable(file)} is not a regular file, so it was not read`);
}

export function unreadable(file: string, thrown: unknown): SourceError {
  const code = systemCode(thrown) ?? 'unknown error';
  return new SourceError('FILE_NOT_READABLE', file, `${printable(file) || 'the path'} cannot be read: ${code}`);
}
