import type { Hit } from '../../source/finding.ts';
import type { ScriptRule } from '../../engine/rule.ts';
import { type Call, type PyNode } from '../../script/syntax-node.ts';
import { comesBefore, hasOwnSaving, isRepeated, loadsOf, receiverText, savesOf, trainsHere } from '../../script/saves.ts';
import type { Script } from '../../script/script.ts';
import { isBare, loadsNothing, saysOnlyWeights } from '../../script/whole-story.ts';
import { type Component, loadedComponents, resumeSaves, usedComponents } from '../../script/state.ts';
import { neverRead } from '../../script/unread.ts';

const TRAIN = (save: string, load: string): string => `
import torch
scaler = torch.amp.GradScaler()
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50)
${load}
for step, batch in enumerate(loader):
    scaler.scale(model(batch)).backward()
    scaler.step(optimizer)
    optimizer.step()
    scheduler.step()
    if step % 1000 == 0:
        torch.save(${save}, path)
`;
const ALL =
  '{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "scaler": scaler.state_dict(), "step": step, "rng": torch.get_rng_state()}';
const LOAD_ALL = `checkpoint = torch.load(path)
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
scheduler.load_state_dict(checkpoint["scheduler"])
scaler.load_state_dict(checkpoint["scaler"])
torch.set_rng_state(checkpoint["rng"])
start = checkpoint["step"]`;

const LOSES: Readonly<Record<Component, string>> = {
  model: 'the weights',
  optimizer: 'the moments of the optimizer, so that the loss jumps',
  scheduler: 'the place in the learning rate schedule, so that it starts again',
  scaler: 'the loss scale, so that the first steps overflow',
  sampler: 'the place in the data, so that samples are seen twice or never',
  step: 'the step, so that training starts at 0 with trained weights',
  random: 'the states of the random numbers, so that the order of the data and dropout differ from a run that was not interrupted',
};

/** What a checkpoint lacks of what the script trains with. */
export const stateNotSaved: ScriptRule = {
  code: 'STATE_NOT_SAVED',
  severity: 'error',
  on: 'script',
  title: 'A part of the training state is not saved',
  why: 'A resume from a checkpoint without the optimizer, the scheduler, the scaler, the sampler or the step is another training. It starts without an error, and its loss curve jumps at every interruption.',
  fix: 'Save the state_dict of everything that steps, and the step.',
  bad: { script: TRAIN('{"model": model.state_dict(), "step": step}', LOAD_ALL) },
  good: { script: TRAIN(ALL, LOAD_ALL) },
  check(script) {
    if (hasOwnSaving(script) || !trainsHere(script)) return [];
    const used = usedComponents(script);
    const saves = resumeSaves(script).filter(({ save }) => isRepeated(script, save.call.node));
    // Where one save is whole, the others are something else, such as the best weights.
    const wanted = [...used, 'step' as const];
    if (saves.some(({ holds }) => wanted.every((one) => holds.has(one)))) return [];
    const [first] = saves;
    const missing = first === undefined ? [] : wanted.filter((one) => !first.holds.has(one));
    if (first === undefined || missing.length === 0) return [];
    return [
      {
        at: first.save.call.node,
        message: `${missing.join(', ')} is used for training and not saved: a resume loses ${LOSES[missing[0] ?? 'step']}.`,
      },
    ];
  },
};

/** State that is saved and not loaded. */
export const stateNotLoaded: ScriptRule = {
  code: 'STATE_NOT_LOADED',
  severity: 'error',
  on: 'script',
  title: 'A part of the training state is saved and never loaded',
  why: 'The checkpoint has it, and the resume leaves it there. The training continues without an error, with a fresh optimizer, scheduler, scaler or sampler, or from step 0.',
  fix: 'Call load_state_dict on each of them when resuming, and start at the saved step.',
  bad: { script: TRAIN(ALL, 'checkpoint = torch.load(path)\nmodel.load_state_dict(checkpoint["model"])') },
  good: { script: TRAIN(ALL, LOAD_ALL) },
  check(script) {
    if (hasOwnSaving(script) || !trainsHere(script)) return [];
    const load = loadsOf(script)[0];
    const loaded = loadedComponents(script);
    if (load === undefined || loaded.size === 0) return [];
    const held = new Set(resumeSaves(script).flatMap(({ holds }) => [...holds]));
    const missing = [
      ...[...usedComponents(script)].filter((one) => held.has(one) && !loaded.has(one)),
      ...(neverRead(script).has('step') ? ['step' as const] : []),
    ];
    if (missing.length === 0) return [];
    return [
      {
        at: load.call.node,
        message: `${missing.join(', ')} is in the checkpoint, and nothing here loads it: a resume loses ${LOSES[missing[0] ?? 'optimizer']}.`,
      },
    ];
  },
};

