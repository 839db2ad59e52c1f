import type { ClusterOptions } from '../cluster/options.ts';

/** Room for many scenarios at a time; how full an emptyDir is a kubelet looks only once a minute by itself. */
const NODE = { diskMiB: 2048, kubelet: { volumeStatsAggPeriod: '2s' } };

/** Where scenarios are played. */
export const TRACE_CLUSTER: ClusterOptions = { nodes: [NODE, NODE] };
