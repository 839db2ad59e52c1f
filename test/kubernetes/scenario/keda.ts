import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { trueConditions } from './objects.ts';

const KINDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const USED = ['scaledjobs.keda.sh', 'triggerauthentications.keda.sh'];

/** The folder of KEDA's module in Go's cache, or why it cannot be had. */
export function findKeda(): { readonly module: string } | { readonly missing: string } {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'test/kubernetes/setup-keda.sh'), { encoding: 'utf8' });
  return status === 0 ? { module: stdout.trim() } : { missing: stderr.trim().split('\n').at(-1) ?? 'no KEDA' };
}

/** Defines KEDA's own kinds in the cluster. */
export async function defineKeda(cluster: Cluster, module: string): Promise<void> {
  // They are too large for the annotation of `kubectl apply`.
  await cluster.run([...cluster.kubectlCommand, 'create', '-f', join(module, 'config/crd/bases')]);
  for (const name of USED)
    await eventually(`the kind ${name}`, async () =>
      trueConditions(await cluster.api.get(`${KINDS}/${name}`)).some(({ type }) => type === 'Established') ? true : null,
    );
}
