import { toError } from '../../../src/core/errors.ts';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { JOBS, NODES, PODS } from './objects.ts';

const EVENTS = '/api/v1/namespaces/default/events';
const LAST_EVENTS = 60;
const LAST_LINES = 15;

/**
 * Runs the work. An error carries the cluster's state at that moment, because the cluster is gone
 * later.
 */
export async function tellingState<Value>(cluster: Cluster, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (thrown) {
    const { message } = toError(thrown);
    throw new Error(`${message}\n\n${await stateOf(cluster)}`, { cause: thrown });
  }
}

async function stateOf(cluster: Cluster): Promise<string> {
  const parts = [part(cluster, NODES, nodeLine), part(cluster, JOBS, jobLine), podLines(cluster), eventLines(cluster)];
  return (await Promise.all(parts.map((each) => each.catch((thrown: unknown) => `cannot be told: ${String(thrown)}`)))).join('\n\n');
}

async function part(cluster: Cluster, path: string, line: (object: KubeObject) => string): Promise<string> {
  return [path, ...(await cluster.api.list(path)).map(line)].join('\n');
}

function nodeLine({ metadata, spec, status }: KubeObject): string {
  const conditions = (status?.conditions ?? []) as readonly { readonly type: string; readonly status: string }[];
  const told = conditions.map((condition) => `${condition.type}=${condition.status}`).join(' ');
  return `  ${metadata.name} ${told} ${JSON.stringify({ ...spec, allocatable: status?.allocatable })}`;
}

function jobLine({ metadata, spec, status }: KubeObject): string {
  return `  ${metadata.name} ${JSON.stringify({ deletion: metadata.deletionTimestamp, suspend: spec?.suspend, status })}`;
}

async function podLines(cluster: Cluster): Promise<string> {
  const pods = await cluster.api.list(PODS);
  const lines = pods.map(async ({ metadata, spec, status }) => {
    const { name, deletionTimestamp: deletion, finalizers } = metadata;
    const { phase, reason, message, conditions, containerStatuses } = status ?? {};
    const told = { node: spec?.nodeName, deletion, finalizers, phase, reason, message, conditions, containerStatuses };
    const log = (await cluster.api.text(`${PODS}/${name}/log?tailLines=${LAST_LINES}`)) ?? '';
    return [`  ${name} ${JSON.stringify(told)}`, ...log.split('\n').map((text) => `    | ${text}`)].join('\n');
  });
  return [PODS, ...(await Promise.all(lines))].join('\n');
}

async function eventLines(cluster: Cluster): Promise<string> {
  const events = (await cluster.api.list(EVENTS)) as readonly (KubeObject & Readonly<Record<string, unknown>>)[];
  const lines = events.map((event) => {
    const { name } = event['involvedObject'] as { readonly name: string };
    return `  ${String(event['lastTimestamp'] ?? event['eventTime'])} ${name} ${String(event['reason'])}: ${String(event['message'])}`;
  });
  return [EVENTS, ...lines.sort().slice(-LAST_EVENTS)].join('\n');
}
