import type { RestartMode } from '../../domain/gang/restart-mode.ts';
import { grantedMs } from '../../domain/grace/pod-grace.ts';
import { at, type Fields, listAt, numberAt, textAt, textsAt } from '../../kube/objects/fields.ts';
import { parseLocation } from '../../remote/backends/location.ts';
import { ANNOTATIONS } from '../kinds/annotations.ts';
import type { JobKind, Replica, SupervisionSettings, TrainingJob } from '../kinds/kind.ts';
import { MOUNTED, POD_FILES, startsSupervisor, VOLUMES } from './names.ts';
import type { Refusal, RefusalCode } from './refusals.ts';
import { type Folder, foldersOnVolumes, isPlainPath, namedFolder } from './run-folder.ts';

/** How the pods of a job are supervised. */
export interface Supervised {
  readonly kind: 'supervised';
  /** The image that holds the supervisor. */
  readonly image: string;
  /** The options of the supervisor at a place of a role; null: its pods are not supervised. */
  readonly optionsFor: (role: string, index: number) => readonly string[] | null;
}

/** Whether the pods of a job are supervised. */
export type Supervision = Supervised | { readonly kind: 'refused'; readonly reasons: readonly [Refusal, ...Refusal[]] };

const DEFAULT_GRACE_SECONDS = 30;
const FIRST_STATUS_PORT = 9400;

/**
 * Decides whether the pods of a job run under the supervisor, and with which options, by the job
 * alone. Null: nobody asked for it. Whether the supervisor runs in an image is known in the pod.
 */
export function decideSupervision(job: TrainingJob, mode: RestartMode, settings: SupervisionSettings): Supervision | null {
  if (!(job.choices.supervise ?? settings.isForAll)) return null;
  const members = job.replicas
    .filter(({ role, count }) => count > 0 && !job.kind.asideRoles.includes(role))
    .map((replica) => ({ replica, container: trainerOf(job.kind, replica) }));
  const nodes = members.reduce((sum, { replica }) => sum + replica.count, 0);
  const folders = foldersOf(job, members, nodes);
  const folderReasons = 'code' in folders ? [folders] : [];
  const reasons = [
    ...(settings.image === null ? [refusal('NO_IMAGE', 'the operator does not know its own image')] : []),
    ...members.flatMap((member) => commandReasons(member)),
    ...gangReasons(job, mode, nodes),
    ...members.flatMap((member) => takenReasons(member)),
    ...shipReasons(job),
    ...folderReasons,
  ];
  const supervised = reasons.find(({ code }) => code === 'ALREADY_SUPERVISED');
  const [first, ...others] = supervised === undefined ? reasons : [supervised];
  if (first !== undefined) return { kind: 'refused', reasons: [first, ...others] };
  if (settings.image === null || 'code' in folders) throw new Error('a reason was lost');
  return { kind: 'supervised', image: settings.image, optionsFor: optionsOf(job, members, { nodes, folders }) };
}

interface Member {
  readonly replica: Replica;
  /** The training container of its template. */
  readonly container: unknown;
}

function trainerOf(kind: JobKind, { template }: Replica): unknown {
  return listAt(template, 'spec', 'containers').find((each) => textAt(each, 'name') === kind.container);
}

function refusal(code: RefusalCode, what: string): Refusal {
  return { code, what };
}

function commandReasons({ replica, container }: Member): readonly Refusal[] {
  const command = textsAt(container, 'command');
  if (startsSupervisor(command)) return [refusal('ALREADY_SUPERVISED', `the command of ${replica.role} starts holdfast run itself`)];
  return command.length > 0 ? [] : [refusal('NO_COMMAND', `the training container of ${replica.role} has no command`)];
}

/** One checkpoint of all nodes needs the same nodes from start to end. */
function gangReasons({ elastic, choices, hasDynamicWorkers }: TrainingJob, mode: RestartMode, nodes: number): readonly Refusal[] {
  if (elastic !== null || hasDynamicWorkers || (nodes > 1 && mode === 'replica')) {
    return [refusal('ELASTIC', 'the pods of the job are replaced one by one, and one checkpoint of all needs all of them')];
  }
  if (choices.watch === null || nodes === 1) return [];
  return [refusal('WATCH_SEVERAL_NODES', `holdfast.dev/watch follows the saves of one pod, and the job has ${nodes}`)];
}

