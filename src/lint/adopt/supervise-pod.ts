import { type Document, isSeq } from 'yaml';
import { graceSeconds, isSupervised, quantity, supervisedGrace } from '../manifest/facts.ts';
import { nameOf } from '../manifest/workload-names.ts';
import { get, items, textAt } from '../manifest/yaml-node.ts';
import type { Container, Workload } from '../manifest/workload.ts';
import type { AdoptWishes } from './adopt-wishes.ts';
import { AZURE_SPOT, lacksSpotToleration, unusedTolerations } from '../rules/manifest/spot.ts';
import { append, freeVolumeName, type Path } from './append.ts';
import { repairedWords } from './repair-command.ts';
import { placeOf } from './run-place.ts';
import { formatBytes } from './sizes.ts';

/** The memory of a trainer that says nothing, as in the examples. */
const MEMORY = '16Gi';
const STORAGE = '10Gi';
const GRACE_SECONDS = 120;

/** The pod itself: the command, the grace, the volumes, the limits. */
export function supervisePod(document: Document, workload: Workload, path: Path, wishes: AdoptWishes): Adoption {
  const { trainer } = workload;
  if (trainer === null) return { notes: [], claim: null };
  const name = nameOf(workload);
  if (workload.job !== null) document.setIn([...path, 'restartPolicy'], 'Never');
  removeUnusedTolerations(document, workload, path);
  tolerateSpot(document, workload, path);
  if (isSupervised(workload)) return keepSupervised(document, { ...workload, trainer }, path, wishes);
  if (!isEntryPoint(trainer)) return supervise(document, { ...workload, trainer }, path, wishes);
  const notes = [`${name}: its image decides what is run. Write the command into the manifest, and adopt it again.`];
  setGrace(document, workload, path, wishes);
  limits(document, trainer, [...path, 'containers', workload.containers.indexOf(trainer)], (text) => void notes.push(`${name}: ${text}`));
  return { notes, claim: null };
}

/**
 * The command stays, but for what lint would find in it; the grace and the limits may be missing.
 */
function keepSupervised(
  document: Document,
  workload: Workload & { readonly trainer: Container },
  path: Path,
  wishes: AdoptWishes,
): Adoption {
  const { trainer, pod } = workload;
  const notes = [`${nameOf(workload)} is supervised already: its command stays as it is.`];
  const told = (text: string): void => void notes.push(`${nameOf(workload)}: ${text}`);
  const container = [...path, 'containers', workload.containers.indexOf(trainer)];
  const given = supervisedGrace(workload);
  if (given !== null) document.setIn([...path, 'terminationGracePeriodSeconds'], Math.ceil(given.ms / 1000));
  else if (get(pod, 'terminationGracePeriodSeconds') === null) setGrace(document, workload, path, wishes);
  const before = trainer.command.words.map(({ text }) => text);
  const words = repairedWords(workload, trainer, told);
  if (words.join('\n') !== before.join('\n')) {
    document.setIn([...container, 'command'], document.createNode(words));
    document.deleteIn([...container, 'args']);
  }
  leaveRoom(document, workload, path, { memory: limits(document, trainer, container, told), told });
  return { notes, claim: null };
}

/** Volumes in memory take at most a quarter of the limit, as what adopt itself stages. */
function leaveRoom(
  document: Document,
  { pod, trainer }: Workload & { readonly trainer: Container },
  path: Path,
  { memory, told }: { readonly memory: number; readonly told: (note: string) => void },
): void {
  for (const [index, volume] of items(get(pod, 'volumes')).entries()) {
    const name = textAt(volume, 'name') ?? '';
    const isMounted = trainer.mounts.some((mount) => mount.volume === name);
    if (textAt(volume, 'emptyDir', 'medium') !== 'Memory' || !isMounted || /shm/.test(name)) continue;
    if ((quantity(get(volume, 'emptyDir', 'sizeLimit')) ?? 0) < memory / 2) continue;
    document.setIn([...path, 'volumes', index, 'emptyDir', 'sizeLimit'], formatBytes(memory / 4));
    told(`the volume ${name} in memory takes a quarter of the memory limit now, so that the trainer is not killed for what is staged.`);
  }
}

/** Spot nodes of AKS always have their taint. */
function tolerateSpot(document: Document, workload: Workload, path: Path): void {
  if (!lacksSpotToleration(workload)) return;
  const toleration = document.createNode({ key: AZURE_SPOT, operator: 'Equal', value: 'spot', effect: 'NoSchedule' });
  const list = document.getIn([...path, 'tolerations'], true);
  if (isSeq(list)) list.add(toleration);
  else document.setIn([...path, 'tolerations'], document.createNode([toleration]));
}

/** Tolerations for the Spot nodes of another cloud than the one that the pod selects. */
function removeUnusedTolerations(document: Document, workload: Workload, path: Path): void {
  const unused = unusedTolerations(workload).map(({ index }) => index);
  for (const index of unused.toSorted((a, b) => b - a)) document.deleteIn([...path, 'tolerations', index]);
}

