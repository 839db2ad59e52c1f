import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import { type ApiObject, controllerReference, type ObjectKey, type OwnerReference } from '../../kube/api/api-object.ts';
import { keyOf } from '../../kube/api/api-object.ts';
import type { KubeApi } from '../../kube/api/kube-api.ts';
import type { Failure } from '../../kube/api/outcome.ts';
import { JOBS, NODES, PODS, SERVICES } from '../../kube/api/resources.ts';
import { type Resource, resourceName } from '../../kube/api/resource.ts';
import { textAt } from '../../kube/objects/fields.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import { type IndexOf, Store, type StoreChange } from '../../kube/watch/store.ts';
import type { JobKind } from '../kinds/kind.ts';
import { JOB_KINDS, kindNamed } from '../kinds/table.ts';
import { RUN_LABEL } from '../observed/observed-job.ts';
import { byOwner, byRoom, bySubject, OWNER_INDEX, type OperatorStores, ROOM_INDEX, SUBJECT_INDEX } from '../reconcile/world.ts';
import { runName, subjectOf, TRAINING_RUNS } from '../training-run/training-run.ts';
import { jobTurn, observedTurn, ROOM_TURN, runTurn } from './job-keys.ts';
import { nodeState, podTrimmer, trimNode, trimService, untrimmed } from './trim.ts';

/** What a mirror is made from. */
export interface MirrorOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly rng: Rng;
  /** Null: all namespaces. */
  readonly namespace: string | null;
  /** Hears which turn of the work queue a change calls for. */
  readonly onTurn: (turn: string) => void;
  /** Hears of every change of a TrainingRun. */
  readonly onRun: (change: StoreChange) => void;
  readonly onTrouble: (trouble: Failure | Error) => void;
}

/** What of a kind is kept. */
interface Kept {
  readonly trim: (object: ApiObject) => ApiObject;
  /** Absent: all objects. */
  readonly labelSelector?: string;
}

/** Lists pods under the name of their node. */
const NODE_INDEX = 'node';
const byNode: IndexOf = (pod) => {
  const node = textAt(pod, 'spec', 'nodeName');
  return node === null ? [] : [node];
};
/** How often it looks for kinds that turn out to be missing; what is read is noticed at once. */
const LOOK_AGAIN_MS = 500;

/**
 * The operator's view of the cluster: a store for each kind, which its watch keeps up to date, and
 * the turns of the work queue that every change calls for.
 */
