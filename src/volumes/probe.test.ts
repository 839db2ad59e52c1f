import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { realClock } from '../core/clock.ts';
import { type ProbeOptions, probeStorage } from './probe.ts';

const MiB = 2 ** 20;
const OPTIONS: ProbeOptions = {
  env: {},
  clock: realClock,
  signal: new AbortController().signal,
  evictionLine: { kind: 'none' },
  measure: null,
};

describe('probeStorage, on a real folder', () => {
  it('measures as requested, and leaves nothing behind', async () => {
    using folder = tempFolder();
    const done: number[] = [];
    const report = await probeStorage(folder.path, {
      ...OPTIONS,
      measure: { bytesPerRound: MiB, rounds: 3 },
      onProgress: (progress) => done.push(progress.done),
    });
    expect(report).toMatchObject({ schema: 'holdfast.probe/1', bandwidth: { bytesPerRound: MiB }, notMeasured: null });
    expect(report.bandwidth?.rounds).toHaveLength(3);
    expect(report.bandwidth?.lowBytesPerSecond).toBeLessThanOrEqual(report.bandwidth?.medianBytesPerSecond ?? 0);
    expect(report.syncLatency?.p50Ms).toBeLessThanOrEqual(report.syncLatency?.p95Ms ?? 0);
    expect(done).toEqual([MiB, 2 * MiB, 3 * MiB]);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('checks the folder of a file, through links', async () => {
    using folder = tempFolder();
    writeFileSync(join(folder.path, 'model.pt'), '');
    expect((await probeStorage(join(folder.path, 'model.pt'), OPTIONS)).folder).toBe(folder.path);
  });

  it('tests what a save relies on, even without measuring', async () => {
    using folder = tempFolder();
    const { capabilities, bandwidth, notMeasured } = await probeStorage(folder.path, OPTIONS);
    expect(Object.values(capabilities ?? {}).map(({ outcome }) => outcome)).toEqual(Array.from({ length: 8 }, () => 'works'));
    expect([bandwidth, notMeasured]).toEqual([null, 'Not asked for (--quick).']);
  });

  it('removes what it wrote when it is stopped in the middle', async () => {
    using folder = tempFolder();
    const stop = new AbortController();
    const probing = probeStorage(folder.path, {
      ...OPTIONS,
      signal: stop.signal,
      measure: { bytesPerRound: 16 * MiB, rounds: 100 },
      onProgress: () => stop.abort(new Error('enough')),
    });
    await expect(probing).rejects.toThrow('enough');
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('measures nothing where there is no room above the line', async () => {
    using folder = tempFolder();
    const report = await probeStorage(folder.path, {
      ...OPTIONS,
      evictionLine: { kind: 'share', share: 0.9999 },
      measure: { bytesPerRound: MiB, rounds: 1 },
    });
    expect(report).toMatchObject({
      bandwidth: null,
      notMeasured: 'There is too little room to measure without harm.',
      space: { usableBytes: 0 },
    });
    expect(report.warnings).toContainEqual(expect.objectContaining({ code: 'BELOW_EVICTION_LINE', level: 'loud' }));
  });

  it('removes old leftovers of a killed probe, and nothing else', async () => {
    using folder = tempFolder();
    const names = ['.holdfast-probe-aB3dE6', '.holdfast-probe-Fresh1', '.holdfast-probe-notes', 'step-100'];
    for (const name of names) mkdirSync(join(folder.path, name));
    for (const name of names.filter((each) => each !== '.holdfast-probe-Fresh1')) utimesSync(join(folder.path, name), 1e9, 1e9);
    utimesSync(folder.path, 1e9, 1e9);
    await probeStorage(folder.path, OPTIONS);
    expect(readdirSync(folder.path).sort()).toEqual(['.holdfast-probe-Fresh1', '.holdfast-probe-notes', 'step-100']);
  });

  it('counts blocks that only root may use as not available', async () => {
    using folder = tempFolder();
    const { space } = await probeStorage(folder.path, OPTIONS);
    expect(space.usableBytes).toBe(space.availableBytes);
    expect(space.availableBytes).toBeLessThanOrEqual(space.totalBytes);
  });

  it.each([
    ['/nowhere/at/all', 'PATH_NOT_FOUND'],
    ['/dev/null/x', 'PATH_NOT_FOUND'],
  ])('warns about %s', async (path, code) => {
    await expect(probeStorage(path, OPTIONS)).rejects.toMatchObject({ code });
  });

  it('refuses a folder of the kernel, where nothing can be written', async () => {
    const report = await probeStorage('/proc', OPTIONS);
    expect(report).toMatchObject({ commit: { protocol: 'refuse' }, capabilities: { write: { outcome: 'refused' } } });
  });
});
