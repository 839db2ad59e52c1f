import { parseDuration } from '../../../core/duration.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { type Parsed, parsed } from '../../../core/parsed.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText, wholeNumber } from '../../frame/option-values.ts';
import { parseRate } from '../../remote/remote-options.ts';

/** Keeps the text as written; the module that uses the option parses it. */
function asWritten(text: string): Parsed<string> {
  return parsed(text);
}

/** The `run` command: runs a trainer under supervision. */
export const run = defineCommand({
  description:
    'Runs a trainer so that interruptions cost little. It owns the trainer’s processes and signals, and seals its checkpoints while training continues. After a notice it makes a last save if the time suffices. Exit code 0 always means that the run is finished. Exit code 143 means interrupted and resumable: the same command line resumes from the last good checkpoint. The trainer’s own options come after --. Standard output belongs to the trainer, so run refuses --json; use log --json instead.',
  operand: {
    name: 'COMMAND',
    description: 'The trainer and its arguments, after --',
    count: 'many',
    isAfterDashes: true,
    complete: 'paths',
  },
  options: {
    dir: {
      kind: 'value',
      value: 'RUN',
      parse: someText('the folder of the run'),
      description: 'The folder of the run; Holdfast creates it if needed. Without it: HOLDFAST_DIR, or holdfast-run in the current folder',
    },
    grace: {
      kind: 'value',
      value: 'TIME',
      parse: parseDuration,
      description: 'The time from SIGTERM to SIGKILL. Without it: HOLDFAST_GRACE, or 30s as a guess',
    },
    every: {
      kind: 'value',
      value: 'CADENCE',
      parse: asWritten,
      default: 'auto',
      description: 'How often to save: a time (10m), steps (500steps), or auto, from the measured cost of a save',
    },
    keep: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('how many to keep', 1),
      description: 'Keep this many of the newest checkpoints and delete older ones after each save; without it, keep all',
    },
    restarts: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('how many restarts', 0),
      default: '0',
      description: 'Restart the trainer after an error, up to this many times without progress',
    },
    'resume-arg': {
      kind: 'value',
      value: 'OPTION',
      parse: someText('the option'),
      description:
        'The trainer’s option for the checkpoint to resume from: --resume-arg=--resume-from, or with a placeholder, --resume-arg=--ckpt={}',
    },
    again: {
      kind: 'flag',
      description: 'Train on, although the same command has already finished this run. Without it, run then ends with 0 at once',
    },
    watch: {
      kind: 'value',
      value: 'FOLDER',
      parse: someText('the folder'),
      description:
        'For a trainer without the SDK: the folder in which its framework saves. Holdfast seals finished checkpoints in place, and this folder is the folder of the run',
    },
    ship: {
      kind: 'value',
      value: 'URL',
      parse: someText('the address'),
      description:
        'Copy each sealed checkpoint to s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:///FOLDER while training continues. At the start, fetch the newest copy if it is newer than the local checkpoints',
    },
    'remote-patience': {
      kind: 'value',
      value: 'TIME',
      parse: parseDuration,
      description: 'How long to retry at the start while the store of --ship does not answer and may hold newer checkpoints (default: 10m)',
    },
    'ship-limit': { kind: 'value', value: 'RATE', parse: parseRate, description: 'The highest transfer rate of --ship, such as 500MiB/s' },
    stage: {
      kind: 'value',
      value: 'FOLDER',
      parse: someText('the folder'),
      description:
        'Where saves go first, so that the trainer does not wait for the disk: a folder in memory, auto (/dev/shm if it has room), or off. Without it: HOLDFAST_STAGE, or auto',
    },
    'notice-file': {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description: 'A file to watch for notices, in the format that the downward API uses for annotations',
    },
    metadata: {
      kind: 'value',
      value: 'SERVICE',
      parse: asWritten,
      description:
        'The metadata service that announces reclaims and maintenance: gcp, aws, azure, off, or auto to detect it; gcp=URL sets another address. Without it: HOLDFAST_METADATA, or auto',
    },
    hang: {
      kind: 'value',
      value: 'TIME',
      parse: asWritten,
      default: 'auto',
      description: 'When a trainer without progress counts as hung: after a time (10m), auto (many times its usual step), or off',
    },
    'on-hang': {
      kind: 'value',
      value: 'WHAT',
      parse: asWritten,
      default: 'report',
      description:
        'What to do with a hung trainer: report it with the stacks of its threads, or restart it from the last good checkpoint, within --restarts',
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
      description: 'With several nodes: an id that all of them share. Without it: HOLDFAST_GANG, or the job name from the launcher',
    },
    nodes: {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('how many nodes', 1),
      description:
        'How many nodes run the trainer together over one shared --dir, each with its own supervisor. Without it: HOLDFAST_NODES, or PET_NNODES from torchrun or a PyTorchJob',
    },
    'node-rank': {
      kind: 'value',
      value: 'NUMBER',
      parse: wholeNumber('the node rank', 0),
      description: 'The number of this node, from 0. Without it: HOLDFAST_NODE_RANK, PET_NODE_RANK or JOB_COMPLETION_INDEX',
    },
    'eviction-line': {
      kind: 'value',
      value: 'LINE',
      parse: asWritten,
      description:
        'Free space at which the kubelet evicts pods, if it is not the default of 10 %: a share, a size, or none. Holdfast starts no save that would cross it. Without it: HOLDFAST_EVICTION_LINE',
    },
    'save-size': {
      kind: 'value',
      value: 'SIZE',
      parse: asWritten,
      description:
        'The expected size of the first save, so that Holdfast can refuse it before it starts if it does not fit. A later save is expected to be as large as the one before. Without it: HOLDFAST_SAVE_SIZE',
    },
    'termination-log': {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description: 'Where to write the termination message. Without it: the file of Kubernetes, if there is one',
    },
    grid: {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description:
        'A YAML file with the parameters of a sweep. This run is one trial: {lr} in the trainer’s arguments becomes its value, HOLDFAST_PARAM_LR has it too, and the run gets a folder of its own in --dir',
    },
    trial: {
      kind: 'value',
      value: 'NUMBER',
      parse: wholeNumber('the trial', 0),
      description: 'The trial of --grid, from 0. Without it: JOB_COMPLETION_INDEX',
    },
  },
  examples: [
    {
      line: 'run --dir=/shared/run --nodes=2 --node-rank=0 -- torchrun --nnodes=2 train.py',
      description: 'Start the first of two nodes; their ranks make one checkpoint',
    },
    { line: 'run -- python train.py', description: 'Run a trainer that uses the SDK' },
    {
      line: 'run --dir=/data/run-7 --grace=2m --every=10m -- torchrun --nproc-per-node=8 train.py',
      description: 'Run all ranks of a node',
    },
    {
      line: 'run --watch=out --resume-arg=--resume_from_checkpoint -- python train.py --output_dir=out',
      description: 'Run an unchanged trainer and seal what its framework saves in out',
    },
    {
      line: 'run --ship=s3://my-checkpoints/run-7 -- python train.py',
      description: 'On Spot the disk is lost with the node: resume from the bucket',
    },
    { line: 'run --grid=grid.yaml --dir=/data/sweep -- python train.py --lr={lr}', description: 'Run one trial of a sweep' },
    { line: 'run --restarts=3 --keep=2 -- ./train.sh', description: 'Restart after errors, and keep the newest two checkpoints' },
  ],

  async onRefused(thrown, world): Promise<void> {
    const { leaveRefusedWords } = await import('./refused-words.ts');
    await leaveRefusedWords(thrown, { ...world, say: (text) => void process.stderr.write(`holdfast: ${text}\n`) });
  },

  async run({ values, operands, output, clock, env, takeSignals, cannotEnd }): Promise<number> {
    if (output.json) {
      throw new HoldfastError('USAGE', {
        message: 'option --json: run has no result to print, and standard output belongs to the trainer',
        hint: 'holdfast log --json RUN prints what happened, --status=PORT serves what happens now, and --termination-log=FILE writes how it ended as JSON. Put the trainer’s own options after --.',
      });
    }
    const { runTrainer } = await import('./run-trainer.ts');
    return runTrainer({ values, command: operands, env, clock, takeSignals, cannotEnd, say: (text) => output.note(`holdfast: ${text}`) });
  },
});
