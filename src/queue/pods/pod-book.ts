import { type PodEnd, podEnd, type PodFacts } from '../../domain/queue/pod-end.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { trueCondition } from '../../kube/objects/condition.ts';
import { nodeOf } from '../../kube/objects/node.ts';
import { type KubeObject, objectOf } from '../../kube/objects/object.ts';
import { podOf } from '../../kube/objects/pod.ts';
import type { StoreChange } from '../../kube/watch/store.ts';

/** An end of a pod that was not reported yet. */
export interface PodNews {
  readonly uid: string;
  readonly pod: string;
  readonly end: PodEnd;
}

interface KnownPod {
  readonly name: string;
  readonly node: string | null;
  readonly facts: Omit<PodFacts, 'isNodeLost'>;
  readonly isRemoved: boolean;
  /** The end that was reported last. */
  readonly told: PodEnd | null;
}

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/** What pods and nodes mean for the leases of workers, and which of it is still to be reported. */
export class PodBook {
  readonly #pods = new Map<string, KnownPod>();
  /** By name: whether the node is lost. A deleted node stays, as lost, while a pod names it. */
  readonly #nodes = new Map<string, boolean>();

  notePod({ before, after }: StoreChange): void {
    if (after !== null) this.#put(after);
    if (before !== null && before.metadata.uid !== after?.metadata.uid) this.#remove(before.metadata.uid);
  }

  noteNode({ before, after }: StoreChange): void {
    const name = (after ?? before)?.metadata.name ?? '';
    this.#nodes.set(name, after === null || isLost(kubeObject(after)));
  }

  /** The ends to report. Each is reported again until {@link noteTold} is called with it. */
  news(): readonly PodNews[] {
    return [...this.#pods].flatMap(([uid, { name, node, facts, told }]) => {
      const end = podEnd({ ...facts, isNodeLost: node !== null && this.#nodes.get(node) === true });
      return end === null || (end.notice === told?.notice && end.isGone === told.isGone) ? [] : [{ uid, pod: name, end }];
    });
  }

  noteTold({ uid, end }: PodNews): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    if (pod.isRemoved && end.isGone) this.#pods.delete(uid);
    else this.#pods.set(uid, { ...pod, told: end });
  }

  /** Forgets lost nodes that no pod names any more. */
  tidy(): void {
    const used = new Set([...this.#pods.values()].map(({ node }) => node));
    for (const [name, isGone] of this.#nodes) if (isGone && !used.has(name)) this.#nodes.delete(name);
  }

  #put(object: ApiObject): void {
    const { uid } = object.metadata;
    this.#pods.set(uid, { ...knownPod(kubeObject(object)), isRemoved: false, told: this.#pods.get(uid)?.told ?? null });
  }

  #remove(uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    if (pod.facts.hasEnded && pod.told?.isGone === true) this.#pods.delete(uid);
    // What ended before was not ended by its removal.
    else if (pod.facts.hasEnded) this.#pods.set(uid, { ...pod, isRemoved: true });
    else this.#pods.set(uid, { ...pod, isRemoved: true, facts: { ...pod.facts, isDeleting: true, hasEnded: true } });
  }
}

function kubeObject(object: ApiObject): KubeObject {
  const read = objectOf(object);
  if (read === null) throw new TypeError(`${object.kind} without a name`);
  return read;
}

function knownPod(object: KubeObject): Pick<KnownPod, 'name' | 'node' | 'facts'> {
  const { phase, reason, conditions, spec, containers } = podOf(object);
  const hasEnded = phase === 'Succeeded' || phase === 'Failed';
  const { deletionMs, deletionGraceSeconds } = object;
  const askedMs = deletionMs === null ? null : deletionMs - 1000 * (deletionGraceSeconds ?? 0);
  const finishedMs = Math.max(...containers.map(({ terminated }) => terminated?.finishedMs ?? Infinity));
  // A pod that was deleted after its end did not end because of it.
  const isDeleting = askedMs !== null && !(hasEnded && finishedMs < askedMs);
  const disruption = trueCondition(conditions, 'DisruptionTarget');
  return {
    name: object.name,
    node: spec.nodeName,
    facts: { disruption: disruption === null ? null : (disruption.reason ?? 'unknown'), isDeleting, hasEnded, reason },
  };
}

function isLost(object: KubeObject): boolean {
  const { conditions, taints } = nodeOf(object);
  return (
    conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown') || taints.some(({ key }) => key === OUT_OF_SERVICE)
  );
}
