import type { CommandEntry } from '../../frame/command.ts';

/** The commands below `holdfast queue`, in the order of help. */
export const QUEUE_VERBS: readonly CommandEntry[] = [
  {
    name: 'queue serve',
    summary: 'Serve queues from a SQLite file or a PostgreSQL database',
    load: async () => (await import('./serve.ts')).serve,
  },
  { name: 'queue push', summary: 'Add items to a queue; present ones stay', load: async () => (await import('./push.ts')).push },
  {
    name: 'queue work',
    summary: 'Work on items with a program in any language',
    load: async () => (await import('./work.ts')).work,
  },
  { name: 'queue status', summary: 'Show progress, rate and workers of queues', load: async () => (await import('./status.ts')).status },
  { name: 'queue results', summary: 'Print the results as JSON lines', load: async () => (await import('./results.ts')).results },
  { name: 'queue wait', summary: 'Wait until every item is finished', load: async () => (await import('./wait.ts')).wait },
  {
    name: 'queue failed',
    summary: 'List the failed items, with their history',
    load: async () => (await import('./failed.ts')).failed,
  },
  { name: 'queue show', summary: 'Show one item with its history and results', load: async () => (await import('./show.ts')).show },
  {
    name: 'queue retry',
    summary: 'Retry failed items, or compute all of them again',
    load: async () => (await import('./retry.ts')).retry,
  },
  { name: 'queue cancel', summary: 'Cancel items that are not done', load: async () => (await import('./cancel.ts')).cancel },
  { name: 'queue pause', summary: 'Stop giving items to workers', load: async () => (await import('./pause.ts')).pause },
  { name: 'queue resume', summary: 'Give items to workers again after a pause', load: async () => (await import('./pause.ts')).resume },
  { name: 'queue drop', summary: 'Delete a queue with all its results', load: async () => (await import('./drop.ts')).drop },
];
