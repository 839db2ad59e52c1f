import type { CommandEntry } from '../command.ts';

/** Every command, in the order of help. A new one is a file beside this one and an entry here. */
export const COMMANDS: readonly CommandEntry[] = [
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
