import { Document, parseAllDocuments, visit } from 'yaml';
import { fixAll } from '../fix.ts';
import { lint } from '../lint.ts';
import type { Finding, Skip } from '../source/finding.ts';
import { trains, writableClaims } from '../manifest/facts.ts';
import { readObjects } from '../manifest/objects.ts';
import { type KubeObject, type Workload, workloadsOf } from '../manifest/workload.ts';
import { get, items, text as textOf } from '../manifest/yaml-node.ts';
import type { AdoptWishes } from './adopt-wishes.ts';
import { podAsJob } from './pod-as-job.ts';
import { superviseJob, superviseReplica } from './supervise-owner.ts';
import { supervisePod } from './supervise-pod.ts';

/** What `adopt` made of a text. */
export interface Adopted {
  readonly text: string;
  /** What a person must know: what was assumed, added, taken out, or could not be done. */
  readonly notes: readonly string[];
  readonly adopted: number;
  /** What lint still finds: mostly what only a person can decide. */
  readonly findings: readonly Finding[];
  readonly skips: readonly Skip[];
}

const OPTIONS = { codes: null, saveMs: null };

/** The manifest with everything that a supervised run needs; what does not train stays as it is. */
export function adopt(text: string, wishes: AdoptWishes): Adopted {
  const path = 'adopted.yaml';
  const notes: string[] = [];
  // Bare Pods first: the fixes are for Jobs.
  const jobs = mapDocuments(text, notes, (document) => podAsJob(document, notes));
  // The policy comes with the exit codes of the supervisor.
  const fixed = fixAll([{ path, text: jobs }], OPTIONS, ({ code }) => code !== 'JOB_NO_DISRUPTION_POLICY')[0]?.text ?? jobs;
  const claims = new Set<string>();
  let adopted = 0;
  const body = mapDocuments(fixed, notes, (document, own) => {
    const told = own.filter(trains).map((workload) => superviseWorkload(document, workload, wishes));
    for (const { notes: made, claim } of told) {
      notes.push(...made);
      if (claim !== null) claims.add(claim);
    }
    adopted += told.length;
  });
  const shared = shareClaims(body, notes);
  const made = shared + [...claims].map(claimText).join('');
  const whole = fixAll([{ path, text: made }], OPTIONS, () => true)[0]?.text ?? made;
  const { findings, skips } = lint([{ path, text: whole }], OPTIONS);
  return { text: whole, notes, adopted, findings, skips };
}

function superviseWorkload(
  document: Document,
  workload: Workload,
  wishes: AdoptWishes,
): { notes: readonly string[]; claim: string | null } {
  const path = podPath(workload);
  const notes = workload.replica !== null ? superviseReplica(document, workload, path) : superviseJob(document, workload, path);
  const pod = supervisePod(document, workload, path, wishes);
  return { notes: [...notes, ...pod.notes], claim: pod.claim };
}

/** Where the spec of the pods lies in the document. */
function podPath({ object, role }: Workload): readonly (string | number)[] {
  if (object.kind === 'CronJob') return ['spec', 'jobTemplate', 'spec', 'template', 'spec'];
  if (object.kind === 'PyTorchJob') return ['spec', 'pytorchReplicaSpecs', role ?? '', 'template', 'spec'];
  return ['spec', 'template', 'spec'];
}

/** Claims of one node under pods on several: here they are made for all of them. */
function shareClaims(text: string, notes: string[]): string {
  const { objects } = readObjects({ path: 'adopted.yaml', text });
  const gangs = objects.flatMap(workloadsOf).filter((workload) => trains(workload) && (workload.pods ?? 1) > 1);
  const names = new Set(gangs.flatMap(writableClaims).map(({ claim }) => claim));
  const isShared = ({ kind, name }: KubeObject): boolean => kind === 'PersistentVolumeClaim' && name !== null && names.has(name);
  if (!objects.some(isShared)) return text;
  return eachDocument(text, (document, object) => {
    const modes = items(get(object.root, 'spec', 'accessModes')).map((mode) => textOf(mode) ?? '');
    if (!isShared(object) || modes.length === 0 || !modes.every((mode) => /^ReadWriteOnce(?:Pod)?$/.test(mode))) return false;
    document.setIn(['spec', 'accessModes'], document.createNode(['ReadWriteMany']));
    notes.push(
      `PersistentVolumeClaim ${object.name ?? ''} is ReadWriteMany now, for pods on several nodes. One that exists already cannot be changed: make another.`,
    );
    return true;
  });
}

const ADOPTED: ReadonlySet<string> = new Set(['Pod', 'Job', 'CronJob', 'PyTorchJob']);

/** Changes the documents of kinds that can be adopted; the text of all others stays to the byte. */
function mapDocuments(text: string, notes: string[], change: (document: Document, workloads: readonly Workload[]) => void): string {
  return eachDocument(text, (document, object) => {
    const workloads = workloadsOf(object);
    if (!ADOPTED.has(object.kind) || !workloads.some(trains)) return false;
    try {
      change(document, workloads);
      return true;
    } catch {
      // A field that is no map or list where one belongs: the API server refuses it, and it is not
      // ours to guess.
      notes.push(`${object.kind} ${object.name ?? ''} has a field of another shape than its kind has: it was left alone.`);
      return false;
    }
  });
}

/** Writes the documents anew that `change` says it has changed. */
function eachDocument(text: string, change: (document: Document, object: KubeObject) => boolean): string {
  const documents = parseAllDocuments(text, { uniqueKeys: false, merge: true });
  if (!Array.isArray(documents)) return text;
  const pieces = documents.map((document) => {
    const [from, , to] = document.range;
    const own = text.slice(from, to);
    const { objects } = readObjects({ path: 'adopted.yaml', text: own });
    const [object] = objects;
    if (document.errors.length > 0 || object === undefined || object.isFragment || objects.length > 1) return own;
    const plain = withoutAliases(document);
    return change(plain, object) ? plain.toString({ lineWidth: 0, indentSeq: true }) : own;
  });
  return pieces.reduce(
    (made, piece) =>
      made === '' || piece.startsWith('---') ? made + ended(piece) : `${made.replace(/\n?---\s*$/, '\n')}---\n${ended(piece)}`,
    '',
  );
}

/**
 * What several places share cannot be changed for one of them: anchors are written out, and
 * comments are lost there.
 */
function withoutAliases(document: Document): Document {
  let isShared = false;
  visit(document, {
    Alias: () => {
      isShared = true;
      return visit.BREAK;
    },
  });
  return isShared ? new Document(document.toJS(), { aliasDuplicateObjects: false }) : document;
}

function ended(piece: string): string {
  return piece.endsWith('\n') || piece === '' ? piece : `${piece}\n`;
}

/** A claim that every node can mount, as the examples have it. */
function claimText(name: string): string {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '100Gi' } } },
  };
  return `---\n${new Document(claim).toString()}`;
}
