import { at, type Fields, fieldsOf, isFields } from '../../kube/objects/fields.ts';
import { type KubeObject, objectOf } from '../../kube/objects/object.ts';

/** Fields that are read further, whatever kind they are in. */
const ENTERED = new Set(
  `metadata spec status template containers initContainers resources ports volumes persistentVolumeClaim
   runPolicy replicatedJobs jobTemplate rayClusterSpec headGroupSpec workerGroupSpecs leaderWorkerTemplate leaderTemplate
   workerTemplate failurePolicy nodeInfo emptyDir csi drivers
   claimRef schedulingPolicy gang`.split(/\s+/),
);
/** Maps from a name of the user’s to something that is read further. */
const NAMED = new Set(['pytorchReplicaSpecs', 'tfReplicaSpecs']);
/** Fields that are kept whole: they hold labels, amounts and rules for scheduling. */
const WHOLE = new Set(
  `labels matchLabels matchExpressions nodeSelector selector requests limits allocatable capacity overhead taints
   tolerations affinity topologySpreadConstraints ownerReferences conditions disruptedPods schedulingGates images
   podFailurePolicy schedulingGroup workloadRef gangPolicy disruptionMode elasticPolicy nodeAffinity accessModes
   resourceClaims replicaStatuses topologyKeys allowedTopologies finalizers`.split(/\s+/),
);
/** Single values that are kept. */
const VALUES = new Set(
  `apiVersion kind name namespace uid creationTimestamp deletionTimestamp deletionGracePeriodSeconds generation
   unschedulable kubeletVersion nodeName priority priorityClassName preemptionPolicy schedulerName
   terminationGracePeriodSeconds restartPolicy hostNetwork image hostPort hostIP containerPort protocol claimName
   medium sizeLimit phase reason startTime nominatedNodeName qosClass parallelism completions completionMode
   backoffLimit backoffLimitPerIndex suspend active succeeded failed ready completionTime replicas minReplicas maxReplicas
   maxRestarts restarts restartStrategy size count disruptionsAllowed currentHealthy desiredHealthy expectedPods
   observedGeneration minAvailable maxUnavailable unhealthyPodEvictionPolicy value globalDefault volumeName
   storageClassName volumeBindingMode provisioner driver nodeID minMember minCount parentCompositePodGroupName
   nprocPerNode numOfHosts type numberAvailable`.split(/\s+/),
);
/** Prefixes of annotations that scheduling and gangs use. All other annotations are left out. */
const ANNOTATIONS =
  /^(holdfast\.dev|batch\.kubernetes\.io|jobset\.sigs\.k8s\.io|leaderworkerset\.sigs\.k8s\.io|(?:[a-z-]+\.)?volcano\.sh|(?:[a-z-]+\.)?training\.kubeflow\.org|ray\.io|kueue\.x-k8s\.io|cluster-autoscaler\.kubernetes\.io)\/|^scheduling\.k8s\.io\/group-name$|^kubernetes\.io\/config\.(mirror|source)$/;
/** Of a TrainingRun: the rest of its status has lines of the trainer’s log. */
const OF_RUN = ['phase', 'attempt', 'attempts', 'progress', 'totals'] as const;
/** Kubernetes’ objects are flatter than this. */
const DEEPEST = 24;

/**
 * The object with only the fields that an answer needs. Environment, commands, probes, secrets,
 * managed fields and unknown annotations are left out, because only what is listed here is kept.
 */
export function stripped(object: KubeObject): KubeObject {
  const kept = object.kind === 'TrainingRun' ? strippedRun(object.fields) : reduced(object.fields, 0);
  return objectOf({ ...kept, kind: object.kind, apiVersion: object.apiVersion }) ?? object;
}

function strippedRun(fields: Fields): Fields {
  const status = OF_RUN.map((name) => [name, at(fields, 'status', name)] as const).filter(([, value]) => value !== undefined);
  return { ...reduced(fields, 0), spec: { job: at(fields, 'spec', 'job') }, status: Object.fromEntries(status) };
}

function reduced(value: Fields, depth: number): Fields {
  if (depth > DEEPEST) return {};
  const kept: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const reduction = reducedField(name, field, depth);
    if (reduction !== undefined) kept[name] = reduction;
  }
  return kept;
}

function reducedField(name: string, field: unknown, depth: number): unknown {
  if (name === 'annotations') return keptAnnotations(field);
  // A volume whose claim is made with its pod; only that it is one matters.
  if (name === 'ephemeral') return {};
  if (WHOLE.has(name)) return field;
  if (NAMED.has(name)) {
    return Object.fromEntries(Object.entries(fieldsOf(field)).map(([key, each]) => [key, reduced(fieldsOf(each), depth + 1)]));
  }
  if (ENTERED.has(name) && Array.isArray(field)) return field.filter(isFields).map((each) => reduced(each, depth + 1));
  if (ENTERED.has(name) && isFields(field)) return reduced(field, depth + 1);
  return VALUES.has(name) && (typeof field !== 'object' || field === null) ? field : undefined;
}

function keptAnnotations(value: unknown): Fields | undefined {
  const kept = Object.entries(fieldsOf(value)).filter(([name]) => ANNOTATIONS.test(name));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
