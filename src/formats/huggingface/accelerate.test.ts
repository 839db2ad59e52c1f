import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cutEnd, fixtureData, withFixtureCopy } from '../../../test/support/fixture-copy.ts';
import { inspectPath } from '../../../test/support/inspect.ts';

const CHECKPOINT = 'checkpoints/checkpoint_0';

function codesAfter(change: (checkpoint: string) => void): readonly string[] {
  return withFixtureCopy('accelerate', (data) => {
    change(join(data, CHECKPOINT));
    return inspectPath(join(data, CHECKPOINT)).findings.evidence.map(({ code }) => code);
  });
}

function remove(...names: readonly string[]): (checkpoint: string) => void {
  return (checkpoint) => names.forEach((name) => rmSync(join(checkpoint, name)));
}

describe('Accelerate checkpoint', () => {
  it.each([
    ['accelerate', 'model.safetensors'],
    ['accelerate-bin', 'pytorch_model.bin'],
  ])('finds nothing wrong with %s', (id, weights) => {
    const { format, findings } = inspectPath(join(fixtureData(id), CHECKPOINT));
    expect(format).toBe('accelerate');
    expect(findings.evidence.filter(({ effect }) => effect !== 'note')).toEqual([]);
    expect(findings.content.found).toEqual({
      weights: [weights],
      optimizer: ['optimizer.bin'],
      scheduler: ['scheduler.bin'],
      rng: ['random_states_0.pkl'],
    });
    expect(findings.content.steps).toEqual([]);
    expect(findings.content.rngRanks.found).toEqual([0]);
  });

  it('reports missing weights', () => {
    expect(codesAfter(remove('model.safetensors'))).toEqual(['TRAINER_NO_WEIGHTS']);
  });

  it('reports missing random state, which each rank writes last', () => {
    expect(codesAfter(remove('random_states_0.pkl'))).toEqual(['FILE_MISSING']);
  });

  it('reports a missing optimizer when its scheduler exists', () => {
    expect(codesAfter(remove('optimizer.bin'))).toEqual(['FILE_MISSING']);
  });

  it('reports a missing scheduler when it drove the optimizer', () => {
    expect(codesAfter(remove('scheduler.bin'))).toContain('FILE_MISSING');
    expect(codesAfter((checkpoint) => renameSync(join(checkpoint, 'scheduler.bin'), join(checkpoint, 'scheduler.bin.tmp')))).toContain(
      'FILE_MISSING',
    );
  });

  it('does not report a missing scheduler if the user registered an object that may be one', () => {
    const register = (checkpoint: string) => renameSync(join(checkpoint, 'scheduler.bin'), join(checkpoint, 'custom_checkpoint_0.pkl'));
    expect(codesAfter(register)).not.toContain('FILE_MISSING');
  });

  it('reports missing random state of a rank between others', () => {
    const codes = codesAfter((checkpoint) =>
      copyFileSync(join(checkpoint, 'random_states_0.pkl'), join(checkpoint, 'random_states_2.pkl')),
    );
    expect(codes).toEqual(['FILE_MISSING']);
  });

  it('reports that the first of two optimizers is missing', () => {
    const codes = codesAfter((checkpoint) => renameSync(join(checkpoint, 'optimizer.bin'), join(checkpoint, 'optimizer_1.bin')));
    expect(codes).toEqual(['FILE_MISSING']);
  });

  it('recognises the empty directory that a failed save leaves', () => {
    const codes = codesAfter((checkpoint) => {
      rmSync(checkpoint, { recursive: true });
      mkdirSync(checkpoint);
    });
    expect(codes).toEqual(['TRAINER_NO_WEIGHTS', 'FILE_MISSING']);
  });

  it('finds weights in a folder that a hook chose', () => {
    const codes = codesAfter((checkpoint) => {
      mkdirSync(join(checkpoint, 'unet'));
      renameSync(join(checkpoint, 'model.safetensors'), join(checkpoint, 'unet/diffusion_pytorch_model.safetensors'));
    });
    expect(codes).toEqual([]);
  });

  it('reads the DeepSpeed state that is saved under the name of a model', () => {
    const codes = codesAfter((checkpoint) => {
      remove('model.safetensors', 'optimizer.bin', 'scheduler.bin')(checkpoint);
      cpSync(join(fixtureData('deepspeed-zero1'), 'run/global_step4'), join(checkpoint, 'pytorch_model'), { recursive: true });
      copyFileSync(join(checkpoint, 'random_states_0.pkl'), join(checkpoint, 'random_states_1.pkl'));
      writeFileSync(join(checkpoint, 'latest'), 'pytorch_model');
    });
    expect(codes).toEqual([]);
  });

  it.each(['model.safetensors', 'optimizer.bin', 'scheduler.bin', 'random_states_0.pkl'])('reports a cut %s', (name) => {
    expect(codesAfter((checkpoint) => cutEnd(join(checkpoint, name), 100))).not.toEqual([]);
  });
});
