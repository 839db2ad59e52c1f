import { type Millis, parseDuration } from '../../core/duration.ts';
import type { Word } from './word.ts';
import { get, items, numberAt, text, textAt, type YamlNode } from './yaml-node.ts';
import type { Container, Mount, Workload } from './workload.ts';

/** What Kubernetes gives when a pod says nothing. */
const DEFAULT_GRACE_SECONDS = 30;

/** Seconds from SIGTERM to SIGKILL as the pod asks for them. */
export function graceSeconds(pod: YamlNode): number {
  return numberAt(pod, 'terminationGracePeriodSeconds') ?? DEFAULT_GRACE_SECONDS;
}

/** The pods of this workload train: the question most rules ask first. */
export function trains(workload: Workload): workload is Workload & { readonly trainer: Container } {
  return workload.training !== null && workload.trainer !== null;
}

/** The pods train, or a part of a manifest leaves them out. */
export function mayTrain(workload: Workload): boolean {
  return trains(workload) || (workload.object.isFragment && workload.containers.length === 0);
}

/** `holdfast run` stands before the trainer. */
export function isSupervised({ trainer }: Workload): boolean {
  return trainer?.command.supervisor != null;
}

/** A length of time as an option of `holdfast run` has it. */
export function supervisedGrace({ trainer }: Workload): { readonly ms: Millis; readonly word: Word } | null {
  const option = trainer?.command.supervisor?.options.get('grace');
  if (option === undefined) return null;
  const read = parseDuration(option.value);
  return read.ok ? { ms: read.value, word: option.word } : null;
}

/** The rules of a podFailurePolicy. */
export function policyRules(job: YamlNode | null): readonly YamlNode[] {
  return items(get(job, 'podFailurePolicy', 'rules'));
}

/** A rule that ignores disrupted pods. */
export function ignoresDisruptions(rule: YamlNode): boolean {
  return (
    textAt(rule, 'action') === 'Ignore' && items(get(rule, 'onPodConditions')).some((one) => textAt(one, 'type') === 'DisruptionTarget')
  );
}

/** Where the trainer keeps its checkpoints, and who says so. */
export interface CheckpointFolder {
  readonly path: string;
  readonly at: { readonly from: number; readonly to: number };
}

const FOLDER_OPTION =
  /^--?(?:[\w-]*(?:checkpoint|ckpt)[\w-]*(?:dir|path|folder|root)|checkpoints?|ckpt|output[-_]?dir|out[-_]dir|save[-_]dir|default[-_]root[-_]dir|run[-_]dir|logdir)(?:=(.*))?$/is;
const FOLDER_VARIABLE = /^(?:\w+_)?(?:CHECKPOINT|CKPT)S?_(?:DIR|PATH|FOLDER|ROOT)$|^(?:OUTPUT|SAVE)_DIR$|^HOLDFAST_DIR$/;

/**
 * The folder that is named for checkpoints: by `holdfast run`, an option of the trainer, or the
 * environment.
 */
export function checkpointFolder({ trainer }: Workload): CheckpointFolder | null {
  if (trainer === null) return null;
  const { supervisor, trainerArgs } = trainer.command;
  const own = supervisor?.options.get('watch') ?? supervisor?.options.get('dir');
  if (own !== undefined) return { path: own.value, at: own.word };
  return folderInArguments(trainerArgs) ?? folderInEnvironment(trainer);
}

function folderInArguments(trainerArgs: readonly Word[]): CheckpointFolder | null {
  for (const [index, word] of trainerArgs.entries()) {
    const [match, value] = FOLDER_OPTION.exec(word.text) ?? [];
    if (match === undefined) continue;
    const path = value ?? trainerArgs[index + 1]?.text ?? '';
    if (path !== '' && !path.startsWith('-')) return { path, at: word };
  }
  return null;
}

function folderInEnvironment(trainer: Container): CheckpointFolder | null {
  for (const one of items(get(trainer.node, 'env'))) {
    const [name, path] = [textAt(one, 'name') ?? '', textAt(one, 'value')];
    const value = get(one, 'value');
    if (FOLDER_VARIABLE.test(name) && path !== null && value !== null) return { path, at: value };
  }
  return null;
}

/** Something that lies in an object store. */
export function isRemote(path: string): boolean {
  return /^(?:s3a?|gs|gcs|abfss?|az|azure|wasbs?|hdfs|oci|r2|hf):\/\//.test(path);
}

/**
 * The mount that a path in the container lies on; null where it is the container's own file system.
 */
export function mountOf(container: Container, path: string): Mount | null {
  const inside = container.mounts.filter((mount) => path === mount.path || path.startsWith(mount.path === '/' ? '/' : `${mount.path}/`));
  return inside.toSorted((a, b) => b.path.length - a.path.length)[0] ?? null;
}

/** The volume of the pod with this name. */
export function volumeOf(pod: YamlNode, name: string): YamlNode | null {
  return items(get(pod, 'volumes')).find((volume) => textAt(volume, 'name') === name) ?? null;
}

/** The claims that a container can write to. */
export function writableClaims({
  pod,
  trainer,
}: Workload): readonly { readonly mount: Mount; readonly claim: string; readonly volume: YamlNode }[] {
  return (trainer?.mounts ?? []).flatMap((mount) => {
    const volume = volumeOf(pod, mount.volume);
    const claim = textAt(volume, 'persistentVolumeClaim', 'claimName');
    return mount.isReadOnly || volume === null || claim === null ? [] : [{ mount, claim, volume }];
  });
}

/** Some word or variable of the trainer names an object store. */
export function namesObjectStore({ trainer }: Workload): boolean {
  if (trainer === null) return false;
  const words = [...trainer.command.words.map((word) => word.text), ...trainer.env.values()];
  return words.some((word) => isRemote(word) || /(?:s3a?|gs|gcs|abfss?|az):\/\//.test(word) || /^--ship\b/.test(word));
}

/** Bytes of a quantity such as 16Gi; null where it is not one. */
export function quantity(node: YamlNode | null): number | null {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)(m|k|[KMGTPE]i?)?$/.exec(text(node) ?? '') ?? [];
  if (digits === undefined) return null;
  const scales: Readonly<Record<string, number>> = { '': 1, m: 1e-3, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
  const scale = unit.endsWith('i') ? 1024 ** 'KMGTPE'.indexOf(unit.charAt(0)) * 1024 : (scales[unit] ?? 1);
  return Number(digits) * scale;
}
