/** The options of torchrun (torch.distributed.run), with dashes; underscores are taken as well. */
const TORCHRUN_FLAGS: ReadonlySet<string> = new Set([
  'nnodes',
  'nproc-per-node',
  'rdzv-backend',
  'rdzv-endpoint',
  'rdzv-id',
  'rdzv-conf',
  'standalone',
  'max-restarts',
  'monitor-interval',
  'start-method',
  'event-log-handler',
  'role',
  'm',
  'module',
  'no-python',
  'run-path',
  'log-dir',
  'r',
  'redirects',
  't',
  'tee',
  'local-ranks-filter',
  'node-rank',
  'master-addr',
  'master-port',
  'local-addr',
  'logs-specs',
  'numa-binding',
  'signals-to-handle',
  'duplicate-stdout-filters',
  'duplicate-stderr-filters',
  'virtual-local-rank',
  'shutdown-timeout',
  'use-env',
  'use-agent-store',
  'h',
  'help',
]);

/** torchrun has this option; argparse also takes the beginning of a long one. */
export function isTorchrunFlag(name: string): boolean {
  return TORCHRUN_FLAGS.has(name) || (name.length > 1 && [...TORCHRUN_FLAGS].some((flag) => flag.startsWith(name)));
}

const MEANT: Readonly<Record<string, string>> = {
  'min-nodes': '--nnodes=MIN:MAX',
  'max-nodes': '--nnodes=MIN:MAX',
  nodes: '--nnodes',
  'num-nodes': '--nnodes',
  'nproc-per-nodes': '--nproc-per-node',
  'num-processes': '--nproc-per-node',
  'rdzv-port': '--rdzv-endpoint=HOST:PORT',
  'rendezvous-backend': '--rdzv-backend',
};

/** What somebody who wrote this flag may have meant, as a clause for a message. */
export function didYouMeanFlag(name: string): string {
  const meant = MEANT[name];
  return meant === undefined ? '' : ` (it is ${meant})`;
}
