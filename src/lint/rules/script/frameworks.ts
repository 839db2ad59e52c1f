import type { Hit } from '../../source/finding.ts';
import type { ScriptRule } from '../../engine/rule.ts';
import type { Call } from '../../script/syntax-node.ts';
import { importText, receiverText, usesHoldfast } from '../../script/saves.ts';
import type { Script } from '../../script/script.ts';

const HF = (settings: string, train: string): string => `
from transformers import Trainer, TrainingArguments
arguments = TrainingArguments(output_dir="/runs", ${settings})
trainer = Trainer(model=model, args=arguments, train_dataset=data)
trainer.train(${train})
`;

/**
 * The call is a method of a Trainer: of a variable that is called or assigned one, or of one that
 * is made on the spot.
 */
function isOfTrainer(script: Script, call: Call): boolean {
  const name = receiverText(script, call);
  if (/trainer$/i.test(name)) return true;
  const isMade = ({ node, callee }: Call): boolean =>
    callee.endsWith('Trainer') && (node === call.receiver || script.assignedTo(name).some(({ value }) => value === node));
  return script.calls.some(isMade);
}

function isOff(script: Script, call: Call, keyword: string): boolean {
  const value = call.keywords.get(keyword);
  return value !== undefined && /^(?:False|None|0)$/.test(script.textOf(value));
}

function isOn(script: Script, call: Call, keyword: string): boolean {
  const value = call.keywords.get(keyword);
  return value !== undefined && script.textOf(value) === 'True';
}

function trainingArguments(script: Script): Call | undefined {
  return script.calls.find(({ callee }) => /(?:^|\.)(?:Seq2Seq)?TrainingArguments$|(?:^|\.)(?:SFT|DPO|GRPO|PPO)Config$/.test(callee));
}

/** A Trainer that starts anew. */
export const huggingFaceNeverResumes: ScriptRule = {
  code: 'HF_NEVER_RESUMES',
  severity: 'error',
  on: 'script',
  title: 'The Hugging Face Trainer never resumes',
  why: '`trainer.train()` without resume_from_checkpoint starts at step 0 even if output_dir holds checkpoints, and later overwrites them.',
  fix: 'Pass resume_from_checkpoint: get_last_checkpoint(output_dir) gives None at the first start.',
  bad: { script: HF('save_steps=500', '') },
  good: { script: HF('save_steps=500', 'resume_from_checkpoint=get_last_checkpoint("/runs")') },
  check(script) {
    const made = trainingArguments(script);
    if (
      made === undefined ||
      usesHoldfast(script) ||
      made.isOpen ||
      script.textOf(made.keywords.get('save_strategy') ?? script.root) === '"no"'
    )
      return [];
    return script.calls.flatMap((call): Hit[] => {
      if (call.method !== 'train' || !isOfTrainer(script, call) || call.isOpen || call.args.length > 0) return [];
      if (call.keywords.has('resume_from_checkpoint') && !isOff(script, call, 'resume_from_checkpoint')) return [];
      return [{ at: call.node, message: 'This starts at step 0 even if checkpoints exist: resume_from_checkpoint is not given.' }];
    });
  },
};

/** One checkpoint, which is replaced. */
export const huggingFaceKeepsOne: ScriptRule = {
  code: 'HF_KEEPS_ONE_CHECKPOINT',
  severity: 'warning',
  on: 'script',
  title: 'Only one checkpoint is kept',
  why: 'With save_total_limit=1 there is no second checkpoint to fall back to. If an interruption damages the newest one, during its save or the clean-up after it, the training starts from the beginning.',
  fix: 'Keep at least two: save_total_limit=2.',
  bad: { script: HF('save_total_limit=1', 'resume_from_checkpoint=last') },
  good: { script: HF('save_total_limit=3', 'resume_from_checkpoint=last') },
  check(script) {
    return script.calls.flatMap(({ keywords, callee }): Hit[] => {
      const limit = keywords.get('save_total_limit') ?? (callee.endsWith('ProjectConfiguration') ? keywords.get('total_limit') : undefined);
      if (limit === undefined || script.textOf(limit) !== '1') return [];
      return [{ at: limit, message: 'Only one checkpoint is kept. If it is damaged, there is nothing to fall back to.' }];
    });
  },
};