/** Without them a resumed run differs. */
export const randomNotSaved: ScriptRule = {
  code: 'RANDOM_STATE_NOT_SAVED',
  severity: 'info',
  on: 'script',
  title: 'The states of the random numbers are not saved, or not restored',
  why: 'Shuffling, augmentation and dropout use random number generators. A resume without their states sees other batches than an uninterrupted run, and some samples twice or never. Most trainings tolerate that. A comparison with an uninterrupted run does not.',
  fix: 'Save torch.get_rng_state(), torch.cuda.get_rng_state_all(), random.getstate() and numpy’s, per rank, and set them again when resuming.',
  bad: {
    script: TRAIN(ALL.replace(', "rng": torch.get_rng_state()', ''), LOAD_ALL.replace('torch.set_rng_state(checkpoint["rng"])\n', '')),
  },
  good: { script: TRAIN(ALL, LOAD_ALL) },
  check(script) {
    if (hasOwnSaving(script) || !trainsHere(script)) return [];
    const saves = resumeSaves(script).filter(({ save, holds }) => isRepeated(script, save.call.node) && holds.has('optimizer'));
    const [first] = saves;
    const [load] = loadsOf(script);
    if (load !== undefined && neverRead(script).has('random')) {
      return [{ at: load.call.node, message: 'The states of the random numbers are saved, and nothing here sets them again.' }];
    }
    if (
      first === undefined ||
      saves.some(({ holds }) => holds.has('random')) ||
      /rng_state|getstate\(|StatefulDataLoader|StatefulDistributedSampler/.test(script.code)
    )
      return [];
    return [
      {
        at: first.save.call.node,
        message: 'No state of a random number generator is saved: after a resume the order of the data differs.',
      },
    ];
  },
};

/** The weights alone resume nothing. */
export const onlyWeightsSaved: ScriptRule = {
  code: 'ONLY_WEIGHTS_SAVED',
  severity: 'error',
  on: 'script',
  title: 'Only the weights are saved',
  why: 'A resume from the weights alone starts with a fresh optimizer and scheduler, at step 0. The loss jumps at every interruption.',
  fix: 'Save a dictionary with the weights, the optimizer, the scheduler and the step.',
  bad: {
    script: `
import os, torch
if os.path.exists("/runs/model.pt"):
    model.load_state_dict(torch.load("/runs/model.pt"))
for step, batch in enumerate(loader):
    model(batch).backward()
    optimizer.step()
    if step % 1000 == 0:
        torch.save(model.state_dict(), "/runs/model.pt")
`,
  },
  good: { script: TRAIN(ALL, LOAD_ALL) },
  check(script) {
    if (hasOwnSaving(script) || !trainsHere(script)) return [];
    const repeated = savesOf(script).filter(({ call }) => isRepeated(script, call.node));
    const areBare = repeated.every((save) => isBare(script, save));
    const visible = loadsNothing(script) ? saysOnlyWeights(script)[0] : undefined;
    if (visible !== undefined)
      return [{ at: visible.call.node, message: 'This saves only the weights: an interruption loses the optimizer and the step.' }];
    const [first] = repeated;
    const names = new Set(repeated.flatMap(({ paths }) => paths));
    const isLoaded = loadsOf(script).some(({ paths }) => paths.some((path) => names.has(path) && !/^\{[^}]*\}$/.test(path)));
    if (!areBare || first === undefined || !isLoaded) return [];
    return [{ at: first.call.node, message: 'This saves only the weights, and a resume loads them: the optimizer and the step are lost.' }];
  },
};

/** A checkpoint that nothing reads. */
export const neverResumes: ScriptRule = {
  code: 'NEVER_RESUMES',
  severity: 'error',
  on: 'script',
  title: 'Checkpoints are saved and never loaded',
  why: 'The training saves what a resume needs, and nothing in the file loads it. After an interruption it starts from the beginning, and overwrites its checkpoints.',
  fix: 'Load the newest good checkpoint at the start, if one exists.',
  bad: { script: TRAIN(ALL, '') },
  good: { script: TRAIN(ALL, LOAD_ALL) },
  check(script) {
    if (hasOwnSaving(script) || !trainsHere(script)) return [];
    if (!loadsNothing(script)) return [];
    const whole = resumeSaves(script).find(({ save: { call }, holds }) => isRepeated(script, call.node) && holds.has('optimizer'));
    const save = whole?.save ?? saysOnlyWeights(script)[0];
    if (save === undefined) return [];
    return [
      { at: save.call.node, message: 'Nothing in this file loads what is saved here: after an interruption it starts from the beginning.' },
    ];
  },
};

const MOVES = /^(?:cuda|to|half|bfloat16|to_empty)$/;

