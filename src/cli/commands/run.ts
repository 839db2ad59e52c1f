import { parseDuration } from '../../core/duration.ts';
import { HoldfastError } from '../../core/errors.ts';
import { type Parsed, parsed } from '../../core/parsed.ts';
import { defineCommand } from '../command.ts';
import { someText, wholeNumber } from '../option-values.ts';
import { parseRate } from './remote-options.ts';

/** Kept as written: what it means is read where cadences are known. */
function asWritten(text: string): Parsed<string> {
  return parsed(text);
}

export const run = defineCommand({
  description:
    'Runs a trainer so that interruptions cost little: owns its processes and signals, seals its checkpoints while it trains on, and uses the seconds between a notice and the end for a last save when they suffice. Exit code 0 belongs to a finished run alone; 143 means interrupted and resumable, and the same command line goes on from the last good checkpoint. The trainer’s own options stand after --. Standard output is the trainer’s, so that there is no result as JSON here (--json is refused): log --json has it.',
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
    watch: {
      kind: 'value',
      value: 'FOLDER',
      parse: someText('the folder'),
      description:
        'For a trainer without the SDK: the folder in which its framework saves. What it has finished there is sealed in place, and the folder is that of the run',
    },
    ship: {
      kind: 'value',
      value: 'URL',
      parse: someText('the address'),
      description:
        'Copy what is sealed to s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:///FOLDER while training goes on, and begin with the newest copy where none here is as new',
    },
    'ship-limit': { kind: 'value', value: 'RATE', parse: parseRate, description: 'Most bytes a second for --ship, such as 500MiB/s' },
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
    metadata: {
      kind: 'value',
      value: 'SERVICE',
      parse: asWritten,
      description:
        'Whose metadata service announces reclaims and maintenance: gcp, aws, azure, off, or auto to find it; at another address with gcp=URL. HOLDFAST_METADATA, or auto, when left out',
    },
    hang: {
      kind: 'value',
      value: 'TIME',
      parse: asWritten,
      default: 'auto',
      description: 'From when on a trainer without progress hangs: a time (10m), auto for many times its usual step, or off',
    },
    'on-hang': {
      kind: 'value',
      value: 'WHAT',
      parse: asWritten,
      default: 'report',
      description: 'What to do then: report (with the stacks of its threads), or restart from the last good checkpoint, within --restarts',
    },
    status: {
      kind: 'value',
      value: 'PORT',
      parse: asWritten,
      description: 'Serve /status, /metrics and /healthz on this port of the loopback address, or on ADDRESS:PORT',
    },
    gang: {
      kind: 'value',
      value: 'ID',
      parse: someText('the gang'),
      description: 'With several nodes: what they have in common; HOLDFAST_GANG, or the name that the launcher gave the job, when left out',
    },
    nodes: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('how many nodes', 1),
      description:
        'How many nodes run the trainer together over one shared --dir, each with a supervisor of its own; HOLDFAST_NODES, or PET_NNODES as torchrun and a PyTorchJob have it, when left out',
    },
    'node-rank': {
      kind: 'value',
      value: 'NUMBER',
      parse: wholeNumber('the node rank', 0),
      description: 'Which of them this is, from 0; HOLDFAST_NODE_RANK, PET_NODE_RANK or JOB_COMPLETION_INDEX when left out',
    },
    'eviction-line': {
      kind: 'value',
      value: 'LINE',
      parse: asWritten,
      description:
        'Free space at which the kubelet of the node evicts, where it is not the default of 10 %: a share, a size, or none; no save is begun that would cross it. HOLDFAST_EVICTION_LINE when left out',
    },
    'save-size': {
      kind: 'value',
      value: 'SIZE',
      parse: asWritten,
      description:
        'How large a save will be, so that also the first one is refused before it begins where it does not fit; HOLDFAST_SAVE_SIZE when left out. Later ones are taken to be like the one before',
    },
    'termination-log': {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description: 'Where to leave the termination message; that of Kubernetes, where there is one, when left out',
    },
  },
  examples: [
    {
      line: 'run --dir=/shared/run --nodes=2 --node-rank=0 -- torchrun --nnodes=2 train.py',
      description: 'The first of two nodes; their ranks make one checkpoint',
    },
    { line: 'run -- python train.py', description: 'A trainer with the three lines of the SDK' },
    { line: 'run --dir=/data/run-7 --grace=2m --every=10m -- torchrun --nproc-per-node=8 train.py', description: 'All ranks of a node' },
    {
      line: 'run --watch=out --resume-arg=--resume_from_checkpoint -- python train.py --output_dir=out',
      description: 'Not a line of the trainer is changed: what its framework saves in out is sealed',
    },
    {
      line: 'run --ship=s3://my-checkpoints/run-7 -- python train.py',
      description: 'On Spot the disk dies with the node: resume from the bucket',
    },
    { line: 'run --restarts=3 --keep=2 -- ./train.sh', description: 'Start again after errors, keep the newest two checkpoints' },
  ],

  async onRefused(thrown, world): Promise<void> {
    const { leaveRefusedWords } = await import('../run/refused-words.ts');
    leaveRefusedWords(thrown, { ...world, say: (text) => void process.stderr.write(`holdfast: ${text}\n`) });
  },

  async run({ values, operands, output, clock, env, takeSignals, cannotEnd }): Promise<number> {
    if (output.json) {
      throw new HoldfastError('USAGE', {
        message: 'option --json: run has no result to print, and standard output is the trainer’s',
        hint: 'holdfast log --json RUN tells what happened, --status=PORT what goes on, and --termination-log=FILE leaves the end as JSON. An option of the trainer stands after --.',
      });
    }
    const { runTrainer } = await import('../run/run-trainer.ts');
    return runTrainer({ values, command: operands, env, clock, takeSignals, cannotEnd, say: (text) => output.note(`holdfast: ${text}`) });
  },
});
