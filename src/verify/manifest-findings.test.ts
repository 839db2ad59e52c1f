import { appendFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixtureData, flipBit } from '../../test/support/fixture-copy.ts';
import { safetensorsFile } from '../../test/support/make-safetensors.ts';
import { testRun } from '../../test/support/sealed-run.ts';
import { crc32c, hex32 } from '../core/checksums.ts';
import { verifyPaths } from './verify.ts';
import { adopt } from '../store/adopt/adopt.ts';
import { formatManifest, type Manifest, PART_BYTES, parseManifest } from '../seal/manifest.ts';
import { checksOf } from './manifest-findings.ts';

const verify = async (path: string, level: 'quick' | 'deep' = 'deep') => {
  const report = await verifyPaths([path], { level, signal: new AbortController().signal });
  const [checkpoint] = report.paths[0]?.checkpoints ?? [];
  return { verdict: checkpoint?.verdict, codes: checkpoint?.evidence.map(({ code }) => code) ?? [], ...checkpoint };
};

/** A sealed checkpoint of two safetensors files, which store no checksums of their own. */
async function sealed(run: { readonly path: string; readonly store: Parameters<typeof adopt>[0] }): Promise<string> {
  const path = join(run.path, 'step-5');
  mkdirSync(path);
  writeFileSync(join(path, 'model.safetensors'), safetensorsFile({ 'layers.0.weight': 64 }));
  writeFileSync(join(path, 'optimizer.safetensors'), safetensorsFile({ 'optimizer.exp_avg': 64, 'optimizer.exp_avg_sq': 64 }));
  await adopt(run.store, path);
  return path;
}

function reseal(path: string, change: (manifest: Manifest) => object): void {
  const file = join(path, 'holdfast.manifest.json');
  const parsed = parseManifest(readFileSync(file, 'utf8'));
  if (!parsed.ok) throw new Error(parsed.reason);
  writeFileSync(file, formatManifest(change(parsed.manifest) as Manifest));
}

describe('the checks of a file', () => {
  it.each([1, 2, 3, 7])('cover every byte once when %d parts are compared at a time, with the right checksums', (partsAtOnce) => {
    const bytes = Buffer.alloc(4 * PART_BYTES + 5, 'holdfast');
    const parts = Array.from({ length: 5 }, (_, part) => hex32(crc32c(bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES))));
    let end = 0;
    for (const { offset, length, expected } of checksOf('file', { path: 'file', size: bytes.length, crc32c: parts }, partsAtOnce)) {
      expect(offset).toBe(end);
      expect(expected).toBe(hex32(crc32c(bytes.subarray(offset, offset + length))));
      end = offset + length;
    }
    expect(end).toBe(bytes.length);
  });
});

