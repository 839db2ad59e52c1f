import { boolean, entries, get, items, type MapNode, number, numberAt, text, textAt, type YamlNode } from './yaml-node.ts';
import { type CommandLine, readCommand } from './command.ts';
import type { Span } from '../source/source.ts';

/** A Kubernetes object of a source. */
export interface KubeObject {
  readonly path: string;
  readonly kind: string;
  readonly name: string | null;
  readonly namespace: string | null;
  /** The text of the whole source: edits need the columns. */
  readonly source: string;
  readonly root: YamlNode;
  /** What aliases and merges of its document repeat elsewhere. */
  readonly shared: readonly Span[];
  /** A part of a manifest without `kind`: what is missing may be somewhere else. */
  readonly isFragment: boolean;
}

/** A pod template with all that rules ask about it, whichever kind makes its pods. */
export interface Workload {
  readonly object: KubeObject;
  /** The spec of the Job that makes the pods, also within a CronJob or a JobSet. */
  readonly job: YamlNode | null;
  readonly cron: YamlNode | null;
  /** Master, Worker, or the name of a replicated Job. */
  readonly role: string | null;
  /** The replica of a PyTorchJob or TFJob. */
  readonly replica: YamlNode | null;
  /** What metadata the pods get. */
  readonly podMetadata: YamlNode | null;
  readonly pod: YamlNode;
  readonly containers: readonly Container[];
  /** The one that trains. */
  readonly trainer: Container | null;
  /** Pods that run at the same time; null where it is not written. */
  readonly pods: number | null;
  /** The pods train one model together. */
  readonly isGang: boolean;
  /** Why this is taken to be training. */
  readonly training: string | null;
  readonly spot: Spot | null;
}

/** A container of a pod template, as the rules see it. */
export interface Container {
  readonly node: YamlNode;
  readonly name: string;
  readonly command: CommandLine;
  /** Environment variables with a value that is written here. */
  readonly env: ReadonlyMap<string, string>;
  /** All variables that are named, also those from secrets. */
  readonly envNames: ReadonlySet<string>;
  readonly hasEnvFrom: boolean;
  readonly mounts: readonly Mount[];
  readonly accelerators: number;
}

/** A volume mount of a container. */
export interface Mount {
  readonly node: YamlNode;
  readonly path: string;
  readonly volume: string;
  readonly isReadOnly: boolean;
}

/** What makes the pods land on machines that may be reclaimed. */
export interface Spot {
  readonly cloud: 'gke' | 'aws' | 'azure' | 'other';
  readonly key: string;
  readonly at: YamlNode;
}

/** All pod templates that an object makes. */
export function workloadsOf(object: KubeObject): readonly Workload[] {
  const { root, kind } = object;
  switch (kind) {
    case 'Pod':
      return make(object, { pod: get(root, 'spec'), podMetadata: get(root, 'metadata'), pods: 1 });
    case 'Job':
      return jobOf(object, get(root, 'spec'), null);
    case 'CronJob':
      return jobOf(object, get(root, 'spec', 'jobTemplate', 'spec'), get(root, 'spec'));
    case 'JobSet':
      return items(get(root, 'spec', 'replicatedJobs')).flatMap((replicated) =>
        jobOf(object, get(replicated, 'template', 'spec'), null, textAt(replicated, 'name')),
      );
    case 'PyTorchJob':
      return replicasOf(object, 'pytorchReplicaSpecs');
    case 'TFJob':
      return replicasOf(object, 'tfReplicaSpecs');
    case 'Deployment':
    case 'StatefulSet':
    case 'ReplicaSet':
      return make(object, { ...templateOf(get(root, 'spec')), pods: numberAt(root, 'spec', 'replicas') ?? 1 });
    default:
      return [];
  }
}

function jobOf(object: KubeObject, job: YamlNode | null, cron: YamlNode | null, role: string | null = null): readonly Workload[] {
  const parallelism = numberAt(job, 'parallelism') ?? 1;
  const completions = numberAt(job, 'completions');
  return make(object, {
    ...templateOf(job),
    job,
    cron,
    role,
    pods: completions === null ? parallelism : Math.min(parallelism, completions),
  });
}

