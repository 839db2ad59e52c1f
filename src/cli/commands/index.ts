import type { CommandEntry } from '../command.ts';

/** Every command, in the order of help. A new one is a file beside this one and an entry here. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'run',
    summary: 'Run a trainer so that interruptions cost little',
    load: async () => (await import('./run.ts')).run,
  },
  {
    name: 'demo',
    summary: 'What is this for? A trainer is interrupted, bare and under holdfast run',
    load: async () => (await import('./demo.ts')).demo,
  },
  {
    name: 'verify',
    summary: 'Is this checkpoint whole, and could a run resume from it?',
    load: async () => (await import('./verify.ts')).verify,
  },
  {
    name: 'probe',
    summary: 'What lies under this path, and is it a place for checkpoints?',
    load: async () => (await import('./probe.ts')).probe,
  },
  {
    name: 'seal',
    summary: 'Make a finished checkpoint provably whole and durable',
    load: async () => (await import('./seal.ts')).seal,
  },
  {
    name: 'ls',
    summary: 'The sealed checkpoints of a run, the last good one marked',
    load: async () => (await import('./ls.ts')).ls,
  },
  {
    name: 'resume',
    summary: 'Where does the run resume?',
    load: async () => (await import('./resume.ts')).resume,
  },
  {
    name: 'prune',
    summary: 'Delete old checkpoints, never the last good one',
    load: async () => (await import('./prune.ts')).prune,
  },
  {
    name: 'pin',
    summary: 'Keep a checkpoint whatever prune is told',
    load: async () => (await import('./pin.ts')).pin,
  },
  {
    name: 'unpin',
    summary: 'Let prune decide about a checkpoint again',
    load: async () => (await import('./unpin.ts')).unpin,
  },
  {
    name: 'rollback',
    summary: 'Resume from an older checkpoint, or start fresh, without deleting',
    load: async () => (await import('./rollback.ts')).rollback,
  },
  {
    name: 'quarantine',
    summary: 'The checkpoints that were moved aside, and why',
    load: async () => (await import('./quarantine.ts')).quarantine,
  },
  {
    name: 'log',
    summary: 'What happened to the run, as a timeline',
    load: async () => (await import('./log.ts')).log,
  },
  {
    name: 'ship',
    summary: 'Copy a sealed checkpoint to S3, GCS or a folder, with proof',
    load: async () => (await import('./ship.ts')).ship,
  },
  {
    name: 'fetch',
    summary: 'Bring a shipped checkpoint back, verified on the way',
    load: async () => (await import('./fetch.ts')).fetch,
  },
  {
    name: 'explain',
    summary: 'What a code of evidence or of an error means, and what to do',
    load: async () => (await import('./explain.ts')).explain,
  },
  {
    name: 'completion',
    summary: 'Print the completion script for a shell',
    load: async () => (await import('./completion.ts')).completion,
  },
  {
    name: 'help',
    summary: 'Show help for a command or a topic',
    load: async () => (await import('./help.ts')).help,
  },
];