describe('verify of a sealed checkpoint', () => {
  it('compares every byte with the manifest, so that a format without checksums is RESUMABLE', async () => {
    using run = testRun();
    const path = await sealed(run);
    expect(await verify(path, 'quick')).toMatchObject({ verdict: 'UNCHECKED', codes: [] });
    expect(await verify(path)).toMatchObject({ verdict: 'RESUMABLE', codes: [], integrity: { status: 'checked', algorithms: ['crc32c'] } });
    expect(await verify(run.path)).toMatchObject({ verdict: 'RESUMABLE' });
  });

  it('finds one changed bit in the data', async () => {
    using run = testRun();
    const path = await sealed(run);
    flipBit(join(path, 'model.safetensors'), 200);
    expect(await verify(path, 'quick')).toMatchObject({ verdict: 'UNCHECKED' });
    expect(await verify(path)).toMatchObject({ verdict: 'CORRUPT', codes: ['MANIFEST_CHECKSUM'] });
  });

  it.each<[string, string, string, (path: string) => void]>([
    ['a missing file', 'PARTIAL', 'FILE_MISSING', (path) => rmSync(join(path, 'optimizer.safetensors'))],
    ['a short file', 'PARTIAL', 'MANIFEST_SIZE', (path) => truncateSync(join(path, 'optimizer.safetensors'), 100)],
    ['a longer file', 'CORRUPT', 'MANIFEST_SIZE', (path) => appendFileSync(join(path, 'model.safetensors'), 'x')],
    ['a manifest that is garbage', 'CORRUPT', 'MANIFEST_INVALID', (path) => writeFileSync(join(path, 'holdfast.manifest.json'), 'x')],
    ['an empty manifest', 'CORRUPT', 'MANIFEST_INVALID', (path) => truncateSync(join(path, 'holdfast.manifest.json'), 0)],
    ['a manifest cut short', 'CORRUPT', 'MANIFEST_INVALID', (path) => truncateSync(join(path, 'holdfast.manifest.json'), 300)],
    [
      'a manifest of another version',
      'UNKNOWN',
      'MANIFEST_FOREIGN',
      (path) => reseal(path, (old) => ({ ...old, schema: 'holdfast.manifest/2' })),
    ],
    [
      'a manifest that names files outside',
      'CORRUPT',
      'MANIFEST_OUTSIDE',
      (path) => reseal(path, (old) => ({ ...old, files: [{ path: '../../etc/passwd', size: 1, crc32c: ['00000000'] }] })),
    ],
  ])('reports %s', async (_, verdict, code, damage) => {
    using run = testRun();
    const path = await sealed(run);
    damage(path);
    const result = await verify(path, 'quick');
    expect(result.codes).toContain(code);
    expect(result.verdict).toBe(verdict);
  });

  it('proves files of unknown formats', async () => {
    using run = testRun();
    const path = join(run.path, 'step-7');
    mkdirSync(path);
    writeFileSync(join(path, 'state.json'), '{"slope": 3}');
    await adopt(run.store, path, { accept: 'anything' });
    expect(await verify(path, 'quick')).toMatchObject({ verdict: 'UNCHECKED', codes: [] });
    expect(await verify(run.path)).toMatchObject({ verdict: 'RESUMABLE', codes: [] });
    writeFileSync(join(path, 'state.json'), '{"slope": 4}');
    expect(await verify(path)).toMatchObject({ verdict: 'CORRUPT', codes: ['MANIFEST_CHECKSUM'] });
    reseal(path, (old) => ({ ...old, files: [] }));
    expect(await verify(path)).toMatchObject({ verdict: 'WEIGHTS_ONLY', codes: ['MANIFEST_UNNAMED'] });
  });

  it('warns of a file that was added later, and calls the checkpoint unchecked', async () => {
    using run = testRun();
    const path = await sealed(run);
    writeFileSync(join(path, 'notes.txt'), 'added by hand');
    expect(await verify(path)).toMatchObject({ verdict: 'UNCHECKED', codes: ['MANIFEST_UNNAMED'] });
  });

  it('does not call a checkpoint checked if one of its files was added later', async () => {
    using run = testRun();
    const path = join(run.path, 'checkpoint-4');
    cpSync(join(fixtureData('hf-trainer'), 'checkpoint-4'), path, { recursive: true });
    await adopt(run.store, path);
    expect(await verify(path)).toMatchObject({ verdict: 'RESUMABLE' });
    writeFileSync(join(path, 'extra.bin'), 'added by hand');
    expect(await verify(path)).toMatchObject({ verdict: 'UNCHECKED', codes: ['MANIFEST_UNNAMED'], integrity: { status: 'incomplete' } });
  });

  it('follows no link out of the folder, also when the manifest names it', async () => {
    using run = testRun();
    const path = await sealed(run);
    renameSync(join(path, 'optimizer.safetensors'), join(run.path, 'secret'));
    symlinkSync('../secret', join(path, 'optimizer.safetensors'));
    expect((await verify(path)).codes).toContain('FILE_NOT_REGULAR');
  });

  it('reads no manifest that is a link or a folder', async () => {
    using run = testRun();
    const path = await sealed(run);
    const file = join(path, 'holdfast.manifest.json');
    renameSync(file, join(run.path, 'elsewhere.json'));
    symlinkSync('../elsewhere.json', file);
    expect((await verify(path)).codes).toEqual(['FILE_LINK_OUTSIDE']);
    rmSync(file);
    mkdirSync(file);
    expect((await verify(path)).codes).toEqual(['FILE_NOT_REGULAR']);
  });
});