function replicasOf(object: KubeObject, key: string): readonly Workload[] {
  const specs = entries(get(object.root, 'spec', key));
  const total = specs.reduce((sum, { value }) => sum + (numberAt(value, 'replicas') ?? 1), 0);
  return specs.flatMap(({ key: { text: role }, value }) =>
    make(object, { ...templateOf(value), replica: value, role, pods: total, isGang: total > 1 }),
  );
}

function templateOf(spec: YamlNode | null): { pod: YamlNode | null; podMetadata: YamlNode | null } {
  return { pod: get(spec, 'template', 'spec'), podMetadata: get(spec, 'template', 'metadata') };
}

type Parts = { readonly pod: YamlNode | null; readonly pods: number | null } & Partial<
  Pick<Workload, 'job' | 'cron' | 'role' | 'replica' | 'podMetadata' | 'isGang'>
>;

function make(object: KubeObject, parts: Parts): readonly Workload[] {
  const pod = parts.pod ?? (object.isFragment ? NO_POD : null);
  if (pod?.kind !== 'map') return [];
  const containers = items(get(pod, 'containers')).map(containerOf);
  const trainer = trainerOf(containers);
  const { pods } = parts;
  const isGang = parts.isGang ?? (trainer !== null && (pods ?? 1) > 1 && isGangCommand(trainer));
  const workload = {
    object,
    job: null,
    cron: null,
    role: null,
    replica: null,
    podMetadata: null,
    ...parts,
    pod,
    containers,
    trainer,
    isGang,
  };
  const isService = parts.job === undefined && parts.replica === undefined && object.kind !== 'Pod';
  return [{ ...workload, pods, training: isService ? null : trainingEvidence(object, trainer), spot: spotOf(pod) }];
}

/** A part of a manifest may leave its pods out. */
const NO_POD: MapNode = { kind: 'map', from: 0, to: 0, isFlow: true, entries: new Map() };

function containerOf(node: YamlNode): Container {
  const env = items(get(node, 'env'));
  const pairs = env.flatMap((one): [string, string][] => {
    const [name, value] = [textAt(one, 'name'), textAt(one, 'value')];
    return name === null || value === null ? [] : [[name, value]];
  });
  const limits = [...entries(get(node, 'resources', 'limits')), ...entries(get(node, 'resources', 'requests'))];
  return {
    node,
    name: textAt(node, 'name') ?? '',
    command: readCommand(node),
    env: new Map(pairs),
    envNames: new Set(env.map((one) => textAt(one, 'name') ?? '')),
    hasEnvFrom: get(node, 'envFrom') !== null,
    mounts: items(get(node, 'volumeMounts')).map((mount) => ({
      node: mount,
      path: (textAt(mount, 'mountPath') ?? '').replace(/(?<=.)\/+$/, ''),
      volume: textAt(mount, 'name') ?? '',
      isReadOnly: boolean(get(mount, 'readOnly')) === true,
    })),
    accelerators: Math.max(0, ...limits.filter(({ key }) => ACCELERATOR.test(key.text)).map(({ value }) => number(value) ?? 1)),
  };
}

const ACCELERATOR =
  /^(?:nvidia\.com\/(?:gpu|mig-.*)|amd\.com\/gpu|google\.com\/tpu|habana\.ai\/gaudi|aws\.amazon\.com\/neuron.*|gpu\.intel\.com\/.*)$/;
const TRAINS = /(?:^|[/_.-])(?:re)?(?:train|trainer|training|finetune|fine_tune|pretrain|sweep)(?:[/_.-]|ing|$)/i;
const CHECKPOINTS =
  /^--?(?:checkpoint|ckpt|resume|save[-_](?:dir|every|steps|interval|strategy)|output[-_]dir|epochs?\b|max[-_]steps|learning[-_]rate|lr\b|batch[-_]size)/i;

