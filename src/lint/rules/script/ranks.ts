import type { Hit } from '../../source/finding.ts';
import type { ScriptRule } from '../../engine/rule.ts';
import type { Call, PyNode } from '../../script/syntax-node.ts';
import {
  comesBefore,
  hasOwnSaving,
  isDistributed,
  isForOneRank,
  isRepeated,
  receiverText,
  savesOf,
  trainsHere,
} from '../../script/saves.ts';
import type { Script } from '../../script/script.ts';

/** The same order in every epoch. */
export const samplerWithoutEpoch: ScriptRule = {
  code: 'SAMPLER_WITHOUT_EPOCH',
  severity: 'warning',
  on: 'script',
  title: 'sampler.set_epoch is never called',
  why: 'A DistributedSampler shuffles by its epoch number, which stays 0 without set_epoch: every epoch has the same order. Every resume also sees its first batches again.',
  fix: 'Call sampler.set_epoch(epoch) at the beginning of each epoch.',
  bad: {
    script:
      '\nimport torch\nsampler = torch.utils.data.distributed.DistributedSampler(data)\nfor epoch in range(9):\n    for batch in loader:\n        model(batch).backward()\n',
  },
  good: {
    script:
      '\nimport torch\nsampler = torch.utils.data.distributed.DistributedSampler(data)\nfor epoch in range(9):\n    sampler.set_epoch(epoch)\n    for batch in loader:\n        model(batch).backward()\n',
  },
  check(script) {
    const made = script.calls.find(
      ({ callee, keywords }) =>
        /(?:^|\.)DistributedSampler$/.test(callee) && script.textOf(keywords.get('shuffle') ?? script.root) !== 'False',
    );
    if (made === undefined || !trainsHere(script) || script.calls.some(({ method }) => method === 'set_epoch')) return [];
    if (/val|test|eval/i.test(script.textOf(made.node)) || !/\bepoch/.test(script.text) || hasOwnSaving(script)) return [];
    return [{ at: made.node, message: 'set_epoch is never called on this sampler: every epoch, and every resume, has the same order.' }];
  },
};

const DDP = (save: string): string => `
import torch, torch.distributed as dist
dist.init_process_group("nccl")
for step, batch in enumerate(loader):
    model(batch).backward()
    optimizer.step()
    if step % 1000 == 0:
${save.replaceAll(/^/gm, '        ')}
`;

/** One file, many writers. */
export const allRanksWrite: ScriptRule = {
  code: 'ALL_RANKS_WRITE',
  severity: 'error',
  on: 'script',
  title: 'All ranks write one file',
  why: 'Every rank runs this line with the same path. They open and write the file at the same time, and leave a mixture. With equal sizes it even loads.',
  fix: 'Save on rank 0 alone, or put the rank into the name.',
  bad: { script: DDP('torch.save(model.state_dict(), "/runs/latest.pt")') },
  good: { script: DDP('if dist.get_rank() == 0:\n    torch.save(model.state_dict(), "/runs/latest.pt")\ndist.barrier()') },
  check(script) {
    if (!isDistributed(script) || hasOwnSaving(script)) return [];
    return savesOf(script).flatMap(({ call, paths, target }): Hit[] => {
      if (call.callee !== 'torch.save' || isForOneRank(script, call.node)) return [];
      if (
        /rank|shard|worker|proc|host/i.test(`${paths.join(' ')} ${script.textOf(target)}`) ||
        paths.some((path) => /^\{[^}]*\}$/.test(path))
      )
        return [];
      return [{ at: call.node, message: `Every rank writes ${paths[0]}: they overwrite each other.` }];
    });
  },
};

