import type { ObjectRule } from '../../engine/rule.ts';
import { labelsOf, sameNamespace } from '../../manifest/workload-names.ts';
import { entries, get, number, spanAt, text, textAt } from '../../manifest/yaml-node.ts';
import type { KubeObject, Workload } from '../../manifest/workload.ts';

const PDB = (limit: string): string => `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: train }
spec:
  ${limit}
  selector: { matchLabels: { app: train } }
---
kind: Job
spec:
  template:
    metadata: { labels: { app: train } }
    spec: { restartPolicy: Never, containers: [{ name: trainer, command: [python, train.py] }] }
`;

/** A budget that allows no disruption blocks every drain. */
export const budgetBlocksDrains: ObjectRule = {
  code: 'BUDGET_BLOCKS_DRAINS',
  severity: 'warning',
  on: 'object',
  title: 'The PodDisruptionBudget blocks drains for ever',
  why: 'A budget that never allows a disruption makes every eviction through the API wait: the node cannot be drained, and an upgrade hangs, or deletes the pods after its timeout. The budget does not stop the scheduler, the kubelet or the cloud. For the pods of a Job, Kubernetes supports only a whole number for minAvailable. With maxUnavailable or a percentage it never allows a disruption.',
  fix: 'Allow one disruption (for a Job: minAvailable one below its pods), or remove the budget and let the training resume.',
  bad: { manifest: PDB('maxUnavailable: 0') },
  good: { manifest: PDB('minAvailable: 0') },
  check({ kind, root, name, namespace, ...rest }, { workloads }) {
    if (kind !== 'PodDisruptionBudget') return [];
    const object = { kind, root, name, namespace, ...rest };
    const spec = get(root, 'spec');
    const [most, least] = [textAt(spec, 'maxUnavailable'), textAt(spec, 'minAvailable')];
    const owner = workloads.find((one) => sameNamespace(one.object, object) && selects(object, one));
    const why = blocking(most, least, owner);
    if (spec === null || why === null) return [];
    return [
      {
        at: spanAt(spec, most === null ? 'minAvailable' : 'maxUnavailable'),
        message: `PodDisruptionBudget ${name ?? ''} never allows a disruption: ${why}.`,
      },
    ];
  },
};

function blocking(most: string | null, least: string | null, owner: Workload | undefined): string | null {
  if (most !== null && /^0%?$/.test(most)) return `maxUnavailable is ${most}`;
  if (least === '100%') return 'minAvailable is 100%';
  if (owner === undefined) return null;
  return blockingFor(most, least, owner);
}

function blockingFor(most: string | null, least: string | null, owner: Workload): string | null {
  const isScaled = owner.job === null && owner.object.kind !== 'Pod' && owner.replica === null;
  if (!isScaled && (most !== null || least?.endsWith('%') === true))
    return `of the pods of a ${owner.object.kind} only a whole minAvailable is understood`;
  const count = least === null ? Number.NaN : Number(least);
  return owner.pods !== null && count >= owner.pods
    ? `minAvailable is ${least}, and there ${owner.pods === 1 ? 'is one pod' : `are ${owner.pods} pods`}`
    : null;
}

function selects({ root }: KubeObject, { podMetadata }: Workload): boolean {
  const wanted = entries(get(root, 'spec', 'selector', 'matchLabels'));
  const labels = labelsOf(podMetadata);
  return wanted.length > 0 && wanted.every(({ key, value }) => labels.get(key.text) === (text(value) ?? number(value)));
}
