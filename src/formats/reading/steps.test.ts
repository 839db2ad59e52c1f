import { expect, it } from 'vitest';
import { stepOfName } from './steps.ts';

it.each([
  ['checkpoint-500', 500],
  ['checkpoint_7', 7],
  ['iter_0000123', 123],
  ['global_step20', 20],
  ['epoch=3-step=1200.ckpt', 1200],
  ['ep2-ba400', 400],
  ['ep2-ba400-rank3.pt', 400],
  ['ckpt-12', 12],
  ['ckpt-12.index', 12],
  ['step-100.pt', 100],
  ['model_100.pt', 100],
  ['1500', 1500],
  ['hpc_ckpt_4.ckpt', 4],
  ['model.safetensors', null],
  ['last.ckpt', null],
  ['', null],
])('the name %s speaks of step %s', (name, step) => {
  expect(stepOfName(name)).toBe(step);
});
