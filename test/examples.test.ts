import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifyPaths } from '../src/verify/verify.ts';

const EXAMPLES = join(import.meta.dirname, '..', 'examples', 'checkpoints');

it.each([
  ['trainer-run/checkpoint-6', 'PARTIAL', 'PARTIAL'],
  ['trainer-run/checkpoint-4', 'ZOMBIE', 'ZOMBIE'],
  ['trainer-run/checkpoint-2', 'UNCHECKED', 'UNCHECKED'],
  ['bit-rot/step-100.pt', 'UNCHECKED', 'CORRUPT'],
  ['missing-shard/step-100', 'PARTIAL', 'PARTIAL'],
  ['whole/lightning', 'UNCHECKED', 'RESUMABLE'],
  ['whole/tensorflow', 'UNCHECKED', 'RESUMABLE'],
])('the example %s is %s without --deep and %s with it', async (path, quick, deep) => {
  const verdictAt = async (level: 'quick' | 'deep') => {
    const report = await verifyPaths([join(EXAMPLES, path)], { level, signal: new AbortController().signal });
    return report.paths[0]?.checkpoints[0]?.verdict;
  };
  expect([await verdictAt('quick'), await verdictAt('deep')]).toEqual([quick, deep]);
});
