import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import { ClusterState } from '../objects/cluster-state.ts';
import type { DumpProblem } from '../objects/dump-limits.ts';
import { textAt } from '../objects/fields.ts';
import type { KubeObject } from '../objects/object.ts';
import type { Connection } from './connection.ts';
import { jsonOf } from './decode.ts';
import { type ListedKind, listObjects } from './list-objects.ts';

/** A kind to read. */
interface Resource extends ListedKind {
  /** Whether the command cannot answer without it. */
  readonly isNeeded: boolean;
}

const POD: Resource = { kind: 'Pod', group: 'api/v1', plural: 'pods', isNamespaced: true, isNeeded: true };
const EVENT: Resource = { kind: 'Event', group: 'api/v1', plural: 'events', isNamespaced: true, isNeeded: false };
const OWN_GROUP = 'holdfast.dev';
/** The kinds that the answers need. Kinds that are not installed are skipped silently. */
const RESOURCES: readonly Resource[] = [
  POD,
  EVENT,
  { kind: 'Job', group: 'apis/batch/v1', plural: 'jobs', isNamespaced: true, isNeeded: false },
  { kind: 'Node', group: 'api/v1', plural: 'nodes', isNamespaced: false, isNeeded: false },
  { kind: 'CronJob', group: 'apis/batch/v1', plural: 'cronjobs', isNamespaced: true, isNeeded: false },
  { kind: 'PyTorchJob', group: 'apis/kubeflow.org/v1', plural: 'pytorchjobs', isNamespaced: true, isNeeded: false },
  { kind: 'TFJob', group: 'apis/kubeflow.org/v1', plural: 'tfjobs', isNamespaced: true, isNeeded: false },
  { kind: 'TrainingRun', group: `apis/${OWN_GROUP}/v1alpha1`, plural: 'trainingruns', isNamespaced: true, isNeeded: false },
  { kind: 'JobSet', group: 'apis/jobset.x-k8s.io/v1alpha2', plural: 'jobsets', isNamespaced: true, isNeeded: false },
];
const MOST_OBJECTS = 300_000;

/** The objects of a cluster, and the parts without permission. */
export interface ReadCluster {
  readonly state: ClusterState;
  readonly problems: readonly DumpProblem[];
}

/**
 * Reads the objects that the answers need, of one namespace, or of all if it is null. Nodes and
 * their events belong to the whole cluster.
 */
export async function readCluster(connection: Connection, namespace: string | null): Promise<ReadCluster> {
  const objects: KubeObject[] = [];
  const problems: DumpProblem[] = [];
  const unread = new Set<string>();
  for (const resource of RESOURCES) {
    const before = objects.length;
    const onPage = (page: readonly KubeObject[]): boolean => {
      for (const object of page) objects.push(object);
      return objects.length - before < MOST_OBJECTS;
    };
    const listed = await listObjects(connection, resource, { namespace, onPage });
    if (listed.outcome === 'listed') continue;
    unread.add(resource.kind);
    if (listed.outcome === 'forbidden') problems.push(withoutIt(resource, namespace, listed.message));
  }
  // Events about nodes are in the default namespace.
  if (namespace !== null && namespace !== 'default') {
    const fieldSelector = 'involvedObject.kind=Node';
    const onPage = (page: readonly KubeObject[]): boolean => objects.push(...page) < MOST_OBJECTS;
    await listObjects(connection, EVENT, { namespace: 'default', fieldSelector, onPage });
  }
  return { state: new ClusterState(objects, { unread, marksDisruptions: await marksDisruptions(connection) }), problems };
}

/** Kubernetes 1.26 was the first release that sets the condition DisruptionTarget by default. */
const FIRST_MINOR = 26;

/**
 * Whether the API server is new enough to mark each pod that it evicts; false if it does not say.
 */
async function marksDisruptions(connection: Connection): Promise<boolean> {
  const { status, body } = await connection.get('/version');
  const version = status === 200 ? jsonOf(body) : null;
  const [major, minor] = [textAt(version, 'major'), textAt(version, 'minor')].map((text) => Number.parseInt(text ?? '', 10));
  return (major ?? 0) > 1 || (major === 1 && (minor ?? 0) >= FIRST_MINOR);
}

/** The settings of a node’s kubelet, if its configz is readable; null otherwise. */
export async function readKubelet(connection: Connection, node: string): Promise<unknown> {
  const { status, body } = await connection.get(`/api/v1/nodes/${encodeURIComponent(node)}/proxy/configz`);
  return status === 200 ? (jsonOf(body) ?? null) : null;
}

/** The problem of a kind that may not be listed; an error if nothing can be answered without it. */
function withoutIt({ plural, isNamespaced, isNeeded }: Resource, namespace: string | null, message: string): DumpProblem {
  if (isNeeded) throw forbidden(plural, namespace, message);
  const reason = `may not ${allowance(plural, isNamespaced ? namespace : null)}: the answer goes without`;
  return { source: `list ${plural}`, line: null, column: null, reason };
}

function allowance(plural: string, namespace: string | null): string {
  return `list ${plural} ${namespace === null ? 'in the cluster' : `in the namespace ${printable(namespace)}`}`;
}

function forbidden(plural: string, namespace: string | null, message: string): HoldfastError {
  return new HoldfastError('CLUSTER_FORBIDDEN', {
    message: `the user of the kubeconfig may not ${allowance(plural, namespace)}: ${excerpt(message, 200)}`,
    hint: `\`kubectl auth can-i list ${plural}\` asks the same. Holdfast needs get and list on pods, events, jobs and nodes.`,
  });
}