function trainerOf(containers: readonly Container[]): Container | null {
  return (
    containers.find(({ command }) => command.supervisor !== null || command.launcher !== null) ??
    containers.find(({ command }) => looksLikeTraining(command) !== null) ??
    containers.find(({ accelerators }) => accelerators > 0) ??
    (containers.length === 1
      ? (containers[0] ?? null)
      : (containers.find(({ name }) => /^(?:pytorch|tensorflow)$|train/.test(name)) ?? null))
  );
}

function isGangCommand({ command, envNames }: Container): boolean {
  const spread = command.torchrun?.flags.find(({ name }) => name === 'nnodes')?.value ?? '1';
  return (command.torchrun !== null && spread !== '1') || envNames.has('MASTER_ADDR') || command.supervisor?.options.has('nodes') === true;
}

function trainingEvidence({ kind }: KubeObject, trainer: Container | null): string | null {
  if (kind === 'PyTorchJob' || kind === 'TFJob') return `it is a ${kind}`;
  if (trainer === null) return null;
  if (trainer.command.supervisor !== null) return 'it is supervised';
  const told = looksLikeTraining(trainer.command);
  if (told !== null) return told;
  if (trainer.accelerators > 0 && !/(?:serv|infer|predict|vllm|triton|tgi|eval|convert|embed|export|download)/i.test(searchable(trainer)))
    return 'it asks for accelerators';
  const mount = trainer.mounts.find(({ path }) => /checkpoint|ckpt/i.test(path));
  return mount === undefined ? null : `it mounts ${mount.path}`;
}

function searchable({ name, node, command }: Container): string {
  return [name, textAt(node, 'image') ?? '', command.script ?? '', ...command.words.map(({ text: word }) => word)].join(' ');
}

/** What in a command line says that it trains. */
function looksLikeTraining({ launcher, script, words, trainerArgs }: CommandLine): string | null {
  if (launcher !== null) return `it runs ${launcher}`;
  const named = [script, ...words.map(({ text: word }) => word)].find(
    (word) => word !== null && /\.py$|^[\w./-]+$/.test(word) && TRAINS.test(word),
  );
  if (named !== undefined && named !== null && !named.startsWith('-')) return `it runs ${named}`;
  const flag = script === null ? undefined : trainerArgs.find((word) => CHECKPOINTS.test(word.text));
  return flag === undefined ? null : `its command has ${flag.text}`;
}

const SPOT_LABELS: readonly (readonly [key: string, value: RegExp, cloud: Spot['cloud']])[] = [
  ['cloud.google.com/gke-spot', /^true$/, 'gke'],
  ['cloud.google.com/gke-preemptible', /^true$/, 'gke'],
  ['cloud.google.com/gke-provisioning', /^(?:spot|preemptible)$/, 'gke'],
  ['eks.amazonaws.com/capacityType', /^SPOT$/, 'aws'],
  ['node.kubernetes.io/lifecycle', /^spot$/, 'aws'],
  ['karpenter.sh/capacity-type', /^spot$/, 'aws'],
  ['kubernetes.azure.com/scalesetpriority', /^spot$/i, 'azure'],
];

/**
 * What selects Spot machines: a node selector or a required affinity with nothing else to choose
 * from.
 */
function spotOf(pod: YamlNode): Spot | null {
  for (const [key, value, cloud] of SPOT_LABELS) {
    const selected = get(pod, 'nodeSelector', key);
    const told = text(selected);
    if (selected !== null && told !== null && value.test(told)) return { cloud, key, at: selected };
    for (const term of affinityTerms(pod)) {
      const match = items(get(term, 'matchExpressions')).find((one) => textAt(one, 'key') === key && textAt(one, 'operator') === 'In');
      const values = items(get(match ?? null, 'values'));
      if (match !== undefined && values.length > 0 && values.every((one) => value.test(text(one) ?? ''))) return { cloud, key, at: match };
    }
  }
  return null;
}

function affinityTerms(pod: YamlNode): readonly YamlNode[] {
  return items(get(pod, 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms'));
}