/** The others continue while rank 0 writes. */
export const noBarrier: ScriptRule = {
  code: 'RANK_0_SAVES_WITHOUT_BARRIER',
  severity: 'warning',
  on: 'script',
  title: 'Rank 0 saves and the others do not wait',
  why: 'While rank 0 writes, the other ranks wait in the next collective, or end. A save that is longer than the timeout of the collective ends the whole job. At the end of training the other ranks exit while rank 0 still writes the last file.',
  fix: 'Call dist.barrier() after the save, on all ranks.',
  bad: { script: DDP('if dist.get_rank() == 0:\n    torch.save(model.state_dict(), "/runs/latest.pt")') },
  good: { script: DDP('if dist.get_rank() == 0:\n    torch.save(model.state_dict(), "/runs/latest.pt")\ndist.barrier()') },
  check(script) {
    if (!isDistributed(script) || hasOwnSaving(script) || !trainsHere(script)) return [];
    if (/(?:barrier|wait_for_everyone|synchronize_ranks|all_reduce|broadcast\w*)\s*\(/.test(script.code)) return [];
    const saves = [...savesOf(script).map(({ call }) => call), ...script.calls.filter((call) => isSaveElsewhere(script, call))];
    const save = saves.find((call) => isForOneRank(script, call.node) && isRepeated(script, call.node));
    if (save === undefined) return [];
    return [{ at: save.node, message: 'Only one rank saves here, and no barrier makes the others wait.' }];
  },
};

/**
 * `save_checkpoint(model, …)` of another file. A barrier inside of it would not help: only one rank
 * comes there.
 */
function isSaveElsewhere(script: Script, call: Call): boolean {
  return (
    /^save_?(?:checkpoint|ckpt|snapshot|training_state)$/i.test(call.method) &&
    call.receiver === null &&
    script.calledFunction(call) === null
  );
}

function isWrapper(script: Script, value: PyNode): boolean {
  return /(?:^|\.)DistributedDataParallel$/.test(script.callAt(value)?.callee ?? '');
}

/**
 * The load is into this variable, behind its assignment; also in a function that is passed the
 * variable there.
 */
function loadsInto(script: Script, load: Call, target: string, assigned: PyNode): boolean {
  const receiver = receiverText(script, load);
  if (receiver === target && comesBefore(script, assigned, load.node)) return true;
  const { fn } = load;
  const index = fn === null ? -1 : fn.params.indexOf(receiver);
  if (fn === null || index < 0) return false;
  return script
    .callsOf(fn)
    .some(({ args, node }) => args[index] !== undefined && script.textOf(args[index]) === target && comesBefore(script, assigned, node));
}

/** Names that a wrapped model has and a bare one has not. */
export const modulePrefix: ScriptRule = {
  code: 'MODULE_PREFIX_DIFFERS',
  severity: 'error',
  on: 'script',
  title: 'Weights are saved without the wrapper and loaded with it',
  why: 'The names in the state of a DistributedDataParallel model begin with `module.`, and the names of the model inside do not. A checkpoint of one fails to load into the other, or with strict=False silently loads nothing.',
  fix: 'Load into model.module, or before the model is wrapped.',
  bad: {
    script:
      '\nimport torch\nfrom torch.nn.parallel import DistributedDataParallel\nmodel = DistributedDataParallel(model)\nmodel.load_state_dict(torch.load(path)["model"])\ntorch.save({"model": model.module.state_dict(), "step": 0}, path)\n',
  },
  good: {
    script:
      '\nimport torch\nfrom torch.nn.parallel import DistributedDataParallel\nmodel.load_state_dict(torch.load(path)["model"])\nmodel = DistributedDataParallel(model)\ntorch.save({"model": model.module.state_dict(), "step": 0}, path)\n',
  },
  check(script) {
    const wraps = script.assignments.filter(({ value }) => value !== null && isWrapper(script, value));
    return wraps.flatMap(({ target, node }): Hit[] => {
      const savesBare = script.calls.some((call) => call.method === 'state_dict' && receiverText(script, call) === `${target}.module`);
      const savesWrapped = script.calls.some((call) => call.method === 'state_dict' && receiverText(script, call) === target);
      const load = script.calls.find((call) => call.method === 'load_state_dict' && loadsInto(script, call, target, node));
      if (
        !savesBare ||
        savesWrapped ||
        load === undefined ||
        /module\.|replace\(|consume_prefix/.test(script.textOf(load.args[0] ?? load.node))
      )
        return [];
      return [
        { at: load.node, message: `${target} is wrapped here, but the save writes the weights of ${target}.module: the names differ.` },
      ];
    });
  },
};

const RESUME = (load: string): string => `
import torch, torch.distributed as dist
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(model)
${load}
for step, batch in enumerate(loader):
    model(batch).backward()
    optimizer.step()
`;
const SENT_TO_ALL =
  /broadcast_object_list|broadcast_optimizer|scatter_object_list|optim_state_dict|FullyShardedDataParallel|\bFSDP\b|ZeroRedundancy/;

/** The wrapper sends the weights of rank 0 to all ranks, and nothing else. */
export const optimizerOnOneRank: ScriptRule = {
  code: 'OPTIMIZER_RESTORED_ON_ONE_RANK',
  severity: 'error',
  on: 'script',
  title: 'Only one rank restores the optimizer',
  why: 'DistributedDataParallel copies the weights of rank 0 to all ranks when it wraps the model, but it copies no state of an optimizer, a scheduler or a scaler. After such a resume rank 0 steps with its old moments and the others with none. The weights of the ranks differ from the first step on, and no error says so.',
  fix: 'Load the checkpoint on all ranks, with map_location; or send its whole state with broadcast_object_list.',
  bad: { script: RESUME('if dist.get_rank() == 0:\n    optimizer.load_state_dict(torch.load("/runs/latest.pt")["optimizer"])') },
  good: { script: RESUME('optimizer.load_state_dict(torch.load("/runs/latest.pt", map_location="cpu")["optimizer"])') },
  check(script) {
    if (!isDistributed(script) || hasOwnSaving(script) || SENT_TO_ALL.test(script.code)) return [];
    return script.calls.flatMap((call): Hit[] => {
      const receiver = receiverText(script, call);
      if (call.method !== 'load_state_dict' || !/optim|(?:^|[._])opt$|sched|scaler/i.test(receiver) || !isForOneRank(script, call.node))
        return [];
      return [
        { at: call.node, message: `Only one rank restores ${receiver} here; on the others it begins anew, and their weights drift apart.` },
      ];
    });
  },
};
