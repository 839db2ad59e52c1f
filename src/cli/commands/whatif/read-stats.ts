import { HoldfastError, systemCode } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import { readRegularFile } from '../../../core/read-regular.ts';
import type { Connection } from '../../../kube/client/connection.ts';
import type { Short } from '../../../whatif/nodes/pressure.ts';
import { type NodeStats, statsOfMetrics, statsOfSummary } from '../../../whatif/nodes/stats.ts';

/** Where the usage on a node may be read from. */
export interface StatsSource {
  readonly file: string | null;
  readonly isProxyAllowed: boolean;
  readonly node: string;
  readonly resource: Short;
  readonly connection: Connection | null;
}

const MOST_BYTES = 64 * 1024 * 1024;

/** The usage, or what is missing to know it. */
export async function readStats(source: StatsSource): Promise<NodeStats | { readonly missing: readonly string[] }> {
  const { file, isProxyAllowed, node, resource, connection } = source;
  if (file !== null) return fromFile(file, resource);
  const missing: string[] = [];
  if (connection === null) return { missing: ['a snapshot has no usage: give --stats=FILE'] };
  if (isProxyAllowed) {
    const { status, value } = await ask(connection, `/api/v1/nodes/${encodeURIComponent(node)}/proxy/stats/summary`);
    const stats = statsOfSummary(value, 'the kubelet’s summary');
    if (stats !== null) return stats;
    missing.push(`the kubelet’s summary: the API server answered ${status}`);
  } else missing.push('the kubelet’s summary: --node-proxy was not given');
  if (resource === 'disk') return { missing: [...missing, 'metrics.k8s.io has no numbers about disks'] };
  const { status, value } = await ask(connection, '/apis/metrics.k8s.io/v1beta1/pods');
  return (
    statsOfMetrics(value) ?? {
      missing: [...missing, status === 404 ? 'metrics.k8s.io is not installed' : `metrics.k8s.io: the API server answered ${status}`],
    }
  );
}

function fromFile(file: string, resource: Short): NodeStats | { readonly missing: readonly string[] } {
  const value = parsed(textOf(file));
  const stats = statsOfSummary(value, printable(file)) ?? statsOfMetrics(value);
  if (stats === null) {
    throw new HoldfastError('DUMP_NOT_READABLE', {
      message: `${printable(file)} is neither a kubelet’s summary nor a list of metrics.k8s.io`,
      hint: 'kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary > summary.json',
    });
  }
  return resource === 'disk' && !stats.hasDisk ? { missing: ['metrics.k8s.io has no numbers about disks'] } : stats;
}

function textOf(file: string): string {
  try {
    return readRegularFile(file, MOST_BYTES).toString('utf8');
  } catch (thrown) {
    const code = systemCode(thrown) ?? 'unknown';
    throw new HoldfastError(code === 'ENOENT' ? 'PATH_NOT_FOUND' : 'PATH_NOT_READABLE', {
      message: `${printable(file)} cannot be read: ${code}`,
      cause: thrown,
    });
  }
}

async function ask(connection: Connection, path: string): Promise<{ readonly status: number; readonly value: unknown }> {
  const { status, body } = await connection.get(path);
  return { status, value: status === 200 ? parsed(body) : null };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
