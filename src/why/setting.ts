import { formatBytes } from '../core/bytes.ts';
import { formatDuration } from '../core/duration.ts';
import type { EndCause } from '../domain/causes/catalogue.ts';
import { parseQuantity } from '../kube/objects/quantity.ts';
import { mainContainer, podGraceOf } from '../kube/objects/grace-facts.ts';
import type { WhyFacts } from './facts/facts.ts';
import type { Fit } from './fit.ts';
import type { Loss } from './loss.ts';

/** The one setting to change. */
export interface Setting {
  /** Its name in the manifest or on the command line. */
  readonly setting: string;
  readonly value: string;
  readonly because: string;
  /** The work that it would have saved here; null: unknown. */
  readonly gainMs: number | null;
}

interface Known {
  readonly cause: EndCause;
  readonly facts: WhyFacts;
  readonly fit: Fit | null;
  readonly loss: Loss | null;
  /** The pod counts as finished but is not. */
  readonly isUnfinished: boolean;
}

/** The setting that would have helped most with this end; null if nothing needs to change. */
export function settingFor(known: Known): Setting | null {
  if (known.cause === 'FINISHED' || known.cause === 'STILL_RUNNING') return null;
  if (known.isUnfinished) return exitCode(known);
  return OF_CAUSE[known.cause]?.(known) ?? shorterInterval(known);
}

type Advise = (known: Known) => Setting | null;

const OF_CAUSE: Partial<Readonly<Record<EndCause, Advise>>> = {
  CANNOT_TELL: (known) => longerGrace(known) ?? shorterInterval(known),
  SCHEDULER_PREEMPTION: (known) => longerGrace(known) ?? hearing(known),
  API_EVICTION: (known) => longerGrace(known) ?? hearing(known),
  NODE_TAINT: (known) => longerGrace(known) ?? hearing(known),
  CRITICAL_POD: (known) => longerGrace(known) ?? hearing(known),
  POD_DELETED: (known) => longerGrace(known) ?? hearing(known),
  OWNER_DELETED: (known) => longerGrace(known) ?? hearing(known),
  JOB_SUSPENDED: (known) => longerGrace(known) ?? hearing(known),
  MACHINE_SHUTDOWN: (known) =>
    known.fit?.fits === false
      ? {
          setting: 'shutdownGracePeriod',
          value: seconds(known.fit.needMs),
          because: 'the kubelet gave less than a save takes',
          gainMs: gain(known),
        }
      : hearing(known),
  JOB_DEADLINE: ({ facts }) => ({
    setting: 'spec.activeDeadlineSeconds',
    value: String(2 * (facts.job?.activeDeadlineSeconds ?? 86_400)),
    because: 'it includes waiting, back-off and repeated work; leave it off, or allow twice the time of a run without interruptions',
    gainMs: null,
  }),
  OUT_OF_MEMORY: (known) => memoryLimit(known),
  MEMORY_PRESSURE: ({ facts, ...known }) => request({ facts, ...known }, 'memory'),
  DISK_PRESSURE: ({ facts, ...known }) => request({ facts, ...known }, 'ephemeral-storage'),
  EMPTY_DIR_LIMIT: ({ facts, loss }) => emptyDir(facts, loss),
  EPHEMERAL_STORAGE_LIMIT: ({ facts, loss }) => ({
    setting: 'resources.limits.ephemeral-storage',
    value: scaled(mainContainer(facts.spec?.containers ?? [])?.storageLimit ?? null, 2),
    because: 'the container writes more than that; keep checkpoints on a persistent volume, which does not count',
    gainMs: loss?.lostMs ?? null,
  }),
  IMAGE_NOT_PULLED: ({ facts }) => ({
    setting: 'image',
    value: 'an image that the node can pull',
    because: facts.container?.waiting?.message ?? 'nothing starts until it can be pulled',
    gainMs: null,
  }),
  PROBE_FAILED: ({ fit }) => ({
    setting: 'livenessProbe.failureThreshold',
    value: String(Math.max(10, Math.ceil((fit?.needMs ?? 0) / 10_000))),
    because: 'during a save, a compilation or a long step the program cannot answer',
    gainMs: null,
  }),
  // The lost pod of the gang has it.
  GANG_STOPPED: () => null,
  TRAINER_FAILED: () => null,
  TRAINER_CRASHED: () => null,
  SUPERVISOR_REFUSED: () => null,
  CONTAINER_NOT_STARTED: () => null,
  POD_UNSCHEDULABLE: () => null,
  POD_REJECTED: () => ({
    setting: 'spec.backoffLimit',
    value: '20',
    because: 'a rejected pod counts as a failure although nothing ran',
    gainMs: null,
  }),
};

