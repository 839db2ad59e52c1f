import type { NodeKind } from './effective-grace.ts';
import type { Cause } from './notice.ts';

/** How a cloud ends its machines, and how a pod learns of it. */
export interface Cloud {
  readonly title: string;
  /** How the reclaim is announced; null: these machines are not reclaimed. */
  readonly notice: Cause | null;
  /** The node kind of the supervisor for such a node. */
  readonly kind: NodeKind | null;
  /**
   * How the pod learns of the reclaim. `kubelet`: its graceful shutdown sends SIGTERM. `drain`: a
   * handler evicts the pod at once. `metadata`: only the machine’s metadata service announces it;
   * the supervisor reads that.
   */
  readonly told: 'kubelet' | 'drain' | 'metadata';
  /** The longest life of such a machine; null: unbounded. */
  readonly lifeHours: number | null;
  readonly note: string;
}

/** The values of `--on`. */
export const CLOUDS = {
  'gke-spot': {
    title: 'GKE Spot',
    notice: 'gcp-preempted',
    kind: 'gke-spot',
    told: 'kubelet',
    lifeHours: null,
    note: 'the 30s notice gives user pods 15s and system pods 15s; from control plane 1.35.0-gke.1171000 on, it can be set to 120s in total',
  },
  'gke-preemptible': {
    title: 'GKE preemptible',
    notice: 'gcp-preempted',
    kind: 'gke-spot',
    told: 'kubelet',
    lifeHours: 24,
    note: 'like GKE Spot, and a machine lives at most 24 hours',
  },
  'gke-flex-start': {
    title: 'GKE flex start',
    notice: null,
    kind: 'gke-spot',
    told: 'kubelet',
    lifeHours: 7 * 24,
    note: 'the machine lives at most seven days; its notice was not measured, and is assumed to be as on GKE Spot',
  },
  'gce-spot': {
    title: 'Google Cloud Spot machine',
    notice: 'gcp-preempted',
    kind: 'gce-spot',
    told: 'metadata',
    lifeHours: null,
    note: 'the metadata service announces the cut 30s before; a kubelet without shutdownGracePeriod sends its pods no SIGTERM',
  },
  'ec2-spot': {
    title: 'EC2 Spot with a node termination handler',
    notice: 'aws-spot',
    kind: 'ec2-spot',
    told: 'drain',
    lifeHours: null,
    note: 'the handler evicts the pods with their own grace as soon as it sees the notice, 120s before the machine is gone',
  },
  'ec2-spot-unhandled': {
    title: 'EC2 Spot without a handler',
    notice: 'aws-spot',
    kind: 'ec2-spot',
    told: 'metadata',
    lifeHours: null,
    note: 'nothing in Kubernetes reads the notice, which the metadata service gives 120s before the machine is gone',
  },
  'azure-spot': {
    title: 'Azure Spot',
    notice: 'azure-preempt',
    kind: 'azure-spot',
    told: 'drain',
    lifeHours: null,
    note: 'scheduled events announce it at least 30s before (best effort), less the time for detection',
  },
} as const satisfies Readonly<Record<string, Cloud>>;

/** The name of a cloud in {@link CLOUDS}. */
export type CloudName = keyof typeof CLOUDS;
