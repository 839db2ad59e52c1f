import type { CommandEntry } from '../../frame/command.ts';

/** The commands below `holdfast whatif`, in the order of help. */
export const WHATIF_VERBS: readonly CommandEntry[] = [
  {
    name: 'whatif apply',
    summary: 'Whom would these pods evict, what would that cost, and what would cost less?',
    load: async () => (await import('./apply.ts')).apply,
  },
  {
    name: 'whatif drain',
    summary: 'What would a drain of these nodes stop, and where would it come back?',
    load: async () => (await import('./leave.ts')).drain,
  },
  {
    name: 'whatif reclaim',
    summary: 'What would be lost if the cloud took these Spot nodes back?',
    load: async () => (await import('./leave.ts')).reclaim,
  },
  { name: 'whatif lose', summary: 'What would be lost if these nodes went silent?', load: async () => (await import('./leave.ts')).lose },
  {
    name: 'whatif pressure',
    summary: 'In which order would the kubelet evict on a node short of memory or disk?',
    load: async () => (await import('./pressure.ts')).pressure,
  },
  { name: 'whatif audit', summary: 'The standing risks of a cluster', load: async () => (await import('./audit.ts')).audit },
  {
    name: 'whatif snapshot',
    summary: 'Print what the answers need of a cluster, without its secrets',
    load: async () => (await import('./snapshot.ts')).snapshot,
  },
];
