import { hostname } from 'node:os';
import type { Clock } from '../../../core/clock.ts';
import { printable } from '../../../core/printable.ts';
import { createRng, randomSeed } from '../../../core/rng.ts';
import { openCluster } from '../../../kube/client/open-cluster.ts';
import { RateLimit } from '../../../kube/client/rate-limit.ts';
import { ServerApi } from '../../../kube/client/server-api.ts';
import type { PodSettings } from '../../../operator/kinds/kind.ts';
import type { Cloud } from '../../../operator/kinds/clouds.ts';
import { serveHealth } from '../../../operator/run/health-server.ts';
import { Notifier, postTo } from '../../../operator/run/notifier.ts';
import { Operator } from '../../../operator/run/operator.ts';
import { directly, throughProxy } from '../../../operator/run/read-status.ts';
import type { ListenAddress } from '../../frame/listen-address.ts';
import type { Output } from '../../output/output.ts';
import { notifyAddress } from './notify-address.ts';

/** The settings of `operator run`. */
export interface RunFacts {
  readonly values: {
    readonly context: string | null;
    readonly kubeconfig: string | null;
    readonly namespace: string | null;
    readonly 'watch-namespace': string | null;
    readonly 'leader-elect': boolean;
    readonly listen: ListenAddress;
    readonly 'keep-runs': number;
    readonly 'fault-conditions': string | null;
    readonly notify: URL | null;
    readonly cloud: Cloud | null;
    readonly image: string | null;
    readonly supervise: 'annotated' | 'all';
    readonly 'make-room-deadline': number;
    readonly qps: number;
    readonly burst: number;
    readonly 'gang-scheduler-name': string | null;
    readonly 'pytorch-init-container-image': string;
    readonly 'pytorch-init-container-max-tries': number;
  };
  readonly output: Output;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * Runs the operator until the signal is aborted. Prints the address of its metrics as the first
 * line on standard output, for the starting program.
 */
export async function runOperator({ values, output, clock, env, signal }: RunFacts): Promise<void> {
  const { kubeconfig, context } = values;
  const address = notifyAddress(values.notify, env);
  const cluster = await openCluster({ kubeconfig, context, clock, signal });
  const { transport } = cluster;
  const api = new ServerApi(transport, new RateLimit({ perSecond: values.qps, burst: values.burst }, clock));
  const rng = createRng(randomSeed());
  const say = (line: string): void => output.note(`${new Date(clock.now()).toISOString()} ${line}`);
  const notifier = address === null ? null : new Notifier({ post: postTo(address), clock, say });
  const leaseNamespace = values['leader-elect'] ? (values.namespace ?? cluster.namespace) : null;
  const isInCluster = kubeconfig === null && context === null && (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '';
  const operator = new Operator({
    api,
    clock,
    rng,
    // Random, because two processes of one machine must not take each other's lease for their own.
    identity: `${env['POD_NAME'] ?? hostname()}_${rng.integer(0, 0xffffffff).toString(16)}`,
    watchNamespace: values['watch-namespace'],
    leaseNamespace,
    settings: podSettings(values, env),
    keepRunsMs: values['keep-runs'],
    faultConditions: wordsOf(values['fault-conditions'] ?? ''),
    cloud: values.cloud,
    makeRoomDeadlineMs: values['make-room-deadline'],
    readStatus: isInCluster ? directly : throughProxy(api),
    say,
    onNews: (news) => notifier?.hear(news),
  });
  const server = await serveHealth(values.listen, operator, clock);
  try {
    if (output.json) output.printJson({ schema: 'holdfast.operator-run/1', url: server.url, server: transport.server });
    else output.print(server.url);
    const where = values['watch-namespace'] === null ? 'all namespaces' : `the namespace ${printable(values['watch-namespace'])}`;
    say(`running the jobs of ${where} of ${printable(transport.server)}`);
    await Promise.all([operator.run({ signal }), notifier?.run({ signal })]);
    say('ended; pods train on');
  } finally {
    server.close();
    transport[Symbol.dispose]();
  }
}

function podSettings(values: RunFacts['values'], env: RunFacts['env']): Omit<PodSettings, 'hasNativeGangs'> {
  const clusterDomain = env['CUSTOM_CLUSTER_DOMAIN'] ?? '';
  return {
    initImage: values['pytorch-init-container-image'],
    initTries: values['pytorch-init-container-max-tries'],
    clusterDomain: clusterDomain === '' ? null : clusterDomain,
    gangScheduler: values['gang-scheduler-name'],
    supervision: { image: values.image, isForAll: values.supervise === 'all' },
  };
}

function wordsOf(list: string): readonly string[] {
  return list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}