function exitCode({ loss }: Known): Setting {
  return {
    setting: 'command',
    value: 'holdfast run -- …',
    because:
      'the trainer exits with 0 after SIGTERM, and Kubernetes counts that as finished; the supervisor exits with 143, and the Job starts it again',
    gainMs: loss?.lostMs ?? null,
  };
}

function longerGrace(known: Known): Setting | null {
  const { fit, facts } = known;
  const needMs = fit?.decidedMs ?? fit?.needMs ?? null;
  if (fit?.fits !== false || needMs === null) return null;
  const because = `a save takes ${formatDuration(needMs)}${fit.decidedMs === null ? ' (P95)' : ''}, and there were ${formatDuration(fit.graceMs)}`;
  return {
    setting: 'terminationGracePeriodSeconds',
    value: String(Math.ceil((needMs * 1.25) / 1000) + 5),
    because: facts.lane === null ? because : `${because}; give --grace the same`,
    gainMs: gain(known),
  };
}

/** The pod had time, and the program did not use it. */
function hearing({ facts, fit, loss }: Known): Setting | null {
  if (isSupervised(facts) || fit === null || fit.graceMs <= 2000) return null;
  const used = facts.ended?.exitCode === 137 ? 'it used all of it and was killed' : 'nothing shows that it saved';
  return {
    setting: 'command',
    value: 'holdfast run -- …',
    because: `the program had ${formatDuration(fit.graceMs)} after SIGTERM, and ${used}`,
    gainMs: loss?.lostMs ?? null,
  };
}

/** Whether the trainer ran under `holdfast run`, which saves on its own and on a notice. */
function isSupervised({ lane, message, spec, recorded }: WhyFacts): boolean {
  const hasReported = recorded !== null && recorded.run.record.progress.lastGoodStep !== null;
  return lane !== null || message !== null || hasReported || (spec !== null && podGraceOf(spec).isSupervised);
}

/** If a cause leaves no time, only earlier saves count. */
function shorterInterval({ fit, loss, facts }: Known): Setting | null {
  if (fit === null || loss?.lostMs == null || loss.lostMs <= 0) return null;
  if (fit.fits === true || !isSupervised(facts)) return null;
  const everyMs = Math.max(60_000, loss.lostMs / 4);
  return {
    setting: '--every',
    value: `${Math.round(everyMs / 1000)}s`,
    because: 'no save fits the time that this cause leaves, so each such end costs up to one interval between saves',
    gainMs: Math.max(0, loss.lostMs - everyMs),
  };
}

function memoryLimit({ facts, loss }: Known): Setting {
  const limit = mainContainer(facts.spec?.containers ?? [])?.memoryLimit ?? null;
  return {
    setting: 'resources.limits.memory',
    value: scaled(limit, 1.25),
    because: limit === null ? 'the container was OOMKilled' : `the container reached its ${formatBytes(limit)}`,
    gainMs: loss?.lostMs ?? null,
  };
}

/** The container should request what the kubelet reports that it used. */
function request({ facts, loss }: Known, resource: 'memory' | 'ephemeral-storage'): Setting {
  const texts = [
    facts.pod?.message ?? '',
    ...facts.events.map(({ message }) => message),
    ...(facts.pod?.conditions ?? []).map(({ message }) => message ?? ''),
  ];
  const used = texts.flatMap((text) => /was using (\w{1,20}), request/.exec(text)?.[1] ?? [])[0];
  return {
    setting: `resources.requests.${resource}`,
    value: scaled(parseQuantity(used) ?? null, 1.2),
    because:
      'the kubelet first evicts pods that use more than they request; a longer grace does not help, because this cause leaves two seconds',
    gainMs: loss?.lostMs ?? null,
  };
}

function emptyDir(facts: WhyFacts, loss: Loss | null): Setting {
  const volume = facts.spec?.emptyDirs.find(({ sizeLimit }) => sizeLimit !== null);
  return {
    setting: `volumes[${volume?.name ?? '…'}].emptyDir.sizeLimit`,
    value: scaled(volume?.sizeLimit ?? null, 2),
    because: 'the volume held more than that; keep checkpoints on a volume that outlives the pod',
    gainMs: loss?.lostMs ?? null,
  };
}

function gain({ loss }: Known): number | null {
  return loss?.lostMs ?? null;
}

function scaled(bytes: number | null, factor: number): string {
  return bytes === null ? 'more' : `${Math.ceil((bytes * factor) / 2 ** 20)}Mi`;
}

function seconds(ms: number | null): string {
  return `${Math.ceil(((ms ?? 0) * 1.25) / 1000)}s`;
}
