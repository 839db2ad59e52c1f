import { expect, it } from 'vitest';
import { groupKey } from './grouping.ts';

it.each([
  ['model.pt', 'optimizer.pt'],
  ['pytorch_model.bin', 'optimizer.bin'],
  ['model-100.safetensors', 'optimizer-100.pt'],
  ['step_5_model.pt', 'step_5_optim.pt'],
  ['best.model.pt', 'best.optimizer.pt'],
  ['state_rank0.pt', 'state_rank13.pt'],
])('%s and %s may belong to one save', (a, b) => {
  expect(groupKey(a)).toBe(groupKey(b));
});

it.each([
  ['model-100.pt', 'model-200.pt'],
  ['best.pt', 'last.pt'],
  ['model-100.pt', 'optimizer-200.pt'],
])('%s and %s are of different saves', (a, b) => {
  expect(groupKey(a)).not.toBe(groupKey(b));
});
