import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAUNCHER, type ProcessResult, runProcess } from './support/run-process.ts';
import { tempFolder } from './support/temp-folder.ts';

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'train-0', namespace: 'ml', uid: 'u1', creationTimestamp: '2026-11-18T08:00:00Z' },
  spec: { nodeName: 'n1', containers: [{ name: 'trainer', command: ['python', 'train.py'] }] },
  status: {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on resource: memory. Container trainer was using 900Mi, request is 64Mi. ',
    conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', lastTransitionTime: '2026-11-18T09:00:00Z' }],
    containerStatuses: [
      {
        name: 'trainer',
        state: { terminated: { exitCode: 137, reason: 'Error', startedAt: '2026-11-18T08:00:05Z', finishedAt: '2026-11-18T09:00:02Z' } },
      },
    ],
  },
};
const JOB = 'kind: Job\nmetadata: { name: train }\nspec: { template: { spec: { containers: [{ name: t, command: [python, t.py] }] } } }\n';

/** Runs the command with these files beside it, and without any kubeconfig. */
async function holdfast(files: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<ProcessResult> {
  using dir = tempFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir.path, name, '..'), { recursive: true });
    writeFileSync(join(dir.path, name), text);
  }
  // The folder is removed at the end of the block.
  return await runProcess(LAUNCHER, args, { cwd: dir.path, env: { PATH: process.env['PATH'], HOME: dir.path, COLUMNS: '100' } });
}

describe('holdfast why', () => {
  it('judges a pod of a dump, with the setting and its value', async () => {
    const { code, stdout, stderr } = await holdfast({ 'dump.json': JSON.stringify(POD) }, 'why', '-f', 'dump.json', 'pod/train-0');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('MEMORY_PRESSURE, certain');
    expect(stdout).toContain('resources.requests.memory: 1080Mi');
  });

  it('reads the folder of kubectl cluster-info dump, where the entries of lists have no kind', async () => {
    const { kind: _, ...bare } = POD;
    const files = {
      'dump/ml/pods.json': JSON.stringify({ kind: 'PodList', apiVersion: 'v1', items: [bare] }),
      'dump/ml/train-0/logs.txt': '{',
    };
    const { code, stdout } = await holdfast(files, 'why', '-f', 'dump', 'pod/train-0', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'holdfast.why/1', ends: [{ cause: 'MEMORY_PRESSURE' }], problems: [] });
  });

  it('judges the readable part of a truncated dump, reports the truncation, and exits with 2', async () => {
    const text = JSON.stringify({ kind: 'List', items: [POD, POD] });
    const { code, stdout, stderr } = await holdfast({ 'half.json': text.slice(0, -200) }, 'why', '-f', 'half.json', 'pod/train-0');
    expect(code).toBe(2);
    expect(stdout).toContain('MEMORY_PRESSURE');
    expect(stderr).toContain('left out: half.json: it ends in the middle of a document; 1 whole object was read before that');
  });

  it('names line and column of broken YAML without other input, and exits with 66', async () => {
    const { code, stderr } = await holdfast({ 'x.yaml': 'kind: Pod\nmetadata:\n  name: "a\n' }, 'why', '-f', 'x.yaml');
    expect(code).toBe(66);
    expect(stderr).toMatch(/^error DUMP_NOT_READABLE: x\.yaml:\d+:\d+: /);
  });

  it('answers from a TrainingRun when the job and its pods are gone, and says what a summary covers', async () => {
    const end = { cause: 'NODE_LOST', pod: 'gpt2-worker-1', nodePool: 'spot', lostSteps: 120, lostSeconds: 600, accelerators: 8 };
    const run = {
      apiVersion: 'holdfast.dev/v1alpha1',
      kind: 'TrainingRun',
      metadata: { name: 'gpt2-j1', namespace: 'ml' },
      spec: { job: { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'gpt2', uid: 'j1' } },
      status: { attempt: 2, attempts: [{ number: 1, detectedAt: '2026-11-18T09:00:00Z', end }] },
    };
    const files = { 'run.json': JSON.stringify(run) };
    const targets = ['hfr/gpt2-j1', 'pytorchjob/gpt2', 'pod/gpt2-worker-1'];
    const answers = await Promise.all(targets.map((target) => holdfast(files, 'why', '-f', 'run.json', target)));
    for (const { code, stdout } of answers) {
      expect(code).toBe(0);
      expect(stdout).toContain('NODE_LOST, certain');
      expect(stdout).toContain('120 steps, 10m, 1.3 accelerator-hours');
    }
    const { stdout } = await holdfast(files, 'why', '-f', 'run.json', '--since=99999d');
    expect(stdout).toContain('1 TrainingRun records the last 20 attempts of its run');
    expect(stdout).toMatch(/spot +1 +10m +1\.33/);
    expect((await holdfast(files, 'why', '-f', 'run.json', 'pod/gpt2-worker-2')).code).toBe(66);
  });

  it('answers CANNOT_TELL for exit code 137 alone, never OUT_OF_MEMORY, and exits with 1', async () => {
    const { reason: _, message: __, ...status } = POD.status;
    const bare = { ...POD, status: { ...status, conditions: [] } };
    const { code, stdout } = await holdfast({ 'pod.json': JSON.stringify(bare) }, 'why', '-f', 'pod.json', 'pod/train-0');
    expect(code).toBe(1);
    expect(stdout).toContain('CANNOT_TELL');
    expect(stdout).toContain('so Holdfast does not call it OOM');
  });

  it('without a kubeconfig prints the searched paths, and asks no default server', async () => {
    const { code, stderr } = await holdfast({}, 'why', 'pod/train-0');
    expect(code).toBe(66);
    expect(stderr).toContain('KUBECONFIG_NOT_USABLE');
  });

  it('names what is wrong with a kubeconfig, and no part of our own code', async () => {
    const contexts = 'contexts: [{ name: here, context: { cluster: c, user: u } }]\n';
    const files = {
      empty: '',
      shapes: 'clusters: 5\ncontexts: [null]\n',
      other: `kind: Config\ncurrent-context: there\n${contexts}clusters: []\nusers: []\n`,
    };
    const names = Object.keys(files);
    const answers = await Promise.all(names.map((name) => holdfast(files, 'why', 'pod/train-0', `--kubeconfig=${name}`)));
    expect(answers.map(({ code }) => code)).toEqual([66, 66, 66]);
    expect(answers.map(({ stderr }) => stderr.split('\n', 1)[0])).toEqual([
      'error KUBECONFIG_NOT_USABLE: empty cannot be used: it is no kubeconfig',
      'error KUBECONFIG_NOT_USABLE: shapes cannot be used: it is no kubeconfig',
      'error KUBECONFIG_NOT_USABLE: the kubeconfig has no context "there"',
    ]);
  });

  it('says of YAML that is nested too deeply that it is', async () => {
    const { code, stderr } = await holdfast({ 'deep.yaml': `kind: Pod\nspec: ${'['.repeat(100_000)}` }, 'why', '-f', 'deep.yaml');
    expect(code).toBe(66);
    expect(stderr).toMatch(/deep\.yaml:2:\d+: it is no YAML: nested too deeply/);
  });

  it('prints no terminal control characters', async () => {
    const evil = { ...POD, status: { ...POD.status, message: 'The node was low on resource: memory. \u001b[2J\u202e' } };
    const { stdout, stderr } = await holdfast({ 'dump.json': JSON.stringify(evil) }, 'why', '-f', 'dump.json', 'pod/train-0');
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(stdout + stderr).not.toMatch(/[\u001b\u202e]/);
  });
});

