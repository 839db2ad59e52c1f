import { expect, it } from 'vitest';
import { lint } from './lint.ts';

const OPTIONS = { codes: null, saveMs: null };

it('lint names a key that is given twice, since the second one would hide the first', () => {
  const text = 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {}}\nspec: {}\n';
  const { skips } = lint([{ path: 'job.yaml', text }], OPTIONS);
  expect(skips).toEqual([expect.objectContaining({ kind: 'broken-yaml', start: expect.objectContaining({ line: 5 }) })]);
});

it('lint names a code in a suppression that no rule has', () => {
  const text = '# holdfast-lint: off NO_SUCH_CODE a reason\nkind: ConfigMap\napiVersion: v1\n';
  const { findings } = lint([{ path: 'a.yaml', text }], OPTIONS);
  expect(findings.map(({ code, message }) => [code, message])).toEqual([['SUPPRESSION_INVALID', 'No rule has the code NO_SUCH_CODE.']]);
});

const codesIn = (path: string, text: string): readonly string[] => {
  const { findings, skips } = lint([{ path, text }], OPTIONS);
  return [...skips.map(({ kind, start }) => `${start.line} ${kind}`), ...findings.map(({ code, start }) => `${start.line} ${code}`)];
};

it('lint takes a script inside of a manifest for no script', () => {
  const text = 'kind: ConfigMap\ndata:\n  a.py: |\n    import torch\n---\nkind: PriorityClass\npreemptionPolicy: Always\n';
  expect(codesIn('-', text)).toEqual(['7 PREEMPTION_POLICY_INVALID']);
});

it('lint takes fences inside of a manifest for no Markdown', () => {
  const text = 'kind: ConfigMap\ndata:\n  a.md: |\n    ```yaml\n    a: [\n    ```\n---\nkind: PriorityClass\npreemptionPolicy: Always\n';
  expect(codesIn('-', text)).toEqual(['9 PREEMPTION_POLICY_INVALID']);
});

it.each([
  ['a function', 'def on_term(signum, frame):\n    exit(0)\nsignal.signal(signal.SIGTERM, on_term)\n', ['2 SIGTERM_EXITS_ZERO']],
  [
    'a list of containers',
    '- name: t\n  command: [sh, -c, "python train.py | cat"]\n',
    ['2 SHELL_HIDES_SIGTERM', '2 SHELL_LOSES_EXIT_CODE'],
  ],
  ['fields of a PriorityClass', 'value: 7\npreemptionPolicy: Sometimes\n', ['2 PREEMPTION_POLICY_INVALID']],
  ['the spec of a Job', 'spec:\n  template:\n    spec:\n      restartPolicy: Always\n', ['4 JOB_RESTART_ALWAYS']],
  ['thresholds of a kubelet', 'evictionHard:\n  memory.available: 1Gi\n', ['1 EVICTION_DROPS_DEFAULTS']],
  ['the replicas of a PyTorchJob', 'pytorchReplicaSpecs:\n  Worker:\n    restartPolicy: Always\n', ['3 PYTORCHJOB_RESTART_POLICY']],
  ['values of something else', 'schedule: cosine\nparallelism: 4\nvalue: 7\nlist: [{ name: a }]\n', []],
])('lint judges %s that somebody pastes without the rest', (_, text, expected) => {
  expect(codesIn('-', text)).toEqual(expected);
});

it('lint finds in Markdown the place in the text, and the script that a comment names', () => {
  const text = [
    'An article.',
    '```yaml',
    'kind: Job',
    'spec:',
    '  template:',
    '    spec:',
    '      restartPolicy: Never',
    '      terminationGracePeriodSeconds: 60',
    '      containers: [{ name: t, command: [python, train.py] }]',
    '```',
    '1. And:',
    '   ```',
    '   # train.py',
    '   import argparse, torch',
    '   parser = argparse.ArgumentParser()',
    '   parser.add_argument("--resume")',
    '   ```',
  ].join('\n');
  expect(codesIn('article.md', text)).toContain('9 RESUME_ARGUMENT_NOT_PASSED');
  expect(codesIn('article.md', text.replace('# train.py', '# other.py'))).not.toContain('9 RESUME_ARGUMENT_NOT_PASSED');
});

it('lint names a broken block of Markdown with its line, and reads the others', () => {
  const text = '```yaml\na: b: c\n```\n\n```python\nimport torch\nfor x in\n```\n\n```yaml\nvalue: 7\npreemptionPolicy: No\n```\n';
  expect(codesIn('a.md', text)).toEqual(['2 broken-yaml', '7 not-python', '12 PREEMPTION_POLICY_INVALID']);
});

it('lint offers no fix for Markdown', () => {
  const text = '```yaml\nkind: Job\nspec: { template: { spec: { restartPolicy: Always, containers: [] } } }\n```\n';
  const { findings } = lint([{ path: 'a.md', text }], OPTIONS);
  expect(findings.filter(({ code }) => code === 'JOB_RESTART_ALWAYS')).toMatchObject([{ edits: [] }]);
});

it('lint finds the key that is given twice among very many', () => {
  const keys = Array.from({ length: 60_000 }, (_, index) => `  key-${index}: "1"\n`).join('');
  expect(codesIn('a.yaml', `value: 7\npreemptionPolicy: Never\nmany:\n${keys}  key-0: "2"\n`)).toEqual(['60004 broken-yaml']);
});
