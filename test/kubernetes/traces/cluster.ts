import type { ClusterOptions } from '../cluster/options.ts';

/** Room for many scenarios at a time; how full an emptyDir is a kubelet looks only once a minute by itself. */
const NODE = { diskMiB: 2048, kubelet: { volumeStatsAggPeriod: '2s' } };
/** For scenarios about taints, which those on the other nodes must not meet. */
const LEAVING = {
  ...NODE,
  labels: { 'holdfast.test/place': 'leaving' },
  taints: [{ key: 'holdfast.test/leaving', effect: 'NoExecute' }],
} as const;

/** Where scenarios are played. */
export const TRACE_CLUSTER: ClusterOptions = { nodes: [NODE, NODE, LEAVING] };