describe('holdfast grace', () => {
  it('says whether a save fits, and which change turns most causes green', async () => {
    const { code, stdout } = await holdfast({ 'job.yaml': JOB }, 'grace', '-f', 'job.yaml', '--save=45s', '--json');
    expect(code).toBe(1);
    const { pods } = JSON.parse(stdout) as {
      readonly pods: readonly { readonly causes: readonly { cause: string; verdict: string }[]; readonly change: object }[];
    };
    expect(pods[0]?.causes.find(({ cause }) => cause === 'drain')).toMatchObject({ graceMs: 30_000, verdict: 'loses' });
    expect(pods[0]?.change).toMatchObject({
      setting: 'terminationGracePeriodSeconds',
      turns: expect.arrayContaining(['drain', 'preemption']) as unknown,
    });
  });

  it('sees a policy beside the manifest that shortens the grace', async () => {
    const job = JOB.replace('{ spec: { containers', '{ spec: { terminationGracePeriodSeconds: 300, containers');
    const policy =
      '---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: { name: short }\nspec: { rules: [{ mutate: { patchStrategicMerge: { spec: { terminationGracePeriodSeconds: 50 } } } }] }\n';
    const { stdout } = await holdfast({ 'all.yaml': job + policy }, 'grace', '-f', 'all.yaml');
    expect(stdout).toContain('the policy short shortens it to 50s');
  });

  it('refuses unknown kinds of nodes, with the list of known ones', async () => {
    const { code, stderr } = await holdfast({ 'job.yaml': JOB }, 'grace', '-f', 'job.yaml', '--on=moon');
    expect(code).toBe(64);
    expect(stderr).toContain('gke-spot, gke-preemptible');
  });
});
