import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cutEnd, fixtureData, withFixtureCopy } from '../../../test/support/fixture-copy.ts';
import { inspectPath } from '../../../test/support/inspect.ts';

const FILE = 'checkpoints/epoch=0-step=4.ckpt';

function codesAfter(id: string, change: (checkpoint: string) => void): readonly string[] {
  return withFixtureCopy(id, (data) => {
    change(join(data, FILE));
    return inspectPath(join(data, FILE)).findings.evidence.map(({ code }) => code);
  });
}

describe('Lightning checkpoint', () => {
  it('finds nothing wrong with a full save', () => {
    const { format, findings } = inspectPath(join(fixtureData('lightning'), FILE));
    expect(format).toBe('lightning');
    expect(findings.evidence).toEqual([]);
    const { weights, optimizer, scheduler, rng } = findings.content.found;
    expect([weights, optimizer, scheduler, rng].map(({ length }) => length)).toEqual([1, 1, 1, 0]);
    expect(findings.content.steps.map(({ step }) => step)).toEqual([4]);
  });

  it('finds weights and a step in a save of the weights alone', () => {
    const { format, findings } = inspectPath(join(fixtureData('lightning-weights'), FILE));
    expect(format).toBe('lightning');
    expect(findings.evidence).toEqual([]);
    expect(findings.content.found).toMatchObject({ optimizer: [], scheduler: [], rng: [] });
    expect(findings.content.found.weights).toHaveLength(1);
    expect(findings.content.steps.map(({ step }) => step)).toEqual([4]);
  });

  it('reports a file that is named for another step than the one inside', () => {
    withFixtureCopy('lightning', (data) => {
      const other = join(data, 'checkpoints/epoch=0-step=8.ckpt');
      renameSync(join(data, FILE), other);
      expect(inspectPath(other).findings.evidence).toMatchObject([{ code: 'STEP_NOT_AS_NAMED', expected: '8', found: '4' }]);
    });
  });

  it('reports a file that is cut short', () => {
    expect(codesAfter('lightning', (path) => cutEnd(path, 4096))).not.toEqual([]);
  });
});

describe('sharded Lightning checkpoint', () => {
  it('finds nothing wrong with a save of two ranks', () => {
    const { format, findings } = inspectPath(join(fixtureData('lightning-sharded'), FILE));
    expect(format).toBe('lightning-sharded');
    expect(findings.evidence).toEqual([]);
    const { weights, optimizer, scheduler, rng } = findings.content.found;
    expect([weights, optimizer, scheduler].every(({ length }) => length > 0)).toBe(true);
    expect(rng).toEqual([]);
    expect(new Set(findings.content.steps.map(({ step }) => step))).toEqual(new Set([4]));
  });

  it('reports a missing meta.pt, which is written last', () => {
    expect(codesAfter('lightning-sharded', (path) => rmSync(join(path, 'meta.pt')))).toEqual(['FILE_MISSING']);
  });

  it('reports an empty meta.pt', () => {
    expect(codesAfter('lightning-sharded', (path) => writeFileSync(join(path, 'meta.pt'), ''))).toEqual(['FILE_EMPTY']);
  });

  it('reports the missing parts of the distributed checkpoint inside', () => {
    expect(codesAfter('lightning-sharded', (path) => rmSync(join(path, '.metadata')))).toEqual(['DCP_NO_METADATA']);
    expect(codesAfter('lightning-sharded', (path) => rmSync(join(path, '__1_0.distcp')))).toContain('FILE_MISSING');
    const swap = (path: string) => copyFileSync(join(path, '__0_0.distcp'), join(path, '__7_0.distcp'));
    expect(codesAfter('lightning-sharded', swap)).not.toEqual([]);
  });
});
