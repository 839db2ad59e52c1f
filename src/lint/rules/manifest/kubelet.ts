import type { ObjectRule } from '../../engine/rule.ts';
import { boolean, entryOf, get, spanAt, textAt } from '../../manifest/yaml-node.ts';

const KUBELET = (settings: string): string => `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
${settings}
`;

/** A soft threshold without a grace of its own is as short as a hard one. */
export const softEvictionWithoutGrace: ObjectRule = {
  code: 'SOFT_EVICTION_WITHOUT_GRACE',
  readsFragments: true,
  severity: 'warning',
  on: 'object',
  title: 'Soft evictions leave pods two seconds',
  why: 'A soft eviction gives a pod its grace, but at most `evictionMaxPodGracePeriod`, which is 0 by default. The kubelet then waits two seconds before SIGKILL, as for a hard eviction, whatever terminationGracePeriodSeconds says.',
  fix: 'Set evictionMaxPodGracePeriod to the seconds that a save takes.',
  bad: { manifest: KUBELET('evictionSoft: { memory.available: 1Gi }\nevictionSoftGracePeriod: { memory.available: 1m }') },
  good: {
    manifest: KUBELET(
      'evictionSoft: { memory.available: 1Gi }\nevictionSoftGracePeriod: { memory.available: 1m }\nevictionMaxPodGracePeriod: 120',
    ),
  },
  check({ kind, root }) {
    if (kind !== 'KubeletConfiguration' || get(root, 'evictionSoft') === null) return [];
    const most = textAt(root, 'evictionMaxPodGracePeriod');
    if (most !== null && Number(most) > 0) return [];
    const said = most === null ? 'evictionMaxPodGracePeriod is not set' : `evictionMaxPodGracePeriod is ${most}`;
    const at = spanAt(root, most === null ? 'evictionSoft' : 'evictionMaxPodGracePeriod');
    return [{ at, message: `${said}: a soft eviction leaves a pod two seconds, whatever grace it asks for.` }];
  },
};

/** The defaults of a kubelet on Linux. */
const DEFAULTS = ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree'];

/** Thresholds replace the defaults; they are not added to them. */
export const evictionDropsDefaults: ObjectRule = {
  code: 'EVICTION_DROPS_DEFAULTS',
  readsFragments: true,
  severity: 'warning',
  on: 'object',
  title: 'evictionHard removes the default thresholds that it does not name',
  why: 'A kubelet with any threshold in `evictionHard` loses its default thresholds. Without one for memory, the kernel kills processes instead, with no grace. Without one for the disk, every write on a full node fails, saves included.',
  fix: 'Name all thresholds, or set mergeDefaultEvictionSettings: true.',
  bad: { manifest: KUBELET('evictionHard: { memory.available: 1Gi }') },
  good: { manifest: KUBELET('evictionHard: { memory.available: 1Gi }\nmergeDefaultEvictionSettings: true') },
  check({ kind, root }) {
    const hard = get(root, 'evictionHard');
    if (kind !== 'KubeletConfiguration' || hard?.kind !== 'map' || boolean(get(root, 'mergeDefaultEvictionSettings')) === true) return [];
    const dropped = DEFAULTS.filter((signal) => entryOf(hard, signal) === null);
    if (dropped.length === 0) return [];
    return [{ at: spanAt(root, 'evictionHard'), message: `The kubelet loses its threshold for ${dropped.join(', ')}.` }];
  },
};
