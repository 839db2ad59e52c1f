import { get, items, textAt, type MapNode, type SequenceNode, type YamlNode } from './yaml-node.ts';

/** A part of a manifest, as the object that it belongs to. */
export interface Fragment {
  readonly kind: 'Pod' | 'Job' | 'CronJob' | 'PyTorchJob' | 'PriorityClass' | 'KubeletConfiguration';
  readonly root: YamlNode;
}

const OF_CONTAINER = ['command', 'args'];
const OF_POD = ['containers', 'tolerations', 'nodeSelector'];
/** One of these alone may belong to anything; two belong to a Job. */
const LIMITS_OF_JOB = [
  'parallelism',
  'completions',
  'completionMode',
  'backoffLimit',
  'backoffLimitPerIndex',
  'activeDeadlineSeconds',
  'ttlSecondsAfterFinished',
];
const OF_KUBELET = ['evictionHard', 'evictionSoft', 'evictionSoftGracePeriod'];
/** Five fields, or a name: what a configuration calls a schedule is mostly something else. */
const SCHEDULE = /^(?:@\w+|(?:(?:CRON_)?TZ=\S+ )?(?:[\d*/,\w-]+ ){4}[\d*/,\w-]+)$/;

/**
 * Recognizes a part of a manifest without `kind`, as articles and chats print it: containers, or
 * the spec of a pod, a Job, a CronJob or a PyTorchJob, or the fields of a PriorityClass. Null for
 * any other YAML.
 */
export function fragmentOf(root: YamlNode): Fragment | null {
  const spec = get(root, 'spec') ?? root;
  const found = ofOwner(spec) ?? ofCluster(root);
  if (found !== null) return found;
  const containers = containersIn(root);
  return containers === null ? null : { kind: 'Pod', root: around(root, 'spec', around(root, 'containers', containers)) };
}

/** The spec of something that makes pods, or of a pod. */
function ofOwner(spec: YamlNode): Fragment | null {
  const root = around(spec, 'spec', spec);
  if (has(spec, ['pytorchReplicaSpecs'], 'map')) return { kind: 'PyTorchJob', root };
  if (has(spec, ['jobTemplate'], 'map') || SCHEDULE.test(textAt(spec, 'schedule') ?? '')) return { kind: 'CronJob', root };
  if (has(spec, ['template', 'podFailurePolicy'], 'map')) return { kind: 'Job', root };
  if (LIMITS_OF_JOB.filter((key) => textAt(spec, key) !== null).length > 1) return { kind: 'Job', root };
  return has(spec, OF_POD, null) ? { kind: 'Pod', root } : null;
}

function ofCluster(root: YamlNode): Fragment | null {
  if (has(root, OF_KUBELET, 'map')) return { kind: 'KubeletConfiguration', root };
  return textAt(root, 'preemptionPolicy') !== null && textAt(root, 'value') !== null ? { kind: 'PriorityClass', root } : null;
}

/** A container, or a list of them. */
function containersIn(root: YamlNode): SequenceNode | null {
  if (has(root, OF_CONTAINER, 'sequence')) return { kind: 'sequence', from: root.from, to: root.to, isFlow: true, items: [root] };
  const isList = root.kind === 'sequence' && items(root).length > 0 && items(root).every(isContainer);
  return isList ? root : null;
}

function isContainer(node: YamlNode | null): boolean {
  return node !== null && textAt(node, 'name') !== null && (textAt(node, 'image') !== null || has(node, OF_CONTAINER, 'sequence'));
}

function has(node: YamlNode, keys: readonly string[], shape: YamlNode['kind'] | null): boolean {
  return keys.some((key) => {
    const value = get(node, key);
    return value !== null && value.kind !== 'scalar' && (shape === null || value.kind === shape);
  });
}

/** A map with one entry, at the place of another node. */
function around({ from, to }: YamlNode, key: string, value: YamlNode): MapNode {
  return {
    kind: 'map',
    from,
    to,
    isFlow: true,
    entries: new Map([[key, { key: { kind: 'scalar', from, to, text: key, isPlain: true }, value }]]),
  };
}
