import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { WhileBusy } from '../../core/lifecycle.ts';
import { printable } from '../../core/printable.ts';
import { readStream } from '../../core/read-stream.ts';
import { ClusterState } from '../../kube/objects/cluster-state.ts';
import type { DumpProblem } from '../../kube/objects/dump-limits.ts';
import { readDump } from '../../kube/objects/read-dump.ts';

/** Where objects are read from: files, or the cluster of a kubeconfig. */
export interface StateSource {
  readonly files: readonly string[];
  readonly kubeconfig: string | null;
  readonly context: string | null;
  /** Null: what the context says. */
  readonly namespace: string | null;
  readonly isAllNamespaces: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly whileBusy: WhileBusy;
}

/** Objects, and what of them could not be read. */
export interface ReadState {
  readonly state: ClusterState;
  readonly problems: readonly DumpProblem[];
  readonly namespace: string | null;
  /** For people: `3 files`, or the context. */
  readonly from: string;
  /**
   * What the kubelet of a node was told, where a cluster is asked and lets it be read; else null.
   */
  readonly kubeletOf: (node: string) => Promise<unknown>;
}

/** Reads the objects that a command is about. */
export async function readState(source: StateSource): Promise<ReadState> {
  if (source.files.length > 0) return readFiles(source);
  const { openCluster } = await import('../../kube/client/open-cluster.ts');
  const { readCluster, readKubelet } = await import('../../kube/client/read-cluster.ts');
  const { connection, context, namespace: own } = await openCluster(source);
  const namespace = source.isAllNamespaces ? null : (source.namespace ?? own);
  const { state, problems } = await readCluster(connection, namespace);
  return { state, problems, namespace, from: `context ${context}`, kubeletOf: (node) => readKubelet(connection, node) };
}

async function readFiles({ files, namespace, signal, whileBusy }: StateSource): Promise<ReadState> {
  const input = files.includes('-') ? await standardInput(signal) : '';
  const dump = await whileBusy(() => readDump(files, input));
  const [first] = dump.problems;
  if (dump.objects.length === 0) {
    throw new HoldfastError('DUMP_NOT_READABLE', {
      message: first === undefined ? `${files.map(printable).join(', ')} holds no Kubernetes object` : problemLine(first),
      hint: '`kubectl get pods,jobs,events,nodes -o json` and `kubectl cluster-info dump --output-directory=…` print every object that Holdfast needs.',
    });
  }
  return {
    state: await whileBusy(() => new ClusterState(dump.objects)),
    problems: dump.problems,
    namespace,
    from: `${dump.files} ${dump.files === 1 ? 'file' : 'files'}`,
    kubeletOf: async () => null,
  };
}

/** A problem as a person reads it: `job.yaml:12:3: it is no YAML …`. */
export function problemLine({ source, line, column, reason }: DumpProblem): string {
  const place = line === null ? '' : `:${line}${column === null ? '' : `:${column}`}`;
  return `${printable(source)}${place}: ${printable(reason)}`;
}

const MOST_INPUT = 128 * 1024 * 1024;

/** All of standard input, for the file `-`. */
export async function standardInput(signal: AbortSignal): Promise<string> {
  // A terminal would wait for a person who does not know that.
  if (process.stdin.isTTY) {
    throw new HoldfastError('USAGE', {
      message: '- reads standard input, but standard input is a terminal',
      hint: 'kubectl get pods,jobs,events,nodes -o json | holdfast why -f -',
    });
  }
  const bytes = await readStream(process.stdin, MOST_INPUT, signal);
  if (bytes === null) throw new HoldfastError('DUMP_NOT_READABLE', { message: `standard input has more than ${MOST_INPUT} bytes` });
  return bytes.toString('utf8');
}
