/** The grace of a soft eviction in these tests; the kubelet's default is 0. */
const SOFT_EVICTION_SECONDS = 6;

/**
 * The configuration of a kubelet that finds its memory short. All nodes share the machine's memory,
 * so the test raises the threshold above all of it.
 */
export const MEMORY_IS_SHORT = {
  evictionSoft: { 'memory.available': '1Pi' },
  evictionSoftGracePeriod: { 'memory.available': '1s' },
  evictionMaxPodGracePeriod: SOFT_EVICTION_SECONDS,
};
