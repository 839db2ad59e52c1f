import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const WHOLE = join(import.meta.dirname, '..', 'fixtures', 'whole');

/** The data folder of a whole fixture. */
export function fixtureData(id: string): string {
  return join(WHOLE, id, 'data');
}

/** Runs `use` over a copy of a fixture's data folder that may be damaged, and removes the copy. */
export function withFixtureCopy<T>(id: string, use: (data: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-fixture-'));
  try {
    cpSync(fixtureData(id), folder, { recursive: true, verbatimSymlinks: true });
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Rewrites a file by what `change` makes of its bytes. */
export function alterFile(path: string, change: (bytes: Buffer) => Buffer): void {
  writeFileSync(path, change(readFileSync(path)));
}

/** Flips one bit. */
export function flipBit(path: string, offset: number): void {
  alterFile(path, (bytes) => {
    bytes[offset] = (bytes[offset] ?? 0) ^ 1;
    return bytes;
  });
}

/** Cuts `count` bytes off the end. */
export function cutEnd(path: string, count: number): void {
  truncateSync(path, readFileSync(path).length - count);
}

/** Overwrites all bytes with zeros. */
export function zeroFile(path: string): void {
  alterFile(path, (bytes) => bytes.fill(0));
}

/** Appends bytes that do not belong there. */
export function appendJunk(path: string, count = 512): void {
  alterFile(path, (bytes) => Buffer.concat([bytes, Buffer.alloc(count, 0x5a)]));
}
