import { parseDuration } from '../../core/duration.ts';
import type { KubeletGrace } from '../../domain/grace/pod-grace.ts';
import { at, listAt, numberAt, textAt } from './fields.ts';

/** The grace settings in a KubeletConfiguration: a file, or the answer of a node’s `configz`. */
export function kubeletSettings(value: unknown): KubeletGrace | null {
  const config = at(value, 'kubeletconfig') ?? value;
  const isOne = textAt(value, 'kind') === 'KubeletConfiguration' || at(value, 'kubeletconfig') !== undefined;
  if (!isOne) return null;
  return {
    shutdownSeconds: seconds(textAt(config, 'shutdownGracePeriod')),
    shutdownCriticalSeconds: seconds(textAt(config, 'shutdownGracePeriodCriticalPods')),
    evictionMaxPodSeconds: numberAt(config, 'evictionMaxPodGracePeriod'),
    shutdownGroups: listAt(config, 'shutdownGracePeriodByPodPriority').map((group) => ({
      priority: numberAt(group, 'priority') ?? 0,
      seconds: numberAt(group, 'shutdownGracePeriodSeconds') ?? 0,
    })),
  };
}

/** Go writes `1m30s` and `0s`. */
function seconds(text: string | null): number | null {
  if (text === null || text === '0') return text === null ? null : 0;
  const duration = parseDuration(text);
  return duration.ok ? duration.value / 1000 : null;
}
