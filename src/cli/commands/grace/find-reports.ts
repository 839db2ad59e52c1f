import { parseDocument } from 'yaml';
import { formatBytes } from '../../../core/bytes.ts';
import { HoldfastError, systemCode } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import { readRegularFile } from '../../../core/read-regular.ts';
import type { CloudName } from '../../../domain/grace/clouds.ts';
import type { KubeletGrace } from '../../../domain/grace/pod-grace.ts';
import { graceSubjects, kubeletAmong } from '../../../grace/grace-subjects.ts';
import { type GraceReport, graceReport, type SaveNeed } from '../../../grace/grace-report.ts';
import type { DumpProblem } from '../../../kube/objects/dump-limits.ts';
import type { KubeObject } from '../../../kube/objects/object.ts';
import { templatesOf } from '../../../kube/objects/templates.ts';
import { readLedger } from '../../../ledger/reader.ts';
import { saveNeedOf } from '../../../ledger/save-need.ts';
import { parseTarget } from '../../cluster/cluster-options.ts';
import { type ReadState, readState, type StateSource } from '../../cluster/read-state.ts';

/** The question of one call of `grace`. */
export interface GraceQuestion {
  readonly operands: readonly string[];
  readonly file: string | null;
  readonly source: Omit<StateSource, 'files'>;
  readonly save: {
    readonly run: string | null;
    readonly ms: number | null;
    readonly bytes: number | null;
    readonly bytesPerSecond: number | null;
  };
  readonly choice: { readonly cloud: CloudName | null; readonly deleteMs: number | null };
  readonly kubelet: {
    readonly file: string | null;
    readonly shutdownMs: number | null;
    readonly criticalMs: number | null;
    readonly evictionMs: number | null;
  };
}

/** The reports, and the problems met on the way. */
export interface FoundReports {
  readonly reports: readonly GraceReport[];
  readonly problems: readonly DumpProblem[];
}

/** Reads the pods in question and judges each kind of pod. */
export async function findReports(question: GraceQuestion): Promise<FoundReports> {
  const { operands, file, choice } = question;
  const targets = operands.flatMap((text) => parseTarget(text) ?? []);
  const paths = operands.filter((text) => parseTarget(text) === null);
  const { namespace, isAllNamespaces } = question.source;
  if (file === null && targets.length === 0 && paths.length === 0 && namespace === null && !isAllNamespaces) {
    throw new HoldfastError('USAGE', {
      message: 'no target is given',
      hint: 'Run holdfast grace -f job.yaml, or holdfast grace pod/NAME for a pod of the cluster; -n or -A for all its pods.',
    });
  }
  const save = saveNeed(question.save);
  const read = await readState({ ...question.source, files: [...(file === null ? [] : [file]), ...paths] });
  const objects = targets.length === 0 ? makers(read.state.objects) : targets.flatMap((target) => find(target, read));
  const subjects = graceSubjects(objects, read.state, {
    cloud: choice.cloud,
    deleteSeconds: choice.deleteMs === null ? null : choice.deleteMs / 1000,
    kubelet: kubeletFrom(question.kubelet) ?? (await kubeletOfFirst(objects, read)),
  });
  return { reports: subjects.map(({ title, pod }) => graceReport(title, pod, save)), problems: read.problems };
}

/** The objects that create pods. A pod counts only if no other object here creates it. */
function makers(objects: readonly KubeObject[]): readonly KubeObject[] {
  const making = objects.filter((object) => templatesOf(object).length > 0);
  return making.filter(
    ({ owners }) => !owners.some(({ kind, name }) => making.some((other) => other.kind === kind && other.name === name)),
  );
}

function find({ kind, name }: { kind: string; name: string }, { state, namespace, from }: ReadState): readonly KubeObject[] {
  const found = state.find(kind, name, namespace);
  if (found.length > 0) return found;
  throw new HoldfastError('OBJECT_NOT_FOUND', {
    message: `there is no ${kind.toLowerCase()}/${name}${namespace === null ? '' : ` in ${namespace}`} (${from})`,
    hint: 'Check the namespace (-n) and the context.',
  });
}

function saveNeed({ run, ms, bytes, bytesPerSecond }: GraceQuestion['save']): SaveNeed | null {
  if (ms !== null) return { ms, from: '--save' };
  if (bytes !== null && bytesPerSecond !== null) {
    return { ms: (1000 * bytes) / bytesPerSecond, from: `${formatBytes(bytes)} at ${formatBytes(bytesPerSecond)}/s` };
  }
  if (run === null) return null;
  const need = saveNeedOf(readLedger(run).events);
  if (need !== null)
    return { ms: need.p95Ms, from: `the P95 of ${need.samples} ${need.samples === 1 ? 'save' : 'saves'} of ${printable(run)}` };
  throw new HoldfastError('PATH_NOT_FOUND', {
    message: `the ledger of ${printable(run)} has no sealed save`,
    hint: 'Give --save, or --bytes with --bandwidth from holdfast probe.',
  });
}

/** The kubelet settings of the first object’s node, if that object is a running pod. */
async function kubeletOfFirst(objects: readonly KubeObject[], { kubeletOf }: ReadState): Promise<KubeletGrace | null> {
  const [object] = objects;
  const node = object?.kind === 'Pod' ? templatesOf(object)[0]?.spec.nodeName : null;
  return node === null || node === undefined ? null : kubeletAmong([await kubeletOf(node)]);
}

const MOST_CONFIG_BYTES = 1024 * 1024;

/** The kubelet settings from the file; an option overrides the file. */
function kubeletFrom({ file, shutdownMs, criticalMs, evictionMs }: GraceQuestion['kubelet']): KubeletGrace | null {
  const told = file === null ? null : kubeletIn(file);
  if (told === null && shutdownMs === null && criticalMs === null && evictionMs === null) return null;
  const seconds = (ms: number | null, other: number | null | undefined): number | null => (ms === null ? (other ?? null) : ms / 1000);
  return {
    shutdownSeconds: seconds(shutdownMs, told?.shutdownSeconds),
    shutdownCriticalSeconds: seconds(criticalMs, told?.shutdownCriticalSeconds),
    evictionMaxPodSeconds: seconds(evictionMs, told?.evictionMaxPodSeconds),
    shutdownGroups: shutdownMs === null ? (told?.shutdownGroups ?? []) : [],
  };
}

function kubeletIn(file: string): KubeletGrace {
  let text: string;
  try {
    text = readRegularFile(file, MOST_CONFIG_BYTES).toString('utf8');
  } catch (thrown) {
    throw new HoldfastError('PATH_NOT_READABLE', {
      message: `${printable(file)} cannot be read: ${systemCode(thrown) ?? 'unknown'}`,
      cause: thrown,
    });
  }
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
  const settings = document.errors.length > 0 ? null : kubeletAmong([document.toJS({ maxAliasCount: 10 }) as unknown]);
  if (settings !== null) return settings;
  throw new HoldfastError('DUMP_NOT_READABLE', {
    message: `${printable(file)} is not a KubeletConfiguration`,
    hint: 'kubectl get --raw /api/v1/nodes/NODE/proxy/configz prints one.',
  });
}
