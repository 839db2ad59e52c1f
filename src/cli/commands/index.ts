import type { CommandEntry } from '../frame/command.ts';

/** Every command, in the order of help. A new one is a file beside this one and an entry here. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'run',
    summary: 'Run a trainer so that interruptions cost little',
    load: async () => (await import('./run/run.ts')).run,
  },
  {
    name: 'demo',
    summary: 'See what it is for: interrupt a trainer, with and without holdfast run',
    load: async () => (await import('./demo/demo.ts')).demo,
  },
  {
    name: 'verify',
    summary: 'Check whether a run can resume from a checkpoint',
    load: async () => (await import('./verify/verify.ts')).verify,
  },
  {
    name: 'probe',
    summary: 'Check whether a path is a good place for checkpoints',
    load: async () => (await import('./probe/probe.ts')).probe,
  },
  {
    name: 'seal',
    summary: 'Seal a finished checkpoint: verify it, record its checksums, sync it',
    load: async () => (await import('./seal/seal.ts')).seal,
  },
  {
    name: 'ls',
    summary: 'List the sealed checkpoints of a run and mark the last good one',
    load: async () => (await import('./ls/ls.ts')).ls,
  },
  {
    name: 'resume',
    summary: 'Print the checkpoint that the run resumes from',
    load: async () => (await import('./resume/resume.ts')).resume,
  },
  {
    name: 'prune',
    summary: 'Delete old checkpoints, never the last good one',
    load: async () => (await import('./prune/prune.ts')).prune,
  },
  {
    name: 'pin',
    summary: 'Keep a checkpoint, whatever the rules of prune say',
    load: async () => (await import('./pin/pin.ts')).pin,
  },
  {
    name: 'unpin',
    summary: 'Let prune delete a checkpoint again',
    load: async () => (await import('./unpin/unpin.ts')).unpin,
  },
  {
    name: 'rollback',
    summary: 'Make a run resume from an older checkpoint, or start fresh',
    load: async () => (await import('./rollback/rollback.ts')).rollback,
  },
  {
    name: 'quarantine',
    summary: 'List the checkpoints that were moved aside, and why',
    load: async () => (await import('./quarantine/quarantine.ts')).quarantine,
  },
  {
    name: 'log',
    summary: 'Show what happened to a run, as a timeline',
    load: async () => (await import('./log/log.ts')).log,
  },
  {
    name: 'why',
    summary: 'What ended it, what did it cost, and which setting to change?',
    load: async () => (await import('./why/why.ts')).why,
  },
  {
    name: 'grace',
    summary: 'How long does a pod really have, for every cause that ends it?',
    load: async () => (await import('./grace/grace.ts')).grace,
  },
  {
    name: 'whatif',
    summary: 'Whom would this change evict, what would that cost, and what would cost less?',
    load: async () => (await import('./whatif/whatif.ts')).whatif,
    verbs: async () => (await import('./whatif/verbs.ts')).WHATIF_VERBS,
  },
  {
    name: 'ship',
    summary: 'Copy a sealed checkpoint to S3, GCS or a folder, with proof',
    load: async () => (await import('./ship/ship.ts')).ship,
  },
  {
    name: 'fetch',
    summary: 'Download a shipped checkpoint and verify every byte',
    load: async () => (await import('./fetch/fetch.ts')).fetch,
  },
  {
    name: 'lint',
    summary: 'What in this manifest and this script will hurt when it is interrupted?',
    load: async () => (await import('./lint/lint.ts')).lint,
  },
  {
    name: 'adopt',
    summary: 'Print a manifest with everything that a supervised run needs',
    load: async () => (await import('./adopt/adopt.ts')).adopt,
  },
  {
    name: 'queue',
    summary: 'Batch inference on machines that vanish: no result lost, none written twice',
    load: async () => (await import('./queue/queue.ts')).queue,
    verbs: async () => (await import('./queue/verbs.ts')).QUEUE_VERBS,
  },
  {
    name: 'operator',
    summary: 'Run PyTorchJobs and TFJobs as gangs that restart from the last good step',
    load: async () => (await import('./operator/operator.ts')).operator,
    verbs: async () => (await import('./operator/verbs.ts')).OPERATOR_VERBS,
  },
  {
    name: 'explain',
    summary: 'Explain a verdict, a code or a cause, and what to do',
    load: async () => (await import('./explain/explain.ts')).explain,
  },
  {
    name: 'completion',
    summary: 'Print the completion script for a shell',
    load: async () => (await import('./completion/completion.ts')).completion,
  },
  {
    name: 'help',
    summary: 'Show help for a command or a topic',
    load: async () => (await import('./help/help.ts')).help,
  },
];
