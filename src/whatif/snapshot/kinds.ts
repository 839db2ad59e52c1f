import { OWN_GROUP } from './cluster-snapshot.ts';

/** A kind that an answer needs, and the paths where it may be served. */
export interface SnapshotKind {
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
  /** Group and version, the newest first; the first one that is served is read. */
  readonly groups: readonly string[];
  /** What cannot be answered without it; null: every question needs it. */
  readonly without: string | null;
}

/** How the path of a kind differs from what is usual. */
interface Path {
  readonly isNamespaced?: boolean;
  readonly plural?: string;
}

function kind(name: string, groups: string | readonly string[], without: string | null, path: Path = {}): SnapshotKind {
  const { isNamespaced = true, plural = `${name.toLowerCase()}s` } = path;
  return { kind: name, plural, isNamespaced, groups: typeof groups === 'string' ? [groups] : groups, without };
}

const RUNS = 'unsaved work is unknown, unless a pod’s annotations show it';
const gangsOf = (name: string): string => `pods of a ${name} count one by one, not as a gang`;

/** What a snapshot holds, in the order in which it is read. */
export const SNAPSHOT_KINDS: readonly SnapshotKind[] = [
  kind('Node', 'api/v1', null, { isNamespaced: false }),
  kind('Namespace', 'api/v1', 'affinity terms that select namespaces by label match no namespace', { isNamespaced: false }),
  kind('Pod', 'api/v1', null),
  kind('PriorityClass', 'apis/scheduling.k8s.io/v1', 'a manifest that names a class has priority 0', {
    isNamespaced: false,
    plural: 'priorityclasses',
  }),
  kind('PodDisruptionBudget', 'apis/policy/v1', 'no budget counts: violations and blocked drains are unknown'),
  kind('PersistentVolume', 'api/v1', 'volumes do not bind a pod to nodes', { isNamespaced: false }),
  kind('PersistentVolumeClaim', 'api/v1', 'volumes do not bind a pod to nodes'),
  kind('StorageClass', 'apis/storage.k8s.io/v1', 'it is unknown whether a claim binds late', {
    isNamespaced: false,
    plural: 'storageclasses',
  }),
  kind('CSINode', 'apis/storage.k8s.io/v1', 'limits on attached volumes do not count', { isNamespaced: false }),
  kind('Service', 'api/v1', 'the default spreading of pods is scored without it'),
  kind('ReplicaSet', 'apis/apps/v1', 'the default spreading of pods is scored without it'),
  kind('StatefulSet', 'apis/apps/v1', 'the default spreading of pods is scored without it'),
  kind('DaemonSet', 'apis/apps/v1', 'pods of a DaemonSet are told from others by their owner alone'),
  kind('Job', 'apis/batch/v1', gangsOf('Job')),
  kind('PyTorchJob', 'apis/kubeflow.org/v1', gangsOf('PyTorchJob')),
  kind('TFJob', 'apis/kubeflow.org/v1', gangsOf('TFJob')),
  kind('JobSet', 'apis/jobset.x-k8s.io/v1alpha2', gangsOf('JobSet')),
  kind('LeaderWorkerSet', 'apis/leaderworkerset.x-k8s.io/v1', gangsOf('LeaderWorkerSet')),
  kind('RayJob', ['apis/ray.io/v1', 'apis/ray.io/v1alpha1'], gangsOf('RayJob')),
  kind('RayCluster', ['apis/ray.io/v1', 'apis/ray.io/v1alpha1'], gangsOf('RayJob')),
  kind('TrainingRun', `apis/${OWN_GROUP}/v1alpha1`, RUNS),
  kind(
    'PodGroup',
    ['apis/scheduling.k8s.io/v1beta1', 'apis/scheduling.k8s.io/v1alpha3', 'apis/scheduling.k8s.io/v1alpha2'],
    gangsOf('PodGroup of Kubernetes'),
  ),
  kind('PodGroup', 'apis/scheduling.volcano.sh/v1beta1', gangsOf('PodGroup of Volcano')),
  kind('PodGroup', 'apis/scheduling.x-k8s.io/v1alpha1', gangsOf('PodGroup of scheduler-plugins')),
];
