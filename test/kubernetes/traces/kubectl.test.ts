import { expect, it } from 'vitest';
import { factsOfKubectl } from './kubectl.ts';
import { filled } from './placeholders.ts';

const said = (stdout: string, stderr = ''): { code: number; stdout: string; stderr: string } => ({ code: 1, stdout, stderr });

it('what kubectl says is told line by line, with roles in place of names that are made up, and without ages, times and addresses', () => {
  const facts = factsOfKubectl(3, {
    words: ['get', 'pod', 'job-x7k2p'],
    lines: undefined,
    said: said('job-x7k2p   1/1   Running   0   2m13s   10.244.1.7\n\n', 'E1116 12:00:00.1 noise\nsince 2026-11-16T12:00:00Z in play-1\n'),
    names: [
      ['job-x7k2p', 'pod 1'],
      ['play-1', 'namespace'],
    ],
  });
  expect(facts).toEqual([
    'kubectl 03 ends with 1: get pod {pod 1}',
    'kubectl 03 says: {pod 1} 1/1 Running 0 AGE ADDRESS',
    'kubectl 03 says: since TIME in {namespace}',
  ]);
});

it('only the lines that are asked for are told', () => {
  const facts = factsOfKubectl(1, { words: 'diff -f -', lines: '^[-+] ', said: said('--- a\n- one\n+ two\n  three\n'), names: [] });
  expect(facts.slice(1)).toEqual(['kubectl 01 says: - one', 'kubectl 01 says: + two']);
});

it('words in braces stand for names, wherever they are; other braces are left alone', () => {
  const nameOf = (word: string): string => `<${word}>`;
  expect(filled({ kubectl: ['get', '{pod 1}'], lines: '{.status}', deep: [{ node: '{node}' }] }, nameOf)).toEqual({
    kubectl: ['get', '<pod 1>'],
    lines: '{.status}',
    deep: [{ node: '<node>' }],
  });
});