/** What the operator adds must not hide or rename what the user has. */
function takenReasons({ replica, container }: Member): readonly Refusal[] {
  const paths = listAt(container, 'volumeMounts').flatMap((mount) => textAt(mount, 'mountPath') ?? []);
  const path = paths.find((each) => each === MOUNTED || each.startsWith(`${MOUNTED}/`));
  if (path !== undefined) return [refusal('PATH_TAKEN', `${replica.role} mounts a volume of its own at ${path}`)];
  const names: readonly string[] = Object.values(VOLUMES);
  const own = listAt(replica.template, 'spec', 'volumes').flatMap((volume) => textAt(volume, 'name') ?? []);
  const taken = own.find((each) => names.includes(each));
  return taken === undefined ? [] : [refusal('PATH_TAKEN', `${replica.role} has a volume of its own named ${taken}`)];
}

function shipReasons({ choices: { ship } }: TrainingJob): readonly Refusal[] {
  const read = ship === null ? null : parseLocation(ship);
  return read === null || read.ok ? [] : [refusal('SHIP_INVALID', `${ANNOTATIONS.ship}: ${read.reason}`)];
}

/** The folder of the run in the pods of each role. */
function foldersOf(job: TrainingJob, members: readonly Member[], nodes: number): ReadonlyMap<string, string> | Refusal {
  const invalid = folderProblem(job);
  if (invalid !== null) return refusal('FOLDER_INVALID', invalid);
  const named = job.choices.dir ?? job.choices.watch;
  const found: (readonly [string, Folder])[] = [];
  for (const { replica, container } of members) {
    const folder = named === null ? folderOnVolume(job, replica, container) : namedFolder(replica.template['spec'], container, named);
    if ('code' in folder) return folder;
    found.push([replica.role, folder]);
  }
  const [shared, ...others] = new Set(found.map(([, folder]) => folder.shared));
  if (nodes > 1 && (shared === null || others.length > 0)) {
    return refusal('VOLUME_NOT_SHARED', 'the pods of the job do not all see the same folder');
  }
  return new Map(found.map(([role, { path }]) => [role, path]));
}

function folderProblem({ choices: { dir, watch } }: TrainingJob): string | null {
  if (dir !== null && watch !== null) return 'holdfast.dev/dir and holdfast.dev/watch name two folders';
  const named = dir ?? watch;
  return named === null || isPlainPath(named) ? null : 'the folder that is named is no plain absolute path';
}

function folderOnVolume(job: TrainingJob, { role, template }: Replica, container: unknown): Folder | Refusal {
  const [first, ...others] = foldersOnVolumes(template['spec'], container, `holdfast/${job.name}`);
  if (first === undefined) return refusal('NO_VOLUME', `${role} mounts no volume that survives its pod`);
  return others.length === 0 ? first : refusal('SEVERAL_VOLUMES', `${role} mounts ${others.length + 1} volumes that survive its pod`);
}

interface Gang {
  readonly nodes: number;
  readonly folders: ReadonlyMap<string, string>;
}

function optionsOf(job: TrainingJob, members: readonly Member[], { nodes, folders }: Gang): Supervised['optionsFor'] {
  const { choices, uid } = job;
  const folderOption = choices.watch === null ? 'dir' : 'watch';
  return (role, index) => {
    const position = members.findIndex(({ replica }) => replica.role === role);
    const member = members[position];
    if (member === undefined) return null;
    const rank = members.slice(0, position).reduce((sum, { replica }) => sum + replica.count, index);
    const log = textAt(member.container, 'terminationMessagePath');
    return [
      `--${folderOption}=${folders.get(role) ?? ''}`,
      `--grace=${graceSeconds(member)}s`,
      `--notice-file=${POD_FILES.notices}`,
      `--status=0.0.0.0:${statusPort(member.replica.template)}`,
      `--nodes=${nodes}`,
      ...(nodes === 1 ? [] : [`--node-rank=${rank}`, `--gang=${uid}`]),
      ...(choices.ship === null ? [] : [`--ship=${choices.ship}`]),
      ...(choices.trainsAgain ? ['--again'] : []),
      ...(log === null ? [] : [`--termination-log=${log}`]),
    ];
  };
}

/** The time from SIGTERM to SIGKILL; a hook that sleeps before SIGTERM takes its part. */
function graceSeconds({ replica, container }: Member): number {
  const seconds = numberAt(replica.template, 'spec', 'terminationGracePeriodSeconds') ?? DEFAULT_GRACE_SECONDS;
  const asleep = numberAt(container, 'lifecycle', 'preStop', 'sleep', 'seconds') ?? 0;
  return grantedMs(seconds - asleep) / 1000;
}

/** The first port that no container of the pod declares. */
function statusPort(template: Fields): number {
  const ports = new Set(
    listAt(template, 'spec', 'containers').flatMap((container) => listAt(container, 'ports').map((port) => at(port, 'containerPort'))),
  );
  let port = FIRST_STATUS_PORT;
  while (ports.has(port)) port += 1;
  return port;
}
