/** What pods have of a soft eviction: by itself a kubelet grants nothing. */
const SOFT_EVICTION_SECONDS = 6;

/** The configuration of a kubelet that finds its memory short. The memory is the machine's, which all nodes share: what is moved is the threshold, above all that there is. */
export const MEMORY_IS_SHORT = {
  evictionSoft: { 'memory.available': '1Pi' },
  evictionSoftGracePeriod: { 'memory.available': '1s' },
  evictionMaxPodGracePeriod: SOFT_EVICTION_SECONDS,
};