/** The grace that was asked for, else what the manifest has, else the one that fits most saves. */
function setGrace(document: Document, { pod }: Workload, path: Path, { graceSeconds: wanted }: AdoptWishes): number {
  const seconds = wanted ?? (get(pod, 'terminationGracePeriodSeconds') === null ? GRACE_SECONDS : graceSeconds(pod));
  document.setIn([...path, 'terminationGracePeriodSeconds'], seconds);
  return seconds;
}

interface Adoption {
  readonly notes: readonly string[];
  readonly claim: string | null;
}

function supervise(document: Document, workload: Workload & { readonly trainer: Container }, path: Path, wishes: AdoptWishes): Adoption {
  const { trainer } = workload;
  const notes: string[] = [];
  const told = (text: string): void => void notes.push(`${nameOf(workload)}: ${text}`);
  const container = [...path, 'containers', workload.containers.indexOf(trainer)];
  const seconds = setGrace(document, workload, path, wishes);
  const place = placeOf(document, workload, trainer, { dir: wishes.dir, claim: wishes.claim, container, path });
  const memory = limits(document, trainer, container, told);
  leaveRoom(document, workload, path, { memory, told });
  const ship = wishes.ship === null ? [] : [`--ship=${wishes.ship}`];
  command(document, { container, words: repairedWords(workload, trainer, told) }, [...place.options, `--grace=${seconds}s`, ...ship]);
  if (place.options.some((option) => option.includes('$(JOB_NAME)'))) append(document, [...container, 'env'], JOB_NAME);
  if (!workload.isGang && (workload.replica === null || workload.pods === 1)) stage(document, workload, { container, path }, memory);
  const name = freeVolumeName(workload, 'podinfo');
  append(document, [...container, 'volumeMounts'], { name, mountPath: '/podinfo', readOnly: true });
  append(document, [...path, 'volumes'], { name, downwardAPI: ANNOTATIONS });
  for (const hook of ['livenessProbe', 'startupProbe', 'lifecycle']) {
    if (document.deleteIn([...container, hook])) told(`${hook} is taken out, since it ends or delays what the supervisor looks after.`);
  }
  return { notes: [...notes, ...place.notes], claim: place.claim };
}

const JOB_NAME = { name: 'JOB_NAME', valueFrom: { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/job-name']" } } };
const ANNOTATIONS = { items: [{ path: 'annotations', fieldRef: { fieldPath: 'metadata.annotations' } }] };

/** Saves go into memory first, where one pod trains alone. */
function stage(document: Document, workload: Workload, { container, path }: { container: Path; path: Path }, memory: number): void {
  const name = freeVolumeName(workload, 'stage');
  append(document, [...container, 'env'], { name: 'HOLDFAST_STAGE', value: '/stage' });
  append(document, [...container, 'volumeMounts'], { name, mountPath: '/stage' });
  append(document, [...path, 'volumes'], { name, emptyDir: { medium: 'Memory', sizeLimit: formatBytes(memory / 4) } });
}

/**
 * Without `command` the image decides what is run; with `args` alone only where they name a program
 * themselves.
 */
function isEntryPoint({ node, command: { words } }: Container): boolean {
  const [first] = words;
  return (
    first === undefined ||
    (get(node, 'command') === null && !/^(?:.*\/)?(?:python[\d.]*|torchrun|accelerate|deepspeed|(?:ba|da)?sh)$/.test(first.text))
  );
}

/** The command of the trainer stands behind `holdfast run … --`. */
function command(
  document: Document,
  { container, words }: { readonly container: Path; readonly words: readonly string[] },
  options: readonly string[],
): void {
  const own = ['holdfast', 'run', ...options, '--every=auto', '--keep=3', '--notice-file=/podinfo/annotations', '--'];
  const old = document.getIn([...container, 'command'], true);
  const list = document.createNode([...own, ...words]);
  if (isSeq(old) && old.commentBefore !== undefined) (list as { commentBefore?: string | null }).commentBefore = old.commentBefore;
  document.setIn([...container, 'command'], list);
  document.deleteIn([...container, 'args']);
}

/**
 * Limits for memory, which staging counts against, and for the disk of the node; the bytes of
 * memory.
 */
function limits(document: Document, { node }: Container, container: Path, told: (text: string) => void): number {
  const [limit, request] = [textAt(node, 'resources', 'limits', 'memory'), textAt(node, 'resources', 'requests', 'memory')];
  if (limit === null) {
    document.setIn([...container, 'resources', 'limits', 'memory'], request ?? MEMORY);
    if (request === null)
      told(`a memory limit of ${MEMORY} is a guess. Set what the trainer needs, and a quarter more for what is staged.`);
  }
  if (textAt(node, 'resources', 'limits', 'ephemeral-storage') === null) {
    document.setIn(
      [...container, 'resources', 'limits', 'ephemeral-storage'],
      textAt(node, 'resources', 'requests', 'ephemeral-storage') ?? STORAGE,
    );
  }
  return quantity(get(node, 'resources', 'limits', 'memory') ?? get(node, 'resources', 'requests', 'memory')) ?? 16 * 1024 ** 3;
}
