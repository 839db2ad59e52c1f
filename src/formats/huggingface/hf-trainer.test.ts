import { copyFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cutEnd, fixtureData, withFixtureCopy } from '../../../test/support/fixture-copy.ts';
import { inspectPath } from '../../../test/support/inspect.ts';
import { openTree } from '../../bytes/source/tree.ts';
import { hfTrainer } from './hf-trainer.ts';

const SINGLE = ['hf-trainer', 'checkpoint-4'] as const;
const OTHER = join(fixtureData('hf-trainer-run'), 'run/checkpoint-2');

/** Codes found in a copy of a fixture's checkpoint after `change` was applied to it. */
function codesAfter(change: (checkpoint: string) => void, [id, path]: readonly [string, string] = SINGLE): readonly string[] {
  return withFixtureCopy(id, (data) => {
    change(join(data, path));
    return inspectPath(join(data, path)).findings.evidence.map(({ code }) => code);
  });
}

function remove(...names: readonly string[]): (checkpoint: string) => void {
  return (checkpoint) => names.forEach((name) => rmSync(join(checkpoint, name)));
}

describe('Hugging Face Trainer checkpoint', () => {
  it.each([
    ['hf-trainer', 'checkpoint-4', 4],
    ['hf-trainer-sharded', 'run/checkpoint-4', 4],
    ['hf-trainer-run', 'run/checkpoint-2', 2],
    ['hf-trainer-run', 'run/checkpoint-6', 6],
  ])('finds nothing wrong with %s %s', (id, path, step) => {
    const { format, findings } = inspectPath(join(fixtureData(id), path));
    expect(format).toBe('hf-trainer');
    expect(findings.evidence.filter(({ effect }) => effect !== 'note')).toEqual([]);
    expect(findings.content.steps.map((seen) => seen.step)).toEqual([step]);
    expect(findings.content.worldSize).toBe(1);
    expect(findings.content.rngRanks).toEqual({ found: [0], expected: 1 });
    expect(findings.content.found.optimizer).toEqual(['optimizer.pt']);
    expect(findings.content.found.scheduler).toEqual(['scheduler.pt']);
    expect(findings.content.found.weights).not.toEqual([]);
  });

  it('finds weights and a step, and nothing else, in a save of the model alone', () => {
    const { findings } = inspectPath(join(fixtureData('hf-trainer-weights'), 'run/checkpoint-4'));
    expect(findings.evidence).toEqual([]);
    expect(findings.content.found).toEqual({ weights: ['model.safetensors'], optimizer: [], scheduler: [], rng: [] });
    expect(findings.content.steps).toHaveLength(1);
  });

  it.each(['trainer_state.json', 'optimizer.pt', 'scheduler.pt', 'rng_state.pth'])('reports missing %s', (name) => {
    expect(codesAfter(remove(name))).toEqual(['FILE_MISSING']);
  });

  it('reports missing weights', () => {
    expect(codesAfter(remove('model.safetensors'))).toEqual(['TRAINER_NO_WEIGHTS']);
  });

  it('reports a missing shard of the weights', () => {
    const codes = codesAfter(remove('model-00002-of-00003.safetensors'), ['hf-trainer-sharded', 'run/checkpoint-4']);
    expect(codes).toEqual(['FILE_MISSING']);
  });

  it('trusts the marker of an incomplete save, even alone', () => {
    const mark = (checkpoint: string) => writeFileSync(join(checkpoint, 'checkpoint-is-incomplete.txt'), 'in progress');
    expect(codesAfter(mark)).toEqual(['INCOMPLETE_MARKER']);
    const alone = (checkpoint: string) => {
      rmSync(checkpoint, { recursive: true });
      mkdirSync(checkpoint);
      mark(checkpoint);
    };
    expect(codesAfter(alone)).toContain('INCOMPLETE_MARKER');
  });

  it('recognises an empty directory by its name, and reports that everything is missing', () => {
    const empty = (checkpoint: string) => {
      rmSync(checkpoint, { recursive: true });
      mkdirSync(checkpoint);
    };
    expect(codesAfter(empty)).toEqual(['FILE_MISSING', 'TRAINER_NO_WEIGHTS']);
  });

  it.each([
    ['cut', '{"global_step": 4, "log_hi', 'DOCUMENT_INVALID'],
    ['empty', '', 'FILE_EMPTY'],
    ['all zero', '\0'.repeat(753), 'FILE_ALL_ZERO'],
    ['a list', '[4]', 'DOCUMENT_INVALID'],
    ['without a step', '{}', 'DOCUMENT_INVALID'],
    ['of a negative step', '{"global_step": -1}', 'DOCUMENT_INVALID'],
    ['of no step', '{"global_step": "4"}', 'DOCUMENT_INVALID'],
  ])('reports a state that is %s', (_, text, code) => {
    expect(codesAfter((checkpoint) => writeFileSync(join(checkpoint, 'trainer_state.json'), text))).toEqual([code]);
  });

  it('finds a step inside that differs from the name', () => {
    withFixtureCopy('hf-trainer', (data) => {
      renameSync(join(data, 'checkpoint-4'), join(data, 'checkpoint-8'));
      expect(inspectPath(join(data, 'checkpoint-8')).findings.evidence.map(({ code }) => code)).toEqual(['STEP_NOT_AS_NAMED']);
    });
  });

  it.each(['optimizer.pt', 'scheduler.pt'])('finds that %s is of another step', (name) => {
    expect(codesAfter((checkpoint) => copyFileSync(join(OTHER, name), join(checkpoint, name)))).toEqual(['TRAINER_STATES_DISAGREE']);
  });

  it('warns when optimizer and scheduler are both behind the trainer', () => {
    const codes = codesAfter((checkpoint) => {
      for (const name of ['optimizer.pt', 'scheduler.pt']) copyFileSync(join(OTHER, name), join(checkpoint, name));
    });
    expect(codes).toEqual(['TRAINER_STATES_BEHIND']);
  });

  it('calls random state of a rank that this run did not have a leftover', () => {
    const codes = codesAfter((checkpoint) => cpSync(join(checkpoint, 'rng_state.pth'), join(checkpoint, 'rng_state_1.pth')));
    expect(codes).toEqual(['TRAINER_RNG_LEFTOVER']);
  });

  it('finds gaps in the random states when the number of processes is unknown', () => {
    const codes = codesAfter((checkpoint) => {
      rmSync(join(checkpoint, 'training_args.bin'));
      for (const rank of [0, 2, 3]) copyFileSync(join(checkpoint, 'rng_state.pth'), join(checkpoint, `rng_state_${rank}.pth`));
      rmSync(join(checkpoint, 'rng_state.pth'));
    });
    expect(codes).toEqual(['FILE_MISSING']);
  });

  it.each(['optimizer.pt', 'rng_state.pth', 'scheduler.pt', 'training_args.bin', 'model.safetensors'])('reports a cut %s', (name) => {
    expect(codesAfter((checkpoint) => cutEnd(join(checkpoint, name), 100))).not.toEqual([]);
  });

  it('reports a configuration that does not parse', () => {
    expect(codesAfter((checkpoint) => cutEnd(join(checkpoint, 'config.json'), 20))).toEqual(['DOCUMENT_INVALID']);
  });

  it('reads the folders of FSDP, and reports one without a commit', () => {
    const shards = join(fixtureData('dcp-4-ranks'), 'step-100');
    // The shards come from a checkpoint of another name, which is worth a warning of its own.
    const codesOf = (change: (checkpoint: string) => void) => codesAfter(change).filter((code) => code !== 'DCP_SAVED_ELSEWHERE');
    const addFsdp = (checkpoint: string) => {
      remove('optimizer.pt', 'model.safetensors')(checkpoint);
      for (const folder of ['pytorch_model_fsdp_0', 'optimizer_0']) cpSync(shards, join(checkpoint, folder), { recursive: true });
    };
    expect(codesOf(addFsdp)).toEqual([]);
    const uncommit = (checkpoint: string) => {
      addFsdp(checkpoint);
      rmSync(join(checkpoint, 'optimizer_0/.metadata'));
    };
    expect(codesOf(uncommit)).toEqual(['DCP_NO_METADATA']);
    const empty = (checkpoint: string) => {
      addFsdp(checkpoint);
      rmSync(join(checkpoint, 'optimizer_0'), { recursive: true });
      mkdirSync(join(checkpoint, 'optimizer_0'));
    };
    expect(codesOf(empty)).toEqual(['FILE_MISSING']);
  });

  it('is not deceived by a pipe or a broken link in place of a file', () => {
    const replace = (checkpoint: string) => {
      remove('optimizer.pt')(checkpoint);
      symlinkSync('nowhere', join(checkpoint, 'optimizer.pt'));
    };
    expect(codesAfter(replace)).toEqual(['FILE_LINK_BROKEN']);
  });

  it('treats the folder of a run as a container, although a final state is in it', () => {
    withFixtureCopy('hf-trainer-run', (data) => {
      const run = join(data, 'run');
      copyFileSync(join(run, 'checkpoint-6/trainer_state.json'), join(run, 'trainer_state.json'));
      const { tree } = openTree(run);
      expect(hfTrainer.claims(tree.root)).toBe(false);
      tree.close();
    });
  });

  it('reads the DeepSpeed state that `latest` names', () => {
    const run = join(fixtureData('deepspeed-zero2'), 'run');
    const addDeepSpeed = (checkpoint: string) => {
      remove('optimizer.pt', 'model.safetensors', 'scheduler.pt')(checkpoint);
      cpSync(run, checkpoint, { recursive: true });
      const arguments_ = join(checkpoint, 'training_args.bin');
      rmSync(arguments_);
      renameSync(join(checkpoint, 'rng_state.pth'), join(checkpoint, 'rng_state_0.pth'));
      writeFileSync(join(checkpoint, 'rng_state_1.pth'), readFileSync(join(checkpoint, 'rng_state_0.pth')));
    };
    expect(codesAfter(addDeepSpeed)).toEqual([]);
    const rename = (checkpoint: string) => {
      addDeepSpeed(checkpoint);
      writeFileSync(join(checkpoint, 'latest'), 'global_step9');
    };
    expect(codesAfter(rename)).toEqual(['TRACKER_TARGET_MISSING']);
  });
});
