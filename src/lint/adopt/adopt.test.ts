import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RULES } from '../catalogue.ts';
import { adopt } from './adopt.ts';
import { shellCommand } from './shell-command.ts';

const WISHES = { dir: null, claim: null, graceSeconds: null, ship: null };

/** What adopt leaves, because it would decide about others or about the training itself. */
const FOR_A_PERSON: ReadonlySet<string> = new Set([
  'ARGUMENT_VARIABLE_UNKNOWN',
  'BUDGET_BLOCKS_DRAINS',
  'EVICTION_DROPS_DEFAULTS',
  'PREEMPTION_NEVER_IS_NO_SHIELD',
  'PREEMPTION_POLICY_INVALID',
  'PRIORITY_EQUAL',
  'RANK_COUNTS_PODS',
  'SOFT_EVICTION_WITHOUT_GRACE',
]);

describe('what adopt prints for the bad example of a rule', () => {
  it.each(RULES.flatMap(({ code, bad: { manifest } }) => (manifest === undefined ? [] : [[code, manifest] as const])))(
    '%s has no finding that it could have removed',
    (_, manifest) => {
      const { findings, skips } = adopt(manifest, WISHES);
      expect(skips).toEqual([]);
      expect(findings.map(({ code }) => code).filter((code) => !FOR_A_PERSON.has(code))).toEqual([]);
    },
  );
});

const JOB = (command: string, more = ''): string =>
  `kind: Job\nmetadata: { name: gpt }\nspec:\n${more}  template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - name: trainer\n        command: ${command}\n`;

/** The command behind `holdfast run … --`, as words. */
function trainerOf(manifest: string): string {
  const lines = adopt(manifest, WISHES)
    .text.split('\n')
    .map((line) => line.trim());
  const from = lines.indexOf('- --') + 1;
  const words = lines.slice(
    from,
    lines.findIndex((line, index) => index > from && !line.startsWith('- ')),
  );
  return words.map((word) => word.slice(2)).join(' ');
}

describe('the command that adopt writes', () => {
  it.each([
    [
      'an id for the rendezvous',
      '[torchrun, --nnodes=1, --rdzv_backend=c10d, train.py]',
      'torchrun --nnodes=1 --rdzv_backend=c10d --rdzv-id=gpt train.py',
    ],
    [
      'c10d instead of an etcd that nothing runs',
      '[torchrun, --rdzv-backend, etcd, --rdzv-id=a, "--rdzv-endpoint=etcd:2379", train.py]',
      'torchrun --rdzv-backend=c10d --rdzv-endpoint=localhost:29400 --rdzv-id=a train.py',
    ],
    ['the restarts that the Job allows as well', '[torchrun, --max-restarts=3, train.py]', 'torchrun --max-restarts=3 train.py'],
    ['no more restarts than the Job has', '[torchrun, --max-restarts, "9", train.py]', 'torchrun train.py'],
    [
      'a shell for what only a shell reads',
      '[python, train.py, "--since=$(date +%F)", "a b"]',
      `sh -c exec python train.py "--since=$(date +%F)" 'a b'`,
    ],
    [
      'the same inside of a shell',
      '[sh, -c, "exec torchrun --rdzv-backend=c10d train.py"]',
      'sh -c exec torchrun --rdzv-backend=c10d --rdzv-id=gpt train.py',
    ],
  ])('has %s', (_, command, expected) => {
    expect(trainerOf(JOB(command)).split(' ').sort()).toEqual(expected.split(' ').sort());
  });

  it('meets at the first pod of an indexed Job, and at the first worker of a PyTorchJob without a Master', () => {
    const etcd = '[torchrun, --nnodes=2, --rdzv-backend=etcd, "--rdzv-endpoint=etcd:2379", train.py]';
    const indexed = JOB(etcd, '  parallelism: 2\n  completions: 2\n  completionMode: Indexed\n').replace(
      'restartPolicy',
      'subdomain: gpt\n      restartPolicy',
    );
    expect(trainerOf(indexed)).toContain('--rdzv-endpoint=gpt-0.gpt:29400');
    const workers = `kind: PyTorchJob\nmetadata: { name: gpt }\nspec:\n  pytorchReplicaSpecs:\n    Worker:\n      replicas: 2\n      template:\n        spec:\n          containers:\n          - name: pytorch\n            command: ${etcd}\n`;
    expect(trainerOf(workers)).toContain('--rdzv-endpoint=gpt-worker-0:29400');
  });

  it('keeps a pipe, which no script that ends with exec can hold', () => {
    expect(shellCommand(['python', 'train.py', '|', 'tee', 'log'])).toBeNull();
    expect(shellCommand(['python', 'train.py', 'say "$(date +%F)"'])).toBeNull();
  });

  it('gives a shell each word as it was, with what it expands', () => {
    const word = fc.string({ unit: 'grapheme-ascii' }).filter((text) => !/[$`"]|^(?:\|\|?|&&|>>?|<|2>&1|;)$/.test(text));
    const printed = (words: readonly string[]): string => {
      const script = shellCommand(['printf', '%s\\n', ...words, '--at=$(printf %s now)']) ?? '';
      return execFileSync('sh', ['-c', script], { encoding: 'utf8' });
    };
    fc.assert(
      fc.property(fc.array(word, { maxLength: 4 }), (words) => {
        expect(printed(words)).toBe([...words, '--at=now', ''].join('\n'));
      }),
      { numRuns: 25 },
    );
  });
});
