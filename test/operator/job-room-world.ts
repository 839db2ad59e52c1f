import type { ApiObject } from '../../src/kube/api/api-object.ts';
import { JOBS, PODS } from '../../src/kube/api/resources.ts';
import type { Reconciled } from '../../src/kube/control/controller.ts';
import { plainKind } from '../../src/kube/memory/stored-kind.ts';
import { at, textAt } from '../../src/kube/objects/fields.ts';
import { PYTORCH_JOB } from '../../src/operator/kinds/pytorch.ts';
import { reconcileObserved } from '../../src/operator/observed/reconcile-observed.ts';
import { valueOf } from '../kube/memory-world.ts';
import { gpus, RoomWorld } from './room-world.ts';

type Fields = Readonly<Record<string, unknown>>;
const REPORTING = ['holdfast', 'run', '--status=0.0.0.0:9400', '--', 'python', 'train.py'];
const KEY = { namespace: 'n', name: 'j' };

/** What a {@link JobRoomWorld} is made from. */
export interface JobRoomWorldOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Fields;
  readonly metadata?: Fields;
}

/**
 * A Job of Kubernetes with a pod of two GPUs in the place of the gang. The test plays the Job
 * controller, too.
 */
export class JobRoomWorld extends RoomWorld {
  #created = 0;

  constructor({ annotations = { 'holdfast.dev/may-suspend': 'true' }, spec = {}, metadata = {} }: JobRoomWorldOptions = {}) {
    super();
    valueOf(this.cluster.delete(PYTORCH_JOB.resource, KEY, {}));
    this.cluster.install(plainKind(JOBS, true));
    const containers = [{ name: 'main', image: 'i', command: REPORTING, resources: gpus(2) }];
    const template = { metadata: { labels: { app: 'train' } }, spec: { priority: 10, restartPolicy: 'Never', containers } };
    valueOf(
      this.cluster.create(JOBS, {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { ...KEY, labels: { 'holdfast.dev/run': 'j' }, annotations, ...metadata },
        spec: { ...spec, template },
      }),
    );
    this.controlJobs();
  }

  override get job(): ApiObject {
    return valueOf(this.cluster.get(JOBS, KEY));
  }

  get isSuspended(): boolean {
    return at(this.job, 'spec', 'suspend') === true;
  }

  override get marks(): readonly string[] {
    const { annotations = {} } = this.job.metadata;
    const isOwn = Object.hasOwn(annotations, 'holdfast.dev/suspended-for');
    return [...(this.isSuspended ? ['suspended'] : []), ...(isOwn ? [`for ${annotations['holdfast.dev/suspended-for']}`] : [])];
  }

  override get pods(): readonly string[] {
    return this.#own().map(({ metadata }) => `${metadata.name}${metadata.deletionTimestamp === undefined ? '' : '-'}`);
  }

  override reconcile(): Promise<Reconciled> {
    return reconcileObserved(this.world(), KEY, { signal: this.signal });
  }

  override controlJobs(): void {
    const active = this.#own().filter((pod) => !['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase') ?? ''));
    if (this.isSuspended) {
      for (const { metadata } of active) if (metadata.deletionTimestamp === undefined) this.remove(metadata.name);
    } else if (active.length === 0) this.#create();
  }

  /** A budget that lets no pod of the Job be disrupted. */
  protect(): void {
    this.budget(0, 'budget', { app: 'train' });
  }

  /** Somebody changes the Job. */
  change({ suspend, annotations = {} }: { readonly suspend?: boolean; readonly annotations?: Fields }): void {
    const { job } = this;
    const all = Object.entries({ ...job.metadata.annotations, ...annotations }).filter(([, value]) => value !== null);
    const metadata = { ...job.metadata, annotations: Object.fromEntries(all) as Readonly<Record<string, string>> };
    const spec = { ...(job['spec'] as Fields), ...(suspend === undefined ? {} : { suspend }) };
    valueOf(this.cluster.replace(JOBS, { ...job, metadata, spec }, 'rest'));
  }

  #own(): readonly ApiObject[] {
    return this.cluster.all(PODS).filter(({ metadata }) => metadata.namespace === 'n');
  }

  #create(): void {
    this.#created += 1;
    const { uid } = this.job.metadata;
    const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid, controller: true }];
    const labels = { app: 'train', 'batch.kubernetes.io/job-completion-index': '0' };
    const metadata = { name: `j-0-${this.#created}`, namespace: 'n', labels, ownerReferences };
    const template = at(this.job, 'spec', 'template', 'spec') as Fields;
    const pod = valueOf(this.cluster.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: template }));
    valueOf(this.cluster.replace(PODS, { ...pod, status: { phase: 'Pending' } }, 'status'));
  }
}