/** Weights without the state of the training. */
export const huggingFaceSavesModel: ScriptRule = {
  code: 'HF_SAVES_ONLY_MODEL',
  severity: 'error',
  on: 'script',
  title: 'The Hugging Face Trainer saves only weights, or nothing',
  why: 'With save_only_model=True the checkpoints have no optimizer, no scheduler and no random states, and a resume from them is refused, or starts with a fresh optimizer. With save_strategy="no" no checkpoint is saved.',
  fix: 'Leave save_only_model out, and give save_steps.',
  bad: { script: HF('save_only_model=True', 'resume_from_checkpoint=last') },
  good: { script: HF('save_steps=500', 'resume_from_checkpoint=last') },
  check(script) {
    const made = trainingArguments(script);
    if (made === undefined || usesHoldfast(script)) return [];
    const strategy = made.keywords.get('save_strategy');
    const isNone = strategy !== undefined && /^["']no["']$/.test(script.textOf(strategy));
    const at = isOn(script, made, 'save_only_model')
      ? made.keywords.get('save_only_model')
      : isNone && script.calls.some(({ method }) => method === 'train')
        ? strategy
        : undefined;
    if (at === undefined || (isNone && made.isOpen)) return [];
    return [
      {
        at,
        message: isNone
          ? 'Nothing is saved while training: an interruption loses all of it.'
          : 'The checkpoints have only weights: a resume finds no optimizer and no scheduler.',
      },
    ];
  },
};

const PL = (settings: string, fit: string): string => `
import lightning
from lightning.pytorch.callbacks import ModelCheckpoint
trainer = lightning.Trainer(callbacks=[ModelCheckpoint(${settings})], max_steps=1000)
trainer.fit(model, data${fit})
`;

function usesLightning(script: Script): boolean {
  return /\b(?:lightning|pytorch_lightning)\b/.test(importText(script)) && !usesHoldfast(script);
}

/** A fit that starts anew. */
export const lightningNeverResumes: ScriptRule = {
  code: 'LIGHTNING_NEVER_RESUMES',
  severity: 'error',
  on: 'script',
  title: 'The Lightning Trainer never resumes',
  why: '`trainer.fit` without ckpt_path starts at step 0 even if the folder has checkpoints.',
  fix: 'Pass ckpt_path="last", together with save_last=True: without a checkpoint, it starts at step 0.',
  bad: { script: PL('save_last=True', '') },
  good: { script: PL('save_last=True', ', ckpt_path="last"') },
  check(script) {
    if (!usesLightning(script)) return [];
    const trainers = script.calls.filter(({ callee }) => /(?:^|\.)Trainer$/.test(callee));
    if (
      trainers.length === 0 ||
      trainers.some((call) => call.isOpen || call.keywords.has('fast_dev_run') || isOff(script, call, 'enable_checkpointing'))
    )
      return [];
    return script.calls.flatMap((call): Hit[] => {
      if (call.method !== 'fit' || !isOfTrainer(script, call) || call.isOpen || call.args.length > 4) return [];
      if (call.keywords.has('ckpt_path') && !isOff(script, call, 'ckpt_path')) return [];
      return [{ at: call.node, message: 'This starts at step 0 even if checkpoints exist: ckpt_path is not given.' }];
    });
  },
};

/** Best is not last. */
export const lightningNoLast: ScriptRule = {
  code: 'LIGHTNING_KEEPS_NO_LAST',
  severity: 'warning',
  on: 'script',
  title: 'The last state is not kept, only the best',
  why: 'A ModelCheckpoint that watches a metric keeps the best checkpoints. It keeps the last one only with save_last=True. Otherwise a resume goes back to the time when the metric was best, perhaps hours ago.',
  fix: 'Set save_last=True.',
  bad: { script: PL('monitor="val_loss", save_top_k=1', ', ckpt_path=last') },
  good: { script: PL('monitor="val_loss", save_top_k=1, save_last=True', ', ckpt_path="last"') },
  check(script) {
    if (!usesLightning(script)) return [];
    const made = script.calls.filter(({ callee }) => /(?:^|\.)ModelCheckpoint$/.test(callee));
    if (
      made.some(
        (call) => call.isOpen || !call.keywords.has('monitor') || (call.keywords.has('save_last') && !isOff(script, call, 'save_last')),
      )
    )
      return [];
    const [first] = made;
    return first === undefined
      ? []
      : [{ at: first.node, message: 'Only the best checkpoints are kept: a resume loses all since the metric was best.' }];
  },
};

/** A Lightning checkpoint without state. */
export const lightningWeightsOnly: ScriptRule = {
  code: 'LIGHTNING_SAVES_ONLY_WEIGHTS',
  severity: 'error',
  on: 'script',
  title: 'Lightning saves only weights, or nothing',
  why: 'With save_weights_only=True a checkpoint has no optimizer, no loop and no random state, and fit(ckpt_path=…) cannot resume from it. With enable_checkpointing=False no checkpoint is saved.',
  fix: 'Leave save_weights_only out.',
  bad: { script: PL('save_weights_only=True', ', ckpt_path="last"') },
  good: { script: PL('save_last=True', ', ckpt_path="last"') },
  check(script) {
    if (!usesLightning(script)) return [];
    const made = script.calls.filter(({ callee }) => /(?:^|\.)ModelCheckpoint$/.test(callee));
    const isWeights = made.length > 0 && made.every((call) => isOn(script, call, 'save_weights_only'));
    const off = script.calls.find((call) => /(?:^|\.)Trainer$/.test(call.callee) && isOff(script, call, 'enable_checkpointing'));
    if (
      off !== undefined &&
      made.length === 0 &&
      script.calls.some(({ method }) => method === 'fit') &&
      !off.keywords.has('fast_dev_run')
    ) {
      return [
        {
          at: off.keywords.get('enable_checkpointing') ?? off.node,
          message: 'Nothing is saved while training: an interruption loses all of it.',
        },
      ];
    }
    const [first] = made;
    return !isWeights || first === undefined
      ? []
      : [
          {
            at: first.keywords.get('save_weights_only') ?? first.node,
            message: 'The checkpoints have only weights: fit cannot resume from them.',
          },
        ];
  },
};

/** State that is saved and never loaded. */
export const accelerateNeverResumes: ScriptRule = {
  code: 'ACCELERATE_NEVER_RESUMES',
  severity: 'error',
  on: 'script',
  title: 'Accelerate saves a state that is never loaded',
  why: '`accelerator.save_state` writes everything that a resume needs, and without accelerator.load_state nothing reads it.',
  fix: 'Call accelerator.load_state at the start if a checkpoint exists, and accelerator.skip_first_batches for the place in the data.',
  bad: {
    script:
      '\nfrom accelerate import Accelerator\naccelerator = Accelerator()\nfor step, batch in enumerate(loader):\n    accelerator.backward(model(batch))\n    accelerator.save_state("/runs")\n',
  },
  good: {
    script:
      '\nfrom accelerate import Accelerator\naccelerator = Accelerator()\naccelerator.load_state("/runs")\nfor step, batch in enumerate(loader):\n    accelerator.backward(model(batch))\n    accelerator.save_state("/runs")\n',
  },
  check(script) {
    if (!/\baccelerate\b/.test(importText(script)) || usesHoldfast(script)) return [];
    const save = script.calls.find(({ method }) => method === 'save_state');
    if (
      save === undefined ||
      script.calls.some(({ method }) => /^load_(?:state|checkpoint)$/.test(method)) ||
      /resume/i.test(importText(script))
    )
      return [];
    return [
      {
        at: save.node,
        message: 'Nothing in this file loads the state that is saved here: after an interruption it starts from the beginning.',
      },
    ];
  },
};
