import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cutEnd, fixtureData, withFixtureCopy } from '../../../test/support/fixture-copy.ts';
import { inspectPath } from '../../../test/support/inspect.ts';
import { openTree } from '../../bytes/source/tree.ts';
import { composer } from './composer.ts';

/** Codes found in the older of the two checkpoints of a copied run, after `change`. */
function codesAfter(change: (run: string) => void): readonly string[] {
  return withFixtureCopy('composer', (data) => {
    const run = join(data, 'run');
    rmSync(join(run, 'latest-rank0.pt'));
    rmSync(join(run, 'ep0-ba4-rank0.pt'));
    change(run);
    return inspectPath(run).findings.evidence.map(({ code }) => code);
  });
}

describe('Composer checkpoint', () => {
  it('makes one checkpoint of each save, and counts the link to the latest save as part of it', () => {
    const { tree } = openTree(join(fixtureData('composer'), 'run'));
    const sets = composer.claim(tree.root).map(({ name, members }) => [name, members]);
    tree.close();
    expect(sets).toEqual([
      ['ep0-ba2', ['ep0-ba2-rank0.pt']],
      ['ep0-ba4', ['ep0-ba4-rank0.pt', 'latest-rank0.pt']],
    ]);
  });

  it('finds nothing wrong with a save by rank 0 alone', () => {
    const { format, findings } = inspectPath(join(fixtureData('composer'), 'run'));
    expect(format).toBe('composer');
    expect(findings.evidence).toEqual([]);
    expect(findings.content.steps.map(({ step }) => step)).toEqual([2]);
    expect(findings.content.rngRanks).toEqual({ found: [0], expected: 1 });
    for (const need of ['weights', 'optimizer', 'scheduler', 'rng'] as const) expect(findings.content.found[need]).toHaveLength(1);
  });

  it('finds weights alone', () => {
    const { findings } = inspectPath(join(fixtureData('composer-weights'), 'run'));
    expect(findings.evidence).toEqual([]);
    expect(findings.content.found).toMatchObject({ optimizer: [], scheduler: [], rng: [] });
    expect(findings.content.found.weights).toHaveLength(1);
    expect(findings.content.steps).toEqual([]);
  });

  it('reports a missing rank 0', () => {
    const codes = codesAfter((run) => renameSync(join(run, 'ep0-ba2-rank0.pt'), join(run, 'ep0-ba2-rank1.pt')));
    expect(codes).toEqual(['FILE_MISSING', 'COMPOSER_LEFTOVER_RANK']);
  });

  it('calls a file of a rank that this run did not have a leftover', () => {
    const codes = codesAfter((run) => copyFileSync(join(run, 'ep0-ba2-rank0.pt'), join(run, 'ep0-ba2-rank1.pt')));
    expect(codes).toEqual(['COMPOSER_LEFTOVER_RANK']);
  });

  it('finds a batch number inside that differs from the name', () => {
    const codes = codesAfter((run) => renameSync(join(run, 'ep0-ba2-rank0.pt'), join(run, 'ep0-ba6-rank0.pt')));
    expect(codes).toEqual(['STEP_NOT_AS_NAMED']);
  });

  it('sees the steps of ranks that come from two saves', () => {
    withFixtureCopy('composer', (data) => {
      const run = join(data, 'run');
      rmSync(join(run, 'latest-rank0.pt'));
      renameSync(join(run, 'ep0-ba4-rank0.pt'), join(run, 'ep0-ba2-rank1.pt'));
      expect(inspectPath(run).findings.content.steps.map(({ step }) => step)).toEqual([2, 4]);
    });
  });

  it('reports a file that is cut short', () => {
    expect(codesAfter((run) => cutEnd(join(run, 'ep0-ba2-rank0.pt'), 4096))).not.toEqual([]);
  });
});
