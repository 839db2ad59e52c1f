import fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { crc32c as packageCrc32c } from '@node-rs/crc32';
import { afterAll, describe, expect, it } from 'vitest';
import { installedFile } from './installation.ts';
import { type Checksum, loadOwnCrc32c, OWN_CRC32C } from './own-crc32c.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-crc32c-'));
afterAll(() => rmSync(folder, { recursive: true }));

const file = join(folder, basename(OWN_CRC32C));
const built = build();
const own = loadOwnCrc32c(file);
const isBuiltHere = process.platform === 'linux' && process.arch === 'x64' && spawnSync('cc', ['--version']).status === 0;

describe.skipIf(!isBuiltHere)('our own CRC-32C (needs Linux on x64 and a C compiler)', () => {
  const crc32c = own as Checksum;

  it('compiles without a warning', () => {
    expect(built).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(own).not.toBeNull();
  });

  it('gives the value that the standard names for "123456789"', () => {
    expect(crc32c(Buffer.from('123456789'), 0)).toBe(0xe306_9283);
  });

  it('agrees with the package for every length, place in memory and start', () => {
    const length = fc.oneof(
      fc.nat(100),
      fc.nat(40_000),
      fc.integer({ min: -9, max: 9 }).map((more) => 3 * 4096 + more),
    );
    fc.assert(
      fc.property(length, fc.nat(9), fc.integer({ min: 0, max: 0xffff_ffff }), fc.nat(255), (size, offset, previous, seed) => {
        const bytes = Uint8Array.from({ length: size + offset }, (_, at) => (at * at + seed * at + (at >> 8)) & 255).subarray(offset);
        expect(crc32c(bytes, previous)).toBe(packageCrc32c(bytes, previous));
      }),
    );
  });

  it('continues from the checksum of the bytes before', () => {
    const bytes = Buffer.alloc(50_000, 'holdfast');
    fc.assert(fc.property(fc.nat(50_000), (at) => crc32c(bytes.subarray(at), crc32c(bytes.subarray(0, at), 0)) === crc32c(bytes, 0)));
  });

  it.each([
    ['nothing', []],
    ['text', ['text', 0]],
    ['numbers that are no bytes', [new Float64Array(4), 0]],
    ['no start', [new Uint8Array(4)]],
  ])('refuses %s', (_, given) => {
    expect(() => (crc32c as (...all: readonly unknown[]) => number)(...given)).toThrow(TypeError);
  });

  it('is loaded by each thread that needs it', async () => {
    const code = `const { parentPort } = require('node:worker_threads'); const addon = { exports: {} };
      process.dlopen(addon, ${JSON.stringify(file)}); parentPort.postMessage(addon.exports.crc32c(Buffer.alloc(100_000, 7), 0));`;
    const answers = await Promise.all([1, 2].map(() => answerOf(new Worker(code, { eval: true }))));
    expect(answers).toEqual([1, 2].map(() => crc32c(Buffer.alloc(100_000, 7), 0)));
  });

  it('is skipped with one line for each source when the compiler fails, and no partial file stays', () => {
    const before = readdirSync(folder);
    const { status, stderr } = build('false');
    expect({ status, lines: stderr.trim().split('\n').length }).toEqual({ status: 0, lines: 2 });
    expect(stderr).toContain('was not compiled');
    expect(readdirSync(folder)).toEqual(before);
  });
});

describe('without our own CRC-32C', () => {
  it('nothing is built, and no error is raised, on a machine without a compiler', () => {
    expect(build('no-such-compiler')).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  it('a missing file or a file that is not an addon counts as none', () => {
    const noAddon = join(folder, 'text.node');
    writeFileSync(noAddon, 'not an addon');
    expect(loadOwnCrc32c(noAddon)).toBeNull();
    expect(loadOwnCrc32c(join(folder, 'missing.node'))).toBeNull();
    rmSync(noAddon);
  });
});

function build(compiler?: string) {
  const env = compiler === undefined ? process.env : { ...process.env, CC: compiler };
  return spawnSync('sh', [installedFile('native/build.sh'), folder], { encoding: 'utf8', env });
}

function answerOf(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
}
