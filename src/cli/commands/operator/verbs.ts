import type { CommandEntry } from '../../frame/command.ts';

/** The commands below `holdfast operator`, in the order of help. */
export const OPERATOR_VERBS: readonly CommandEntry[] = [
  {
    name: 'operator run',
    summary: 'Run PyTorchJobs and TFJobs as gangs, from here or in the cluster',
    load: async () => (await import('./run.ts')).run,
  },
  {
    name: 'operator install',
    summary: 'Print the manifests that run the operator in the cluster',
    load: async () => (await import('./install.ts')).install,
  },
  {
    name: 'operator uninstall',
    summary: 'Print what to delete so that the operator is gone and jobs stay',
    load: async () => (await import('./uninstall.ts')).uninstall,
  },
];
