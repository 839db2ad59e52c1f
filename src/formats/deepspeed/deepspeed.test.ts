import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cutEnd, fixtureData, withFixtureCopy } from '../../../test/support/fixture-copy.ts';
import { inspectPath } from '../../../test/support/inspect.ts';

const TAG = 'run/global_step4';
const MODEL = 'mp_rank_00_model_states.pt';
const optimizer = (rank: number) => `zero_pp_rank_${rank}_mp_rank_00_optim_states.pt`;
const partition = (rank: number) => `zero_pp_rank_${rank}_mp_rank_00_model_states.pt`;

/** Codes found in a copy of a fixture after `change` was applied to its tag directory. */
function codesAfter(id: string, change: (tag: string) => void): readonly string[] {
  return withFixtureCopy(id, (data) => {
    const tag = join(data, TAG);
    change(tag);
    return inspectPath(tag).findings.evidence.map(({ code }) => code);
  });
}

describe('DeepSpeed tag directory', () => {
  it.each([0, 1, 2, 3])('finds nothing wrong with ZeRO %i by two ranks', (stage) => {
    const { format, findings } = inspectPath(join(fixtureData(`deepspeed-zero${stage}`), TAG));
    expect(format).toBe('deepspeed');
    expect(findings.evidence).toEqual([]);
    expect(findings.content.worldSize).toBe(2);
    expect(new Set(findings.content.steps.map(({ step }) => step))).toEqual(new Set([4]));
    for (const need of ['weights', 'optimizer', 'scheduler', 'rng'] as const) expect(findings.content.found[need]).not.toEqual([]);
    expect(findings.content.rngRanks.found).toEqual(stage === 3 ? [0, 1] : [0]);
    const covered = findings.checks.reduce((sum, { payloadBytes }) => sum + payloadBytes, 0);
    expect(covered).toBe(findings.payloadBytes);
  });

  it('reports a missing optimizer partition of the last rank, by the count in the other files', () => {
    expect(codesAfter('deepspeed-zero2', (tag) => rmSync(join(tag, optimizer(1))))).toEqual(['FILE_MISSING']);
  });

  it('reports that all optimizer partitions are missing', () => {
    const remove = (tag: string) => [0, 1].forEach((rank) => rmSync(join(tag, optimizer(rank))));
    expect(codesAfter('deepspeed-zero1', remove)).toEqual(['FILE_MISSING']);
  });

  it('reports a missing partition of the model', () => {
    expect(codesAfter('deepspeed-zero3', (tag) => rmSync(join(tag, partition(1))))).toEqual(['FILE_MISSING']);
  });

  it('reports missing model states', () => {
    expect(codesAfter('deepspeed-zero2', (tag) => rmSync(join(tag, MODEL)))).toEqual(['DEEPSPEED_WORLD_UNKNOWN', 'FILE_MISSING']);
  });

  it('calls a file of a rank beyond the world a leftover', () => {
    const codes = codesAfter('deepspeed-zero2', (tag) => copyFileSync(join(tag, optimizer(1)), join(tag, optimizer(2))));
    expect(codes).toEqual(['DEEPSPEED_LEFTOVER_RANK']);
  });

  it('distinguishes optimizer partitions of two precisions', () => {
    const copy = (tag: string) => [0, 1].forEach((rank) => copyFileSync(join(tag, optimizer(rank)), join(tag, `bf16_${optimizer(rank)}`)));
    expect(codesAfter('deepspeed-zero2', copy)).toEqual(['DEEPSPEED_TWO_LAYOUTS']);
  });

  it('finds files of two ZeRO stages in one tag', () => {
    const codes = codesAfter('deepspeed-zero2', (tag) => {
      for (const rank of [0, 1]) copyFileSync(join(fixtureData('deepspeed-zero3'), TAG, partition(rank)), join(tag, partition(rank)));
    });
    expect(codes).toContain('DEEPSPEED_TWO_LAYOUTS');
    expect(codes).toContain('DEEPSPEED_FILES_DISAGREE');
  });

  it('reports a partition that comes from a save of another stage', () => {
    const codes = codesAfter('deepspeed-zero1', (tag) =>
      copyFileSync(join(fixtureData('deepspeed-zero2'), TAG, optimizer(1)), join(tag, optimizer(1))),
    );
    expect(codes).toEqual(['DEEPSPEED_FILES_DISAGREE']);
  });

  it('finds a step inside that differs from the tag', () => {
    withFixtureCopy('deepspeed-zero0', (data) => {
      renameSync(join(data, TAG), join(data, 'run/global_step5'));
      const { findings } = inspectPath(join(data, 'run/global_step5'));
      expect(findings.evidence.map(({ code, expected, found }) => [code, expected, found])).toEqual([['STEP_NOT_AS_NAMED', '5', '4']]);
    });
  });

  it.each([
    ['cut in half', (path: string) => cutEnd(path, 2000)],
    ['empty', (path: string) => writeFileSync(path, '')],
    ['all zero', (path: string) => writeFileSync(path, Buffer.alloc(4819))],
  ])('reports a partition that is %s', (_, damage) => {
    expect(codesAfter('deepspeed-zero1', (tag) => damage(join(tag, optimizer(0))))).not.toEqual([]);
  });

  it('needs the state of every parameter in a universal checkpoint, each with the same files', () => {
    const convert = (tag: string) => {
      for (const parameter of ['embed.weight', 'head.weight', 'head.bias']) {
        mkdirSync(join(tag, 'zero', parameter), { recursive: true });
        for (const name of ['fp32.pt', 'exp_avg.pt']) copyFileSync(join(tag, optimizer(0)), join(tag, 'zero', parameter, name));
      }
      copyFileSync(join(tag, optimizer(0)), join(tag, 'zero/optimizer_state.pt'));
      for (const rank of [0, 1]) rmSync(join(tag, optimizer(rank)));
    };
    expect(codesAfter('deepspeed-zero2', convert)).toEqual([]);
    const without = (path: string) => (tag: string) => {
      convert(tag);
      rmSync(join(tag, 'zero', path), { recursive: true });
    };
    for (const path of ['head.bias', 'head.weight/exp_avg.pt', 'embed.weight/fp32.pt', 'optimizer_state.pt']) {
      expect(codesAfter('deepspeed-zero2', without(path))).toEqual(['FILE_MISSING']);
    }
  });

  it('recognises an empty folder with the name of a tag, and reports that everything is missing', () => {
    withFixtureCopy('deepspeed-zero0', (data) => {
      const tag = join(data, 'run/global_step8');
      mkdirSync(tag);
      expect(readdirSync(tag)).toEqual([]);
      expect(inspectPath(tag).findings.evidence.map(({ code }) => code)).toContain('FILE_MISSING');
    });
  });
});