/** Optimizer state goes to the current device of the parameters. */
export const restoredBeforeDevice: ScriptRule = {
  code: 'OPTIMIZER_RESTORED_BEFORE_DEVICE',
  severity: 'error',
  on: 'script',
  title: 'The optimizer is restored before the model moves to its device',
  why: '`optimizer.load_state_dict` puts its state on the current device of the parameters. If the model moves to the GPU afterwards, the state stays on the CPU. Then the first step after every resume fails, while a fresh start works.',
  fix: 'Move the model first, build the optimizer, then load.',
  bad: {
    script:
      '\nimport torch\nmodel = Net()\noptimizer = torch.optim.AdamW(model.parameters())\noptimizer.load_state_dict(torch.load(path)["optimizer"])\nmodel.cuda()\n',
  },
  good: {
    script:
      '\nimport torch\nmodel = Net().cuda()\noptimizer = torch.optim.AdamW(model.parameters())\noptimizer.load_state_dict(torch.load(path, map_location="cpu")["optimizer"])\n',
  },
  check(script) {
    const restores = script.calls.filter((call) => call.method === 'load_state_dict' && /optim|^opt$/i.test(receiverText(script, call)));
    const places = restores.flatMap((call) => [call.node, ...callersWithOptimizer(script, call)]);
    const moves = script.calls.filter(
      (call) =>
        MOVES.test(call.method) &&
        /(?:^|\.)(?:model|net|network|module)$/i.test(receiverText(script, call)) &&
        (call.method !== 'to' || call.args.length > 0),
    );
    for (const place of places) {
      const move = moves.find((call) => comesBefore(script, place, call.node) && !hasMoveBefore(moves, place, call, script));
      if (move !== undefined)
        return [
          {
            at: move.node,
            message: `${receiverText(script, move)} moves here, after the state of the optimizer was restored: the first step of a resumed run fails.`,
          },
        ];
    }
    return [];
  },
};

function callersWithOptimizer(script: Script, call: Call): readonly PyNode[] {
  return call.fn === null ? [] : script.callsOf(call.fn).map(({ node }) => node);
}

function hasMoveBefore(moves: readonly Call[], place: PyNode, move: Call, script: Script): boolean {
  return moves.some(
    (one) => one !== move && receiverText(script, one) === receiverText(script, move) && comesBefore(script, one.node, place),
  );
}

/** What was loaded is discarded. */
export const seedAfterResume: ScriptRule = {
  code: 'SEED_AFTER_RESUME',
  severity: 'warning',
  on: 'script',
  title: 'The seed is set again after a resume',
  why: 'Setting the seed after the load discards the restored states of the random numbers. Every resume repeats the batches and the dropout of the beginning.',
  fix: 'Set the seed first, then load.',
  bad: { script: '\nimport torch\ntorch.set_rng_state(torch.load(path)["rng"])\ntorch.manual_seed(7)\n' },
  good: { script: '\nimport torch\ntorch.manual_seed(7)\ntorch.set_rng_state(torch.load(path)["rng"])\n' },
  check(script) {
    const seeds = script.calls.filter(
      ({ callee, method }) =>
        /^(?:torch\.manual_seed|random\.seed|numpy\.random\.seed|np\.random\.seed)$/.test(callee) ||
        /^(?:set_seed|seed_everything|manual_seed_all)$/.test(method),
    );
    const restores = script.calls.filter(
      ({ method }) => /^(?:set_rng_state|set_rng_state_all|setstate)$/.test(method) || method === 'load_checkpoint',
    );
    return seeds.flatMap((seed): Hit[] => {
      const before = restores.some(({ node, fn }) =>
        [node, ...(fn === null || !/load|resume|restore/i.test(fn.name) ? [] : script.callsOf(fn).map((call) => call.node))].some((place) =>
          comesBefore(script, place, seed.node),
        ),
      );
      const seeded = script.textOf(seed.args[0] ?? seed.node);
      if (!before || /step|epoch|iter|resume/i.test(seeded)) return [];
      return [
        {
          at: seed.node,
          message: 'The seed is set after the restore, which discards the loaded states of the random numbers.',
        },
      ];
    });
  },
};

/** A pickle may call anything. */
export const loadsPickle: ScriptRule = {
  code: 'LOADS_ANY_PICKLE',
  severity: 'warning',
  on: 'script',
  title: 'torch.load may run code from the file',
  why: 'With weights_only=False torch.load unpickles anything, and a pickle can call any function. A user who can write to the folder of the checkpoints runs code as the trainer, with its credentials.',
  fix: 'Leave weights_only at True, and register what else is needed with torch.serialization.add_safe_globals.',
  bad: { script: '\nimport torch\ncheckpoint = torch.load(path, weights_only=False)\n' },
  good: { script: '\nimport torch\ncheckpoint = torch.load(path, weights_only=True)\n' },
  check(script) {
    return script.calls.flatMap(({ callee, keywords, node }): Hit[] => {
      const only = keywords.get('weights_only');
      if (callee !== 'torch.load' || only === undefined || script.textOf(only) !== 'False') return [];
      return [{ at: only ?? node, message: 'weights_only=False lets the file run any code when it is loaded.' }];
    });
  },
};