export class Mirror {
  readonly stores: OperatorStores;
  readonly #options: MirrorOptions;
  readonly #reflectors: readonly Reflector[];
  readonly #pods: Store;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#pods = new Store({ [OWNER_INDEX]: byOwner, [NODE_INDEX]: byNode, [ROOM_INDEX]: byRoom });
    const [services, nodes, runs] = [new Store({ [OWNER_INDEX]: byOwner }), new Store(), new Store({ [SUBJECT_INDEX]: bySubject })];
    const jobs = new Map(JOB_KINDS.map((kind) => [kind, new Store()]));
    const observed = new Store();
    this.stores = { jobs, observed, runs, pods: this.#pods, services, nodes };
    this.#reflectors = [
      ...[...jobs].map(([kind, store]) =>
        this.#reflect(kind.resource, store, (change) => this.#jobChanged(kind, change), { trim: untrimmed }),
      ),
      this.#reflect(JOBS, observed, (change) => this.#observedChanged(change), { trim: untrimmed, labelSelector: RUN_LABEL }),
      this.#reflect(TRAINING_RUNS, runs, (change) => this.#runChanged(change), { trim: untrimmed }),
      this.#reflect(PODS, this.#pods, (change) => this.#podChanged(change), { trim: podTrimmer() }),
      this.#reflect(SERVICES, services, (change) => this.#ownedChanged(change), { trim: trimService }),
      this.#reflect(NODES, nodes, (change) => this.#nodeChanged(change), { trim: trimNode }),
    ];
  }

  /** Mirrors until the signal ends it. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await Promise.allSettled(this.#reflectors.map((reflector) => reflector.run({ signal })));
  }

  /** The kinds that were never read, each with the reason if one is known. */
  missing(): readonly { readonly name: string; readonly reason: string | null }[] {
    return this.#reflectors
      .filter((reflector) => !isUsable(reflector))
      .map(({ resource, failure }) => ({ name: resourceName(resource), reason: failure?.message ?? null }));
  }

  /** Waits until everything was read once that jobs cannot do without. */
  async ready({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    while (this.missing().length > 0) {
      const all = new AbortController();
      const pause = this.#options.clock.sleep(LOOK_AGAIN_MS, { signal: AbortSignal.any([signal, all.signal]) }).catch(() => undefined);
      const unread = this.#reflectors.filter((reflector) => !isUsable(reflector));
      await Promise.race([pause, Promise.all(unread.map(({ synced }) => synced))]);
      all.abort(new Error('everything was read'));
      await pause;
      signal.throwIfAborted();
    }
  }

  /** A turn for every job and every TrainingRun. */
  allTurns(): readonly string[] {
    const jobs = [...this.stores.jobs].flatMap(([kind, store]) => [...store.all()].map((job) => jobTurn(kind, keyOf(job))));
    const observed = [...this.stores.observed.all()].map((job) => observedTurn(keyOf(job)));
    return [...jobs, ...observed, ...[...this.stores.runs.all()].map((run) => runTurn(keyOf(run)))];
  }

  #reflect(resource: Resource, store: Store, onChange: (change: StoreChange) => void, { trim, labelSelector = '' }: Kept): Reflector {
    const { api, clock, rng, namespace, onTrouble } = this.#options;
    const selection = { namespace: resource.isNamespaced ? namespace : null, labelSelector };
    return new Reflector({ api, resource, selection, store, trim, onChange, onTrouble, clock, rng: rng.fork(resource.plural) });
  }

  #jobChanged(kind: JobKind, { before, after }: StoreChange): void {
    const { onTurn } = this.#options;
    if (after !== null) onTurn(jobTurn(kind, keyOf(after)));
    if (before === null || before.metadata.uid === after?.metadata.uid) return;
    const { name, uid, namespace = null } = before.metadata;
    onTurn(runTurn({ namespace, name: runName({ name, uid }) }));
  }

  #observedChanged({ before, after }: StoreChange): void {
    const { onTurn } = this.#options;
    if (after !== null) onTurn(observedTurn(keyOf(after)));
    if (before === null || before.metadata.uid === after?.metadata.uid) return;
    for (const run of this.stores.runs.by(SUBJECT_INDEX, before.metadata.uid)) onTurn(runTurn(keyOf(run)));
  }

  #runChanged(change: StoreChange): void {
    const { before, after } = change;
    this.#options.onRun(change);
    const run = after ?? before;
    const subject = run === null ? null : subjectOf(run);
    const namespace = run?.metadata.namespace ?? null;
    const turn = subject === null ? null : turnOf(subject.kind, { namespace, name: subject.name });
    if (run === null || turn === null) return;
    this.#options.onTurn(turn);
    this.#options.onTurn(runTurn(keyOf(run)));
  }

  #podChanged(change: StoreChange): void {
    this.#ownedChanged(change);
    if ([change.before, change.after].some((pod) => pod !== null && byRoom(pod).length > 0)) this.#options.onTurn(ROOM_TURN);
  }

  #ownedChanged({ before, after }: StoreChange): void {
    for (const object of [before, after]) if (object !== null) this.#ownerTurn(object, controllerReference(object));
  }

  #ownerTurn({ metadata }: ApiObject, owner: OwnerReference | null): void {
    const key = { namespace: metadata.namespace ?? null, name: owner?.name ?? '' };
    const turn = owner === null ? null : turnOf(owner.kind, key);
    // Most pods of Jobs belong to no run.
    if (turn !== null && (owner?.kind !== JOBS.kind || this.stores.observed.get(key) !== null)) this.#options.onTurn(turn);
  }

  #nodeChanged({ before, after }: StoreChange): void {
    if (nodeState(before) === nodeState(after)) return;
    const name = (after ?? before)?.metadata.name ?? '';
    for (const pod of this.#pods.by(NODE_INDEX, name)) this.#ownerTurn(pod, controllerReference(pod));
  }
}

/** The turn of the owner of a pod, a Service or a TrainingRun; null: it is none of ours. */
function turnOf(kindName: string, key: ObjectKey): string | null {
  const kind = kindNamed(kindName);
  if (kind !== null) return jobTurn(kind, key);
  return kindName === JOBS.kind ? observedTurn(key) : null;
}

/**
 * Whether the operator can work with what a reflector has. A kind of job that is not installed has
 * no jobs, and without permission for nodes their loss is seen on the pods alone. Without
 * permission for Jobs, none is observed.
 */
function isUsable({ resource, hasSynced, failure }: Reflector): boolean {
  if (hasSynced) return true;
  if (resource === NODES || resource === JOBS) return failure?.kind === 'forbidden';
  return kindNamed(resource.kind) !== null && failure?.kind === 'notFound';
}
