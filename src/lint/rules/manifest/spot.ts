import type { Hit } from '../../source/finding.ts';
import type { WorkloadRule } from '../../engine/rule.ts';
import { isSupervised, trains } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { get, headOf, items, textAt, type YamlNode } from '../../manifest/yaml-node.ts';
import type { Workload } from '../../manifest/workload.ts';

const JOB = (pod: string): string => `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: Never
${pod}      containers:
        - name: trainer
          command: [python, train.py]
`;

const CLOUD_TAINTS: readonly (readonly [RegExp, string])[] = [
  [/^cloud\.google\.com\/gke-(?:spot|preemptible)$/, 'gke'],
  [/^kubernetes\.azure\.com\/scalesetpriority$/, 'azure'],
];

/** The label and the taint of Spot nodes of AKS. */
export const AZURE_SPOT = 'kubernetes.azure.com/scalesetpriority';

/** Spot nodes of AKS have a taint that cannot be omitted. */
export const spotNotTolerated: WorkloadRule = {
  code: 'SPOT_NOT_TOLERATED',
  severity: 'error',
  on: 'workload',
  title: 'The pod asks for Spot nodes and does not tolerate their taint',
  why: 'Spot nodes of AKS carry the taint kubernetes.azure.com/scalesetpriority=spot:NoSchedule. A pod that selects them without tolerating it stays Pending for ever. (GKE and EKS only label theirs.)',
  fix: 'Add the toleration for kubernetes.azure.com/scalesetpriority.',
  bad: { manifest: JOB(`      nodeSelector: { ${AZURE_SPOT}: spot }\n`) },
  good: {
    manifest: JOB(
      `      nodeSelector: { ${AZURE_SPOT}: spot }\n      tolerations: [{ key: ${AZURE_SPOT}, operator: Equal, value: spot, effect: NoSchedule }]\n`,
    ),
  },
  check(workload) {
    const { spot } = workload;
    if (spot === null || !lacksSpotToleration(workload)) return [];
    return [{ at: spot.at, message: `${nameOf(workload)} selects Spot nodes of AKS, whose taint it does not tolerate: it stays Pending.` }];
  },
};

/** The pod selects Spot nodes of AKS and does not tolerate their taint. */
export function lacksSpotToleration({ spot, pod }: Workload): boolean {
  const isTolerating = (one: YamlNode): boolean =>
    textAt(one, 'key') === AZURE_SPOT || (textAt(one, 'key') === null && textAt(one, 'operator') === 'Exists');
  return spot?.cloud === 'azure' && !tolerations(pod).some(isTolerating);
}

/** A toleration alone selects nothing. */
export const spotToleratedOnly: WorkloadRule = {
  code: 'SPOT_TOLERATED_ONLY',
  severity: 'info',
  on: 'workload',
  title: 'The pod tolerates Spot nodes, but does not ask for them',
  why: 'A toleration allows a pod on a tainted node, and does not send it there. Without a node selector or an affinity the pod trains on whichever machine has room, at full price or on Spot.',
  fix: 'Add the nodeSelector of the Spot nodes, or remove the toleration.',
  bad: { manifest: JOB('      tolerations: [{ key: cloud.google.com/gke-spot, operator: Exists }]\n') },
  good: {
    manifest: JOB(
      '      nodeSelector: { cloud.google.com/gke-spot: "true" }\n      tolerations: [{ key: cloud.google.com/gke-spot, operator: Exists }]\n',
    ),
  },
  check(workload) {
    const { spot, pod } = workload;
    // A supervised run may land on either.
    if (spot !== null || !trains(workload) || isSupervised(workload) || hasAffinity(pod)) return [];
    const found = tolerations(pod).find((one) => cloudOf(one) !== null);
    if (found === undefined) return [];
    return [{ at: headOf(found), message: `${nameOf(workload)} tolerates ${textAt(found, 'key')}, but does not select such nodes.` }];
  },
};

/** A toleration for the nodes of another cloud. */
export const tolerationUnused: WorkloadRule = {
  code: 'TOLERATION_UNUSED',
  readsFragments: true,
  severity: 'info',
  on: 'workload',
  title: 'A toleration is for nodes that the pod never comes to',
  why: 'The pod selects the Spot nodes of one cloud and tolerates the taint of another. No node has both. Such a line is mostly copied, and hides that another toleration may be missing.',
  fix: 'Remove the toleration.',
  bad: {
    manifest: JOB(
      `      nodeSelector: { cloud.google.com/gke-spot: "true" }\n      tolerations: [{ key: ${AZURE_SPOT}, operator: Equal, value: spot, effect: NoSchedule }]\n`,
    ),
  },
  good: {
    manifest: JOB(
      '      nodeSelector: { cloud.google.com/gke-spot: "true" }\n      tolerations: [{ key: cloud.google.com/gke-spot, operator: Exists }]\n',
    ),
  },
  check(workload) {
    return unusedTolerations(workload).map(
      ({ toleration, selected }): Hit => ({
        at: headOf(toleration),
        message: `${nameOf(workload)} selects ${selected}, so that it never meets the taint ${textAt(toleration, 'key')}.`,
      }),
    );
  },
};

/**
 * The tolerations for taints that no node has that the pod selects, with their place in the list.
 */
export function unusedTolerations({
  spot,
  pod,
}: Workload): readonly { readonly index: number; readonly toleration: YamlNode; readonly selected: string }[] {
  if (spot === null || spot.key === 'karpenter.sh/capacity-type' || spot.key === 'node.kubernetes.io/lifecycle') return [];
  return tolerations(pod).flatMap((toleration, index) => {
    const cloud = cloudOf(toleration);
    return cloud === null || cloud === spot.cloud ? [] : [{ index, toleration, selected: spot.key }];
  });
}

function tolerations(pod: YamlNode): readonly YamlNode[] {
  return items(get(pod, 'tolerations'));
}

function cloudOf(toleration: YamlNode): string | null {
  const key = textAt(toleration, 'key') ?? '';
  return CLOUD_TAINTS.find(([pattern]) => pattern.test(key))?.[1] ?? null;
}

function hasAffinity(pod: YamlNode): boolean {
  return get(pod, 'affinity', 'nodeAffinity') !== null;
}
