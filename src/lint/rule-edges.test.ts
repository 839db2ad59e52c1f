import { expect, it } from 'vitest';
import { lint } from './lint.ts';
import type { Source } from './source/source.ts';

const OPTIONS = { codes: null, saveMs: null };

/** The findings of one rule, by what they say. */
function said(code: string, ...sources: readonly Source[]): readonly string[] {
  return lint(sources, OPTIONS).findings.flatMap((one) => (one.code === code ? [one.message] : []));
}

const script = (text: string): Source => ({ path: 'train.py', text });
const manifest = (text: string): Source => ({ path: 'job.yaml', text });

const LOOP = (range: string, test: string, behind = ''): Source =>
  script(`import torch
for epoch in ${range}:
    for batch in loader:
        model(batch).backward()
        optimizer.step()
    if ${test}:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "/runs/latest.pt")
${behind}`);
const SAVE = 'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "/runs/last.pt")\n';

it.each([
  ['range(50)', 'epoch % 5 == 0', '', ['the last of 50 that is saved is epoch 45']],
  ['range(start, 50)', 'rank == 0 and epoch % 7 == 0', '', []],
  ['range(start, 48)', 'rank == 0 and epoch % 7 == 0', '', ['the last of 48 that is saved is epoch 42']],
  ['range(51)', 'epoch % 5 == 0', '', []],
  ['range(1, 51)', 'epoch % 5 == 0', '', []],
  ['range(50)', '(epoch + 1) % 5 == 0', '', []],
  ['range(50)', 'epoch % 5 == 0 or epoch == 49', '', []],
  ['range(50)', 'epoch % 1 == 0', '', []],
  ['range(epochs)', 'epoch % 5 == 0', SAVE, []],
  ['range(epochs)', 'epoch % args.every == 0', 'torch.save(model.state_dict(), "/runs/final.pt")\n', ['the last multiple of args.every']],
])('of epochs in %s, saved if %s, the rule about the last ones says %j', (range, test, behind, expected) => {
  const found = said('LAST_EPOCHS_NOT_SAVED', LOOP(range, test, behind));
  expect(found.length).toBe(expected.length);
  for (const message of found) expect(message).toContain(expected[0]);
});

const PYTORCHJOB = (command: string, spec = ''): Source =>
  manifest(`kind: PyTorchJob
spec:
${spec}  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      restartPolicy: OnFailure
      template: { spec: { containers: [{ name: pytorch, image: a, command: ${command} }] } }
`);

it.each([
  ['[torchrun, --nproc-per-node=4, train.py, "--rank=$(RANK)"]', '', 1],
  ['[torchrun, --nproc-per-node=1, train.py, "--rank=$(RANK)"]', '', 0],
  ['[python, train.py, "--rank=$(RANK)"]', '', 0],
  ['[torchrun, --nproc-per-node=4, train.py, "--node-rank=$(RANK)"]', '', 0],
  ['[torchrun, "--nnodes=$(WORLD_SIZE)", train.py]', '  nprocPerNode: "4"\n', 1],
  ['[torchrun, "--nnodes=$(WORLD_SIZE)", train.py]', '  nprocPerNode: auto\n', 0],
] as const)('of the command %s, with %j, the rule about ranks finds %i', (command, spec, count) => {
  expect(said('RANK_COUNTS_PODS', PYTORCHJOB(command, spec))).toHaveLength(count);
});

it.each([
  ['[torchrun, train.py]', '  elasticPolicy: { minReplicas: 2, maxReplicas: 4 }\n', 1],
  ['[torchrun, train.py]', '  elasticPolicy: { minReplicas: 2, maxReplicas: 4, maxRestarts: 10 }\n', 0],
  ['[torchrun, train.py]', '  elasticPolicy: { minReplicas: 4, maxReplicas: 4 }\n', 0],
  ['[torchrun, "--nnodes=2:4", --max-restarts=0, train.py]', '', 1],
  ['[torchrun, "--nnodes=4:4", train.py]', '', 0],
  ['[holdfast, run, --, torchrun, "--nnodes=2:4", train.py]', '', 0],
] as const)('of the command %s, with %j, the rule about elastic restarts finds %i', (command, spec, count) => {
  expect(said('ELASTIC_WITHOUT_RESTARTS', PYTORCHJOB(command, spec))).toHaveLength(count);
});

it('an elastic training whose script is linted too is judged by the script', () => {
  const job = PYTORCHJOB('[torchrun, "--nnodes=2:4", --max-restarts=3, train.py]');
  expect(said('ELASTIC_WITHOUT_CHECKPOINT', job)).toHaveLength(1);
  expect(said('ELASTIC_WITHOUT_CHECKPOINT', job, script('import torch\nstate = torch.load("/runs/a.pt")\n'))).toEqual([]);
});

it.each([
  ['if dist.get_rank() == 0:\n    optimizer.load_state_dict(state)', 1],
  ['if dist.get_rank() == 0:\n    model.load_state_dict(state)', 0],
  ['if dist.get_rank() == 0:\n    optimizer.load_state_dict(state)\ndist.broadcast_object_list(parts)', 0],
] as const)('of a resume %j the rule about one rank finds %i', (load, count) => {
  const text = `import torch\nimport torch.distributed as dist\ndist.init_process_group("nccl")\n${load}\n`;
  expect(said('OPTIMIZER_RESTORED_ON_ONE_RANK', script(text))).toHaveLength(count);
});

it('names of events and conditions are found in scripts as well, and not in comments', () => {
  const text =
    '# reason=Preempting\nimport torch\ndone = c.type == "PyTorchJobSucceeded"\nrun("kubectl get events --field-selector reason=Preempting")\n';
  expect(said('CONDITION_NEVER_TRUE', script(text))).toHaveLength(1);
  expect(said('EVENT_REASON_PREEMPTING', script(text))).toHaveLength(1);
  const { findings } = lint([script(text)], OPTIONS);
  expect(findings.flatMap(({ edits }) => edits)).toEqual([]);
});
