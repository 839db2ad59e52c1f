import { parseDuration } from '../../core/duration.ts';
import { type Parsed, parsed } from '../../core/parsed.ts';
import { defineCommand } from '../command.ts';
import { someText, wholeNumber } from '../option-values.ts';

/** Kept as written: what it means is read where cadences are known. */
function asWritten(text: string): Parsed<string> {
  return parsed(text);
}

export const run = defineCommand({
  description:
    'Runs a trainer so that interruptions cost little: owns its processes and signals, seals its checkpoints while it trains on, and uses the seconds between a notice and the end for a last save when they suffice. Exit code 0 belongs to a finished run alone; 143 means interrupted and resumable, and the same command line goes on from the last good checkpoint. The trainer’s own options stand after --.',
  operand: { name: 'COMMAND', description: 'The trainer and its arguments, after --', count: 'many', complete: 'paths' },
  options: {
    dir: {
      kind: 'value',
      value: 'RUN',
      parse: someText('the folder of the run'),
      description: 'The folder of the run, made when it is not there; HOLDFAST_DIR, or holdfast-run here, when left out',
    },
    grace: {
      kind: 'value',
      value: 'TIME',
      parse: parseDuration,
      description: 'How long the trainer has from SIGTERM to SIGKILL; HOLDFAST_GRACE, or 30s as a guess, when left out',
    },
    every: {
      kind: 'value',
      value: 'CADENCE',
      parse: asWritten,
      default: 'auto',
      description: 'How often to save: a time (10m), steps (500steps), or auto from what saves cost here',
    },
    keep: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('how many to keep', 1),
      description: 'Delete older checkpoints after each save, but the newest so many; without it none is deleted',
    },
    restarts: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('how many restarts', 0),
      default: '0',
      description: 'Start the trainer again after an error, so many times without progress',
    },
    'resume-arg': {
      kind: 'value',
      value: 'OPTION',
      parse: someText('the option'),
      description:
        'An option of the trainer that takes the checkpoint to resume from: --resume-arg=--resume-from, or with a place for it, --ckpt={}',
    },
    stage: {
      kind: 'value',
      value: 'FOLDER',
      parse: someText('the folder'),
      description:
        'Where saves go first, so that the trainer need not wait for the disk: a folder in memory, auto (/dev/shm where it is roomy), or off; HOLDFAST_STAGE, or auto, when left out',
    },
    'notice-file': {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description: 'A file to watch for notices: annotations as the downward API writes them',
    },
    'termination-log': {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description: 'Where to leave the termination message; that of Kubernetes, where there is one, when left out',
    },
  },
  examples: [
    { line: 'run -- python train.py', description: 'A trainer with the three lines of the SDK' },
    { line: 'run --dir=/data/run-7 --grace=2m --every=10m -- torchrun --nproc-per-node=8 train.py', description: 'All ranks of a node' },
    { line: 'run --restarts=3 --keep=2 -- ./train.sh', description: 'Start again after errors, keep the newest two checkpoints' },
  ],

  async run({ values, operands, output, clock, env, takeSignals }): Promise<number> {
    const { runTrainer } = await import('../run/run-trainer.ts');
    return runTrainer({ values, command: operands, env, clock, takeSignals, say: (text) => output.note(`holdfast: ${text}`) });
  },
});
